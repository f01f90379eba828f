"""USE CASE of the operator: cases, reactivate, dismiss, one or many."""

from collections.abc import Sequence

from sqlalchemy import Connection

from snoozer.postgres import events, ledger, queue


def reactivate(connection: Connection, *, ids: Sequence[int], actor: str, route: str, reason: str = "") -> list[int]:
    """Send cases back to work; answers those that were cases. A reminder that was sent is never sent again by this."""
    back = queue.reactivate(connection, ids=ids)
    ledger.reopen(connection, ids=back, actor=actor)
    _write_down(connection, ids=back, kind="reactivated", actor=actor, route=route, reason=reason)
    return back


def dismiss(connection: Connection, *, ids: Sequence[int], actor: str, route: str, reason: str = "") -> list[int]:
    """Close cases for good; answers those that were cases. Nothing is sent, and the error stays on the row."""
    closed = queue.dismiss(connection, ids=ids)
    ledger.close(connection, ids=closed, actor=actor)
    _write_down(connection, ids=closed, kind="dismissed", actor=actor, route=route, reason=reason)
    return closed


def _write_down(connection: Connection, *, ids: Sequence[int], kind: str, actor: str, route: str, reason: str) -> None:
    lines = [(id, {"reason": reason}) for id in ids]
    events.append_each(connection, kind=kind, actor=actor, route=route, lines=lines)
