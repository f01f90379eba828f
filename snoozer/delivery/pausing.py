"""Claims that a pause of operators holds back: set aside, with an event."""

from collections.abc import Mapping

from sqlalchemy import Connection

from snoozer.delivery.claiming import ROUTE
from snoozer.queue import events, queue
from snoozer.queue.queue import HeldClaims


def find(connection: Connection, *, held: HeldClaims) -> dict[int, int]:
    """The given claims that are paused: the pause of each, by id."""
    return queue.pauses(connection, held=held)


def set_aside(connection: Connection, *, held: HeldClaims, pauses: Mapping[int, int], actor: str) -> set[int]:
    """Set these claims aside, each for its pause; returns the ids set aside."""
    ids = queue.set_aside(connection, held=held, pause_ids=[pauses[id] for id, _ in held])
    lines = [(id, {"pause": pauses[id]}) for id in sorted(ids)]
    events.append_many(connection, kind="held back", actor=actor, route=ROUTE, lines=lines)
    return ids
