"""What each act of operators does to rows that are locked, and why it leaves a row as it is.

A statement of the queue decides whether a row is changed; what is read beforehand only explains it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer import triage
from snoozer.db import events, ledger, queue_acts
from snoozer.db.operations import Operation, Verdict
from snoozer.db.queue_acts import MAX_ATTEMPTS, OperatedRow
from snoozer.operations import pauses
from snoozer.operations.pauses import Scope
from snoozer.timephrase import next_reminder_after

Rows = Sequence[OperatedRow]
Verdicts = dict[int, Verdict]

ROUTE = "admin"
# Of what a person did at this moment.
SNOOZED_AGAIN = "its message was snoozed again"
NEWER_CASE = "a newer case of its message is in this operation"
GONE = "it is gone: archived, or deleted with its account"
CHANGED = "it changed at this moment"

_RESOLVE = frozenset({"resolve_sent", "resolve_resend", "resolve_drop"})


def apply(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Do the act of an operation on these rows, which this transaction has locked; returns what became of each."""
    if operation.act not in ACTS:
        unknown = f"this release knows no act “{operation.act}”"
        return {row.id: Verdict(result="failed", detail=unknown) for row in rows}
    later = {row.id: detail for row in rows if (detail := _why_later(row, operation)) is not None}
    verdicts = {id: Verdict(result="unchanged", detail=detail) for id, detail in later.items()}
    return verdicts | ACTS[operation.act](connection, operation, [row for row in rows if row.id not in later])


def _reactivate(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    done = triage.reactivate(connection, ids=_ids(rows), operation_id=operation.id, **_by(operation))
    return _verdicts(rows, done, why_not_reactivated, after={"outcome": None, "attempts": 0})


def _dismiss(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    done = triage.dismiss(connection, ids=_ids(rows), **_by(operation))
    return _verdicts(rows, done, why_no_case, after={"outcome": "cancelled"})


def _delay(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Cases go back to the queue for then."""
    cases = [row.id for row in rows if row.outcome == "retired"]
    reactivated: set[int] = set()
    if cases:
        reactivated = set(triage.reactivate(connection, ids=cases, operation_id=operation.id, **_by(operation)))
    until, seconds = operation.parameters.get("delay_until"), operation.parameters.get("delay_seconds")
    times = queue_acts.delay(
        connection,
        ids=[row.id for row in rows if row.id in reactivated or row.outcome != "retired"],
        until=None if until is None else datetime.fromisoformat(until),
        span=None if seconds is None else timedelta(seconds=seconds),
        since=operation.created_at,
    )
    lines = [(id, {"until": at.isoformat(), "reason": operation.reason}) for id, at in times.items()]
    _append_events(connection, operation, "delayed", lines)

    def left(row: OperatedRow) -> str:
        return why_not_reactivated(row) if row.outcome == "retired" else why_not_waiting(row)

    after = {id: {"outcome": None, "remind_at": at.isoformat()} for id, at in times.items()}
    return _verdicts(rows, times, left, after=after.__getitem__)


def _raise_attempts(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    limits = queue_acts.raise_attempts(connection, ids=_ids(rows), more=int(operation.parameters["more_attempts"]))
    lines = [(id, {"max_attempts": limit, "reason": operation.reason}) for id, limit in limits.items()]
    _append_events(connection, operation, "attempts raised", lines)

    def left(row: OperatedRow) -> str:
        if row.outcome not in {None, "retired"}:
            return why_no_case(row)
        return f"it may be tried {MAX_ATTEMPTS:,} times already" if row.max_attempts >= MAX_ATTEMPTS else CHANGED

    return _verdicts(rows, limits, left, after=lambda id: {"max_attempts": limits[id]})


def _resolve_sent(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Also cases whose server's answer came after all are finished by it."""
    settled = set(ledger.settle_sent(connection, snooze_ids=_free(rows, "uncertain"), actor=operation.actor))
    concluded = set(queue_acts.conclude(connection, ids=_free(rows, "uncertain", "sent")))
    return _resolved(connection, operation, rows, settled | concluded, "settled as sent", after={"send": "sent"})


def _resolve_resend(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    done = queue_acts.resend(connection, ids=_free(rows, "uncertain"), operation_id=operation.id)
    ledger.resend(connection, snooze_ids=done, actor=operation.actor)
    return _resolved(connection, operation, rows, done, "sent again", after={"send": "reserved", "outcome": None})


def _resolve_drop(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    promises = {row.id: row.promise for row in rows}
    times = {row.id: _next_time(row, operation) for row in rows if row.id in _free(rows, "uncertain")}
    done = queue_acts.drop(connection, next_times=times)
    ledger.drop(connection, promises={id: promises[id] for id in done}, actor=operation.actor)
    return _resolved(connection, operation, rows, done, "dropped", after={"send": "failed"})


def _release(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    of_the_living = bool(operation.parameters.get("of_the_living"))
    released = queue_acts.release_claims(connection, ids=_ids(rows), of_the_living=of_the_living)
    lines = [
        (id, {"worker": claim.worker, "uncertain": claim.uncertain, "reason": operation.reason})
        for id, claim in released.items()
    ]
    _append_events(connection, operation, "taken back", lines)

    def left(row: OperatedRow) -> str:
        return "no worker holds it any more" if row.claimed_by is None else f"its worker {row.claimed_by} is alive"

    return _verdicts(rows, released, left, after={"claimed_by": None})


def _resume(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """What a pause has set aside; its message may have been snoozed again meanwhile, which counts then."""
    pause_id = int(operation.parameters["pause"])
    found = queue_acts.bring_in(connection, ids=_ids(rows), pause_id=pause_id)
    done = [id for id, stays_paused in found.items() if not stays_paused]
    _append_events(connection, operation, "goes on", [(id, {"pause": pause_id}) for id in done])

    def left(row: OperatedRow) -> str:
        if row.id in found:
            return f"{SNOOZED_AGAIN}: it stays paused, for its owner to resume"
        return CHANGED if row.paused_by == pause_id else "already on its way, changed or ended by its owner"

    return _verdicts(rows, done, left, after={"inactive": False, "paused_by": None})


def _mark_invalid(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """The rows stay as they are: what is due, or reactivated, is set aside at its claim."""
    marked: dict[str, int | None] = {}
    for address in sorted({row.user_email.lower() for row in rows}):
        scope = Scope(kind="invalid", value=address)
        marked[address] = pauses.pause(
            connection, scope, actor=operation.actor, reason=operation.reason, is_audited=False
        )
    done = [row.id for row in rows if marked[row.user_email.lower()] is not None]
    return _verdicts(rows, done, lambda _: "its address is marked already", after={"address": "invalid"})


def is_possible(act: str, row: OperatedRow) -> bool:
    """Whether an act can change a row, as it is now: for a preview."""
    match act:
        case "delay":
            return row.outcome == "retired" or (row.outcome is None and not row.inactive and row.claimed_by is None)
        case "raise_attempts":
            return row.outcome in {None, "retired"}
        case "resolve_sent" | "resolve_resend" | "resolve_drop":
            return row.send_state == "uncertain" or (
                act == "resolve_sent" and row.send_state == "sent" and _is_case(row)
            )
        case "release":
            return row.claimed_by is not None
        case "mark_invalid":
            return True
    return _is_case(row)


def why_no_case(row: OperatedRow) -> str:
    """What a row is that is no case."""
    match row.outcome:
        case "sent":
            return "already finished: it was sent"
        case "cancelled":
            return "already cancelled or dismissed"
        case "retired":
            return CHANGED
    if row.inactive:
        return "it is no case: it is paused" + (" by an operator" if row.paused_by else "")
    return "already in the queue" if row.claimed_by is None else "already in the hands of a worker"


def why_not_reactivated(row: OperatedRow) -> str:
    """Why a row does not go back to the queue."""
    if row.outcome != "retired":
        return why_no_case(row)
    if row.send_state == "sent":
        return "it was sent: settle it as sent, or dismiss it"
    return SNOOZED_AGAIN if row.is_snoozed_again else NEWER_CASE


def why_not_waiting(row: OperatedRow) -> str:
    """Why a row that is no case cannot be put off."""
    if row.outcome is not None:
        return why_no_case(row)
    if row.inactive:
        return "it is paused"
    return CHANGED if row.claimed_by is None else "a worker holds it at this moment"


def _resolved(
    connection: Connection,
    operation: Operation,
    rows: Rows,
    done: Collection[int],
    kind: str,
    *,
    after: Mapping[str, object],
) -> Verdicts:
    _append_events(
        connection, operation, kind, [(row.id, {"reason": operation.reason}) for row in rows if row.id in done]
    )

    def left(row: OperatedRow) -> str:
        match row.send_state:
            case "sent":
                return "it is known that it was sent"
            case "uncertain" if row.claimed_by is not None:
                return "a worker holds it at this moment"
            case "uncertain":
                if row.outcome == "retired" and operation.act == "resolve_resend":
                    return SNOOZED_AGAIN if row.is_snoozed_again else NEWER_CASE
                return SNOOZED_AGAIN if row.is_snoozed_again else why_no_case(row)
            case "sending":
                return "it is being sent at this moment"
        return "it is not uncertain: it was not sent"

    return _verdicts(rows, done, left, after=after)


def _verdicts(
    rows: Rows,
    done: Collection[int],
    left: Callable[[OperatedRow], str],
    *,
    after: Mapping[str, object] | Callable[[int], Mapping[str, object]],
) -> Verdicts:
    return {
        row.id: Verdict(result="done", before=_state(row), after=after(row.id) if callable(after) else after)
        if row.id in done
        else Verdict(result="unchanged", detail=left(row))
        for row in rows
    }


def _state(row: OperatedRow) -> dict[str, object]:
    """Of the row as it was, what acts change; nothing of the message or its person."""
    return {
        "outcome": row.outcome,
        "attempts": row.attempts,
        "max_attempts": row.max_attempts,
        "remind_at": row.remind_at.isoformat(),
        "send": row.send_state,
        "claimed_by": row.claimed_by,
    }


def _is_case(row: OperatedRow) -> bool:
    return row.outcome == "retired"


def _why_later(row: OperatedRow, operation: Operation) -> str | None:
    """Why a row is not what the operator has decided about: it became a case, or uncertain, only afterwards."""
    given = operation.parameters.get("until")
    if given is None:
        return None
    until = datetime.fromisoformat(given)
    if _is_case(row) and row.finished_at is not None and row.finished_at > until:
        return "it became a case after the preview"
    if row.send_state == "uncertain" and row.uncertain_at is not None and row.uncertain_at > until:
        return "its reminder became uncertain after the preview" if _is_case(row) or operation.act in _RESOLVE else None
    return None


def _next_time(row: OperatedRow, operation: Operation) -> datetime | None:
    """The next occurrence of what repeats; None where none is left, or it cannot be read."""
    if row.recurrence is None:
        return None
    try:
        return next_reminder_after(row.recurrence, promised=row.promise, now=operation.created_at, zone=row.zone)
    except (KeyError, ValueError):
        return None


def _free(rows: Rows, *states: str) -> list[int]:
    """The rows whose sends are in one of these states, and that no worker holds."""
    return [row.id for row in rows if row.send_state in states and row.claimed_by is None]


def _append_events(
    connection: Connection, operation: Operation, kind: str, lines: Sequence[tuple[int, Mapping[str, object]]]
) -> None:
    events.append_many(connection, kind=kind, actor=operation.actor, route=ROUTE, lines=lines)


def _by(operation: Operation) -> dict[str, str]:
    return {"actor": operation.actor, "route": ROUTE, "reason": operation.reason}


def _ids(rows: Rows) -> list[int]:
    return [row.id for row in rows]


ACTS: dict[str, Callable[[Connection, Operation, Rows], Verdicts]] = {
    "reactivate": _reactivate,
    "dismiss": _dismiss,
    "delay": _delay,
    "raise_attempts": _raise_attempts,
    "resolve_sent": _resolve_sent,
    "resolve_resend": _resolve_resend,
    "resolve_drop": _resolve_drop,
    "release": _release,
    "resume": _resume,
    "mark_invalid": _mark_invalid,
}
