"""The queue, continued: statements by which operators change rows, many at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from snoozer.db.queue import HeldClaims
from snoozer.db.statements import execute, rows_as

MAX_ATTEMPTS = 1_000
# By the binds of queue.release_claims.
CLAIM_RELEASED = {
    "error_released": "An operator took it back from its worker",
    "error_uncertain": "It may have been sent: an operator took it back from its worker after the end of the message",
}


@dataclass(frozen=True, kw_only=True)
class OperatedRow:
    """A snooze that an operator acts on, and the state of the send of what it promises."""

    id: int
    user_email: str
    message_id: str
    outcome: str | None
    finished_at: datetime | None
    inactive: bool
    paused_by: int | None
    claimed_by: str | None
    remind_at: datetime
    promise: datetime
    attempts: int
    max_attempts: int
    recurrence: dict[str, Any] | None
    zone: str | None
    send_state: str | None
    uncertain_at: datetime | None
    is_snoozed_again: bool


@dataclass(frozen=True, kw_only=True)
class ReleasedClaim:
    """A claim that was taken back; `uncertain` where its reminder may have been sent."""

    worker: str
    uncertain: bool


def lock_for_operator(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Lock snoozes that an operator acts on; returns the ids of those that no other transaction has locked."""
    return list(execute(connection, "queue/lock_for_operator", ids=list(ids)).scalars())


def operated(connection: Connection, *, ids: Sequence[int]) -> list[OperatedRow]:
    """What decides whether an act on these is possible; those that are gone are missing."""
    return rows_as(execute(connection, "peek/operated", ids=list(ids)), OperatedRow)


def delay(
    connection: Connection,
    *,
    ids: Sequence[int],
    until: datetime | None = None,
    span: timedelta | None = None,
    since: datetime,
) -> dict[int, datetime]:
    """Try none of these before `until`, or each a `span` later than it would be, from `since` on where it is due;
    returns when those that wait are tried now."""
    values = {"ids": list(ids), "until": until, "span": span, "since": since}
    return {row.id: row.remind_at for row in execute(connection, "queue/delay", **values)}


def raise_attempts(connection: Connection, *, ids: Sequence[int], more: int) -> dict[int, int]:
    """Let these be tried so much more often, MAX_ATTEMPTS at the most; returns the new limits of those that were
    below."""
    rows = execute(connection, "queue/raise_attempts", ids=list(ids), more=more, most=MAX_ATTEMPTS)
    return {row.id: row.max_attempts for row in rows}


def conclude(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Finish those of these whose reminders were sent, as the ledger says; what repeats goes on by its next claim."""
    return list(execute(connection, "queue/conclude", ids=list(ids)).scalars())


def resend(connection: Connection, *, ids: Sequence[int], operation_id: int | None = None) -> list[int]:
    """Let those of these whose reminders are uncertain be claimed at once; returns their ids. A case is left where a
    newer one of its message is among these, or in the operation."""
    return list(execute(connection, "queue/resend", ids=list(ids), operation_id=operation_id).scalars())


def drop(connection: Connection, *, next_times: Mapping[int, datetime | None]) -> list[int]:
    """Close those of these whose reminders are uncertain, or promise their next time; returns their ids."""
    values = {"ids": list(next_times), "next_times": list(next_times.values())}
    return list(execute(connection, "queue/drop", **values).scalars())


def release_claims(connection: Connection, *, ids: Sequence[int], of_the_living: bool) -> dict[int, ReleasedClaim]:
    """Take back the claims of these from workers that are not alive, or from any with `of_the_living`."""
    rows = execute(connection, "queue/release_claims", ids=list(ids), of_the_living=of_the_living, **CLAIM_RELEASED)
    return {row.id: ReleasedClaim(worker=row.worker, uncertain=row.uncertain) for row in rows}


def pauses(connection: Connection, *, held: HeldClaims) -> dict[int, int]:
    """Of these claims, those that operators have paused: the pause of each, by id."""
    return {row.id: row.pause_id for row in execute(connection, "peek/pauses", **_pairs(held))}


def set_aside(connection: Connection, *, held: HeldClaims, pause_ids: Sequence[int]) -> set[int]:
    """Set these claims aside, each for its pause; returns the ids of those that are."""
    return set(execute(connection, "queue/set_aside", pause_ids=list(pause_ids), **_pairs(held)).scalars())


def bring_in(connection: Connection, *, ids: Sequence[int], pause_id: int) -> dict[int, bool]:
    """Bring back what a pause has set aside; returns the ids of those, and whether each stays paused, for its owner."""
    rows = execute(connection, "queue/bring_in", ids=list(ids), pause_id=pause_id)
    return {row.id: row.inactive for row in rows}


def _pairs(held: HeldClaims) -> dict[str, object]:
    return {"ids": [id for id, _ in held], "claim_tokens": [token for _, token in held]}
