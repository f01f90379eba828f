"""Every act of operators on rows: its changes, and the reasons to leave a row unchanged.

An act locks rows, and the ledger's entries of their promises, without waiting for locks. Then it decides each row
separately, and writes all in one statement, as acts of people do (`snoozes/acts.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from snoozer.db.operations import Operation, Verdict
from snoozer.operators import pauses
from snoozer.operators.pauses import Scope
from snoozer.queue import changes as db
from snoozer.queue import digests, events, ledger
from snoozer.queue.changes import Chosen, Retry, Terms
from snoozer.queue.limits import MAX_ATTEMPTS_BY_OPERATOR
from snoozer.snoozes import recurrence
from snoozer.snoozes.input import SnoozeError

Rows = Sequence[Chosen]
Verdicts = dict[int, Verdict]

ROUTE = "admin"
SNOOZED_AGAIN = "its message was snoozed again"
NEWER_CASE = "a newer case of its message is in this operation"
GONE = "it is gone: archived, or deleted with its account"
HELD = "a worker holds it at this moment"

_RESOLVE = frozenset({"resolve_sent", "resolve_resend", "resolve_drop"})


class Change(NamedTuple):
    """The outcome of an act for a row: its terms, its state in the audit log, and the detail of its event."""

    terms: Terms
    after: Mapping[str, object]
    retry: Retry | None = None
    detail: Mapping[str, object] = MappingProxyType({})


def apply(connection: Connection, operation: Operation, ids: Sequence[int]) -> Verdicts:
    """Do the act of an operation on these rows; returns the verdict on each. Rows that another transaction has locked
    are missing from the result."""
    free = db.lock_for_operator(connection, ids=ids)
    free -= ledger.lock_promised(connection, snooze_ids=sorted(free))
    rows = db.chosen(connection, ids=ids)
    gone = sorted(set(ids) - {row.id for row in rows})
    verdicts = dict.fromkeys(gone, _same(GONE))
    rows = [row for row in rows if row.id in free]
    if operation.act not in ACTS:
        unknown = f"this release knows no act “{operation.act}”"
        return verdicts | {row.id: Verdict(result="failed", detail=unknown) for row in rows}
    left = _left(connection, operation, rows)
    verdicts |= {id: _same(why) for id, why in left.items()}
    possible = [row for row in rows if row.id not in left]
    return verdicts | (ACTS[operation.act](connection, operation, possible) if possible else {})


def why_left(act: str, row: Chosen, now: datetime) -> str | None:
    """The reason why an act leaves a row unchanged; None if it can change it."""
    match act:
        case "reactivate":
            return _why_not_tried(row)
        case "dismiss":
            return _why_no_case(row)
        case "delay" if _is_case(row):
            return _why_not_tried(row)
        case "delay" if row.outcome is None and row.inactive:
            return "it is paused"
        case "delay" if row.outcome is None:
            return HELD if row.is_claimed else None
        case "raise_attempts" if row.outcome in {None, "retired"}:
            return (
                f"it may be tried {MAX_ATTEMPTS_BY_OPERATOR:,} times already"
                if row.max_attempts >= MAX_ATTEMPTS_BY_OPERATOR
                else None
            )
        case "delay" | "raise_attempts":
            return _why_no_case(row)
        case "release":
            return None if row.is_claimed else "no worker holds it any more"
        case "resolve_sent" | "resolve_resend" | "resolve_drop":
            return _why_not_resolved(act, row, now)
    return None


def _left(connection: Connection, operation: Operation, rows: Rows) -> dict[int, str]:
    """Why the act leaves rows as they are, by their ids."""
    left: dict[int, str] = {}
    for row in rows:
        why = _why_later(row, operation) or why_left(operation.act, row, operation.created_at)
        if why is not None:
            left[row.id] = why
    if operation.act in {"reactivate", "delay", "resolve_resend"}:
        cases = [row.id for row in rows if _is_case(row) and row.id not in left]
        newer = db.newer_cases(connection, ids=cases, operation_id=operation.id) if cases else {}
        is_any = operation.act != "resolve_resend"
        left |= {id: NEWER_CASE for id, is_uncertain in newer.items() if is_any or is_uncertain}
    return left


def _why_later(row: Chosen, operation: Operation) -> str | None:
    """Why a row differs from the operator's decision: it became a case, or uncertain, only afterwards."""
    given = operation.parameters.get("until")
    if given is None:
        return None
    until = datetime.fromisoformat(given)
    if _is_case(row) and row.finished_at is not None and row.finished_at > until:
        return "it became a case after the preview"
    is_uncertain_since = row.send_state == "uncertain" and row.uncertain_at is not None and row.uncertain_at > until
    if is_uncertain_since and (_is_case(row) or operation.act in _RESOLVE):
        return "its reminder became uncertain after the preview"
    return None


def _why_no_case(row: Chosen) -> str | None:
    match row.outcome:
        case "sent":
            return "already finished: it was sent"
        case "cancelled":
            return "already cancelled or dismissed"
        case "retired":
            return None
    if row.inactive:
        return "it is no case: it is paused" + (" by an operator" if row.paused_by else "")
    return "already in the hands of a worker" if row.is_claimed else "already in the queue"


def _why_not_tried(row: Chosen) -> str | None:
    if not _is_case(row):
        return _why_no_case(row)
    if row.send_state == "sent":
        return "it was sent: settle it as sent, or dismiss it"
    return SNOOZED_AGAIN if row.snoozed_again_at is not None else None


def _why_not_resolved(act: str, row: Chosen, now: datetime) -> str | None:
    match row.send_state:
        case "sent":
            return None if act == "resolve_sent" and _is_concluded(row) else "it is known that it was sent"
        case "uncertain" if row.is_claimed:
            return HELD
        case "uncertain" if act == "resolve_sent":
            return None
        case "uncertain":
            goes_on = act == "resolve_resend" or _next_time(row, now) is not None
            if goes_on and row.snoozed_again_at is not None:
                return SNOOZED_AGAIN
            return None if _is_open(row) else _why_no_case(row)
        case "sending":
            return "it is being sent at this moment"
    return "it is not uncertain: it was not sent"


def _is_case(row: Chosen) -> bool:
    return row.outcome == "retired"


def _is_open(row: Chosen) -> bool:
    """Whether it is a case, or waits."""
    return _is_case(row) or (row.outcome is None and not row.inactive)


def _is_concluded(row: Chosen) -> bool:
    """Whether the snooze is over, or goes on with its next occurrence, once its reminder was sent."""
    return _is_open(row) and not row.is_claimed and (row.recurrence is None or row.snoozed_again_at is None)


def _next_time(row: Chosen, now: datetime) -> datetime | None:
    """The next occurrence of what repeats; None after the last, or if it cannot be read."""
    try:
        return None if row.recurrence is None else recurrence.following(row, now=now)
    except SnoozeError:
        return None


def _change(row: Chosen, operation: Operation, now: datetime) -> Change:
    parameters = operation.parameters
    at_once = Retry(at=max(min(row.tried_at, now), row.remind_at))
    match operation.act:
        case "reactivate":
            return Change(_with(row, outcome=None), {"outcome": None, "attempts": 0}, Retry(max(row.tried_at, now)))
        case "dismiss":
            return Change(_with(row, outcome="cancelled"), {"outcome": "cancelled"})
        case "delay":
            at = max(row.tried_at, now) if _is_case(row) else row.tried_at
            later = max(at, operation.created_at) + timedelta(seconds=parameters.get("delay_seconds") or 0)
            until = parameters.get("delay_until")
            at = max(at, later if until is None else datetime.fromisoformat(until)).astimezone(row.tried_at.tzinfo)
            after = {"outcome": None, "remind_at": at.isoformat()}
            return Change(_with(row, outcome=None), after, Retry(at, _is_case(row)), {"until": at.isoformat()})
        case "raise_attempts":
            limit = {"max_attempts": min(row.max_attempts + int(parameters["more_attempts"]), MAX_ATTEMPTS_BY_OPERATOR)}
            return Change(_with(row, **limit), limit, None, limit)
        case "resolve_sent" if _is_concluded(row):
            # A snooze that repeats is due at once: its next claim finds it sent, and promises the next occurrence.
            return Change(_with(row, outcome=None if row.recurrence else "sent"), {"send": "sent"}, at_once)
        case "resolve_sent":
            return Change(row.terms, {"send": "sent"})
        case "resolve_resend":
            return Change(_with(row, outcome=None), {"send": "failed", "outcome": None}, at_once)
    following = _next_time(row, operation.created_at)
    dropped = _with(row, remind_at=following or row.remind_at, outcome=None if following else "cancelled")
    return Change(dropped, {"send": "failed"})


def _change_all(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    now: datetime = connection.execute(select(func.now())).scalar_one()
    changes = [(row, _change(row, operation, now)) for row in rows]
    db.change_many(
        connection,
        changes=[(row, to.terms) for row, to in changes if to.retry is not None or to.terms != row.terms],
        retries={row.id: to.retry for row, to in changes if to.retry is not None},
        keeps_claims=operation.act == "raise_attempts",
    )
    cases = [row.id for row in rows if _is_case(row)]
    if operation.act in {"reactivate", "delay"}:
        digests.release(connection, ids=cases)
        ledger.reopen(connection, ids=cases, actor=operation.actor)
        _record(connection, operation, "reactivated", {id: {} for id in cases})
    elif operation.act == "dismiss":
        ledger.dismiss(connection, ids=cases, actor=operation.actor)
    elif operation.act in RESOLUTIONS:
        resolution, promises = RESOLUTIONS[operation.act], {row.id: row.remind_at for row in rows}
        ledger.resolve(connection, promises=promises, resolution=resolution, actor=operation.actor)
    if operation.act in KINDS:
        _record(connection, operation, KINDS[operation.act], {row.id: to.detail for row, to in changes})
    return {row.id: _done(row, to.after) for row, to in changes}


def _release(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Claims of workers that are alive are left, unless the operator wants them too."""
    of_the_living = bool(operation.parameters.get("of_the_living"))
    released = db.release_claims(connection, ids=[row.id for row in rows], of_the_living=of_the_living)
    _record(connection, operation, "taken back", {id: claim._asdict() for id, claim in released.items()})
    return {
        row.id: _done(row, {"claimed_by": None})
        if row.id in released
        else _same(f"its worker {row.claimed_by} is alive")
        for row in rows
    }


def _resume(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Rows that the pause has set aside go on at their own times, unless their messages were snoozed again."""
    pause = int(operation.parameters["pause"])
    aside = [row for row in rows if row.paused_by == pause]
    again = {row.id for row in aside if row.snoozed_again_at is not None}
    changes = [(row, _with(row, paused=row.id in again)) for row in aside]
    done = {row.id: Retry(row.tried_at, afresh=False) for row in aside if row.id not in again}
    db.change_many(connection, changes=changes, retries=done)
    _append(connection, operation, "goes on", {id: {"pause": pause} for id in done})
    verdicts = {row.id: _same("already on its way, changed or ended by its owner") for row in rows}
    verdicts |= dict.fromkeys(again, _same(f"{SNOOZED_AGAIN}: it stays paused, for its owner to resume"))
    return verdicts | {row.id: _done(row, {"inactive": False, "paused_by": None}) for row in aside if row.id in done}


def _mark_invalid(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """The rows stay unchanged: a row that is due, or reactivated, is set aside at its claim."""
    marked = {}
    for address in sorted({row.user_email.lower() for row in rows}):
        scope = Scope(kind="invalid", value=address)
        marked[address] = pauses.pause(
            connection, scope, actor=operation.actor, reason=operation.reason, is_audited=False
        )
    return {
        row.id: _same("its address is marked already")
        if marked[row.user_email.lower()] is None
        else _done(row, {"address": "invalid"})
        for row in rows
    }


def _undo(connection: Connection, operation: Operation, rows: Rows) -> Verdicts:
    """Cases that another operation dismissed or reactivated are cases again, unless they have changed since."""
    left = {row.id: why for row in rows if (why := _why_not_undone(operation.parameters["act"], row)) is not None}
    cases = [row for row in rows if row.id not in left]
    db.change_many(connection, changes=[(row, _with(row, outcome="retired")) for row in cases])
    if operation.parameters["act"] == "dismiss":
        ledger.doubt_again(connection, ids=[row.id for row in cases])
    _record(connection, operation, "act undone", {row.id: {"act": operation.parameters["act"]} for row in cases})
    verdicts = {id: _same(why) for id, why in left.items()}
    return verdicts | {row.id: _done(row, {"outcome": "retired"}) for row in cases}


def _why_not_undone(act: str, row: Chosen) -> str | None:
    match act, row.outcome:
        case _, "retired":
            return "it is a case already"
        case _, "sent":
            return "it was sent"
        case "dismiss", "cancelled":
            return None
        case "dismiss", _:
            return "it is on its way again"
        case _, "cancelled":
            return "already cancelled or dismissed"
    if row.is_claimed or row.send_state in {"sending", "uncertain"}:
        return HELD
    if row.send_state == "sent":
        return "it was sent"
    return "it is paused" if row.inactive else None


# Acts whose rows are cases again when they are undone.
UNDOABLE = frozenset({"dismiss", "reactivate"})
KINDS = {
    "dismiss": "dismissed",
    "delay": "delayed",
    "raise_attempts": "attempts raised",
    "resolve_sent": "settled as sent",
    "resolve_resend": "sent again",
    "resolve_drop": "dropped",
}
RESOLUTIONS: Mapping[str, ledger.Resolution] = {
    "resolve_sent": "settled",
    "resolve_resend": "resend",
    "resolve_drop": "dropped",
}
ACTS: Mapping[str, Callable[[Connection, Operation, Rows], Verdicts]] = {
    **dict.fromkeys(("reactivate", *KINDS), _change_all),
    "release": _release,
    "resume": _resume,
    "mark_invalid": _mark_invalid,
    "undo": _undo,
}


def _with(row: Chosen, **terms: Any) -> Terms:
    return replace(row.terms, **terms)


def _record(connection: Connection, operation: Operation, kind: str, lines: Mapping[int, Mapping[str, object]]) -> None:
    """Append the event of each row, with the reason."""
    _append(connection, operation, kind, {id: {**detail, "reason": operation.reason} for id, detail in lines.items()})


def _append(connection: Connection, operation: Operation, kind: str, lines: Mapping[int, Mapping[str, object]]) -> None:
    events.append_many(connection, kind=kind, actor=operation.actor, route=ROUTE, lines=list(lines.items()))


def _same(why: str) -> Verdict:
    return Verdict(result="unchanged", detail=why)


def _done(row: Chosen, after: Mapping[str, object]) -> Verdict:
    """For the audit log: what acts change, as it was, and nothing about the message or its person."""
    before = {
        "outcome": row.outcome,
        "attempts": row.attempts,
        "max_attempts": row.max_attempts,
        "remind_at": row.tried_at.isoformat(),
        "send": row.send_state,
        "claimed_by": row.claimed_by,
    }
    return Verdict(result="done", before=before, after=after)
