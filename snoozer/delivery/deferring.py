"""Claims whose owners' days let no reminder through now: given back until the end of that rest, with an event."""

from collections.abc import Sequence

from sqlalchemy import Connection

from snoozer.delivery.claiming import ROUTE
from snoozer.queue import events, queue
from snoozer.queue.queue import HeldClaims
from snoozer.queue.reminder import Deferral
from snoozer.snoozes import day_shapes


def find(connection: Connection, *, held: HeldClaims) -> dict[int, Deferral]:
    """The given claims whose owners' days have a shape, by id. Computes rests that are not known."""
    day_shapes.refresh_owners(connection, snooze_ids=[id for id, _ in held])
    return {one.id: one for one in queue.deferrals(connection, held=held)}


def defer(connection: Connection, *, held: HeldClaims, deferrals: Sequence[Deferral], actor: str) -> set[int]:
    """Give these claims back, one for each deferral; returns the ids of those given back."""
    given_back = queue.rest(connection, held=held, deferrals=deferrals)
    lines: list[tuple[int, dict[str, object]]] = [
        (one.id, {"why": one.reason, "until": one.until.isoformat()})
        for one in deferrals
        if one.until is not None and one.id in given_back
    ]
    events.append_many(connection, kind="deferred", actor=actor, route=ROUTE, lines=lines)
    return given_back
