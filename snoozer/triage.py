"""USE CASE of the operator: cases, reactivate, dismiss, one or many; after a restore, what may go out twice."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import events, ledger, queue
from snoozer.db.queue import RestoredCase

RESTORED_ERROR = "It may have been sent: it was due before the restored place began, and the dump does not know"
BATCH_SIZE = 1_000


def reactivate(connection: Connection, *, ids: Sequence[int], actor: str, route: str, reason: str = "") -> list[int]:
    """Send cases back to work; answers those that were cases. A reminder that was sent is never sent again by this."""
    back = queue.reactivate(connection, ids=ids)
    ledger.reopen(connection, ids=back, actor=actor)
    _append_events(connection, ids=back, kind="reactivated", actor=actor, route=route, reason=reason)
    return back


def dismiss(connection: Connection, *, ids: Sequence[int], actor: str, route: str, reason: str = "") -> list[int]:
    """Close cases for good; answers those that were cases. Nothing is sent, and the error stays on the row."""
    closed = queue.dismiss(connection, ids=ids)
    ledger.give_up(connection, ids=closed, actor=actor)
    _append_events(connection, ids=closed, kind="dismissed", actor=actor, route=route, reason=reason)
    return closed


def retire_restored(connection: Connection, *, until: datetime, domain: str, route: str) -> list[RestoredCase]:
    """Make cases of what was due before `until` and does not repeat: a restored dump cannot know what the old place
    sent since. To be called while nobody sends."""
    found: list[RestoredCase] = []
    while True:
        after = found[-1].id if found else 0
        some = queue.retire_restored(
            connection, until=until, after=after, batch_size=BATCH_SIZE, domain=domain, error=RESTORED_ERROR
        )
        lines = [(one.id, {"error": RESTORED_ERROR}) for one in some]
        events.append_many(connection, kind="set aside", actor="operator", route=route, lines=lines)
        found += some
        if len(some) < BATCH_SIZE:
            return found


def _append_events(
    connection: Connection, *, ids: Sequence[int], kind: str, actor: str, route: str, reason: str
) -> None:
    lines = [(id, {"reason": reason}) for id in ids]
    events.append_many(connection, kind=kind, actor=actor, route=route, lines=lines)
