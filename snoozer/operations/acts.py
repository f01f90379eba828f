"""What each act of operators does to rows that are locked, and why it leaves a row as it is.

A statement of the queue decides whether a row is changed; what is read beforehand only explains it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from snoozer import triage
from snoozer.db.operations import Operation, Verdict
from snoozer.db.queue_acts import OperatedRow

Rows = Sequence[OperatedRow]

ROUTE = "admin"
# Of what a person did at this moment.
SNOOZED_AGAIN = "its message was snoozed again"
GONE = "it is gone: archived, or deleted with its account"

_SENT = "it was sent"
_CASES = frozenset({"reactivate", "dismiss"})


def apply(connection: Connection, operation: Operation, rows: Rows) -> dict[int, Verdict]:
    """Do the act of an operation on these rows, which this transaction has locked; returns what became of each."""
    if operation.act not in ACTS:
        unknown = f"this release knows no act “{operation.act}”"
        return {row.id: Verdict(result="failed", detail=unknown) for row in rows}
    later = {row.id for row in rows if _is_later(row, operation)}
    verdicts = {id: Verdict(result="unchanged", detail="it became a case after the preview") for id in later}
    return verdicts | ACTS[operation.act](connection, operation, [row for row in rows if row.id not in later])


def _reactivate(connection: Connection, operation: Operation, rows: Rows) -> dict[int, Verdict]:
    done = set(triage.reactivate(connection, ids=_ids(rows), **_by(operation)))

    def left(row: OperatedRow) -> str:
        if row.outcome != "retired":
            return why_no_case(row)
        if row.send_state == "sent":
            return f"{_SENT}: settle it as sent, or dismiss it"
        return SNOOZED_AGAIN if row.is_snoozed_again else "a newer case of its message was reactivated"

    return _verdicts(rows, done, left, after={"outcome": None, "attempts": 0})


def _dismiss(connection: Connection, operation: Operation, rows: Rows) -> dict[int, Verdict]:
    done = set(triage.dismiss(connection, ids=_ids(rows), **_by(operation)))
    return _verdicts(rows, done, why_no_case, after={"outcome": "cancelled"})


def why_no_case(row: OperatedRow) -> str:
    """What a row is that is no case."""
    match row.outcome:
        case "sent":
            return f"already finished: {_SENT}"
        case "cancelled":
            return "already cancelled or dismissed"
        case "retired":
            return "it changed at this moment"
    if row.inactive:
        return "it is no case: it is paused"
    return "already in the queue" if row.claimed_by is None else "already in the hands of a worker"


def _verdicts(
    rows: Rows, done: set[int], left: Callable[[OperatedRow], str], *, after: dict[str, object]
) -> dict[int, Verdict]:
    return {
        row.id: Verdict(result="done", before=_state(row), after=after)
        if row.id in done
        else Verdict(result="unchanged", detail=left(row))
        for row in rows
    }


def _state(row: OperatedRow) -> dict[str, object]:
    """Of the row as it was, what acts change; nothing of the message or its person."""
    return {"outcome": row.outcome, "attempts": row.attempts, "remind_at": row.remind_at.isoformat()}


def _is_later(row: OperatedRow, operation: Operation) -> bool:
    until = operation.parameters.get("until")
    if until is None or operation.act not in _CASES or row.finished_at is None:
        return False
    return row.outcome == "retired" and row.finished_at > datetime.fromisoformat(until)


def _by(operation: Operation) -> dict[str, str]:
    return {"actor": operation.actor, "route": ROUTE, "reason": operation.reason}


def _ids(rows: Rows) -> list[int]:
    return [row.id for row in rows]


ACTS: dict[str, Callable[[Connection, Operation, Rows], dict[int, Verdict]]] = {
    "reactivate": _reactivate,
    "dismiss": _dismiss,
}
