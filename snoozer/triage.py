"""USE CASE of operators: reactivate or dismiss cases; after a restore, retire what may have been sent."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import digests, events, ledger, queue
from snoozer.db.queue import RestoredCase

RESTORED_ERROR = "It may have been sent: it was due before the restored place began, and the dump does not know"
BATCH_SIZE = 1_000


def reactivate(
    connection: Connection,
    *,
    ids: Sequence[int],
    actor: str,
    route: str,
    reason: str = "",
    operation_id: int | None = None,
) -> list[int]:
    """Return cases to the queue; returns the ids that were cases. A reminder that was sent is not sent again, and of
    several cases of one message in an operation only the newest returns."""
    reactivated = queue.reactivate(connection, ids=ids, operation_id=operation_id)
    digests.release(connection, ids=reactivated)
    ledger.reopen(connection, ids=reactivated, actor=actor)
    lines = [(id, {"reason": reason}) for id in reactivated]
    events.append_many(connection, kind="reactivated", actor=actor, route=route, lines=lines)
    return reactivated


def dismiss(connection: Connection, *, ids: Sequence[int], actor: str, route: str, reason: str = "") -> list[int]:
    """Close cases for good; returns the ids that were cases. Nothing is sent, and the error stays on the row."""
    dismissed = queue.dismiss(connection, ids=ids)
    ledger.dismiss(connection, ids=dismissed, actor=actor)
    lines = [(id, {"reason": reason}) for id in dismissed]
    events.append_many(connection, kind="dismissed", actor=actor, route=route, lines=lines)
    return dismissed


def retire_restored(connection: Connection, *, until: datetime, domain: str, route: str) -> list[RestoredCase]:
    """Retire what was due before `until` and does not repeat, because it may have been sent after the dump was made;
    returns what repeats as well. To be called while no worker claims anything."""
    cases: list[RestoredCase] = []
    while ids := queue.lock_due_before(
        connection, until=until, after=cases[-1].id if cases else 0, batch_size=BATCH_SIZE
    ):
        batch = queue.retire_restored(connection, ids=ids, domain=domain, error=RESTORED_ERROR)
        lines = [(case.id, {"error": RESTORED_ERROR}) for case in batch if not case.repeats]
        events.append_many(connection, kind="set aside", actor="operator", route=route, lines=lines)
        cases += batch
    return cases
