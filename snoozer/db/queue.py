"""The queue: one function per file in `sql/queue`, every write to `email_snoozes`; those of `sql/peek` only read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as
from snoozer.domain.reminder import ATTEMPTS_EXHAUSTED, WORKER_LOST, Claim


@dataclass(frozen=True, kw_only=True)
class ReminderTime:
    """When a person wants a message back, and the terms in which they asked for it.

    `remind_at` is aware. `wall_time` is naive, in `zone`; `time_kind` is "elapsed" (so many minutes from now) or
    "wall" (a time on the clock), both None where an instant was given. `recurrence` is a Recurrence as JSON.
    """

    remind_at: datetime
    duration_hours: int | None = None
    note: str | None = None
    wall_time: datetime | None = None
    zone: str | None = None
    time_kind: str | None = None
    recurrence: dict[str, Any] | None = None

    @property
    def columns(self) -> dict[str, object]:
        """The binds of the queue's statements."""
        return {
            "remind_at": self.remind_at,
            "snooze_duration_hours": self.duration_hours,
            "note": self.note,
            "wall_time": self.wall_time,
            "zone": self.zone,
            "time_kind": self.time_kind,
            "recurrence": None if self.recurrence is None else json.dumps(self.recurrence),
        }


@dataclass(frozen=True, kw_only=True)
class EnqueueOptions:
    """How workers treat a snooze. None keeps the row's present value, or the table's default for a new row.

    Larger priorities are claimed first. Of the rows with one `serialization_key` (at most 998 octets) only one is in
    flight at any time.
    """

    priority: int | None = None
    serialization_key: str | None = None


DEFAULT_OPTIONS = EnqueueOptions()


@dataclass(frozen=True, kw_only=True)
class ZoneShift:
    """A snooze with a time on the clock, moved from the instant `promised` to `remind_at`, on the clock of `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """A claim that was released because its worker was lost."""

    id: int
    worker: str
    uncertain: bool
    retired: bool


@dataclass(frozen=True, kw_only=True)
class RestoredCase:
    """A snooze that was retired after a restore, and its reminder's Message-ID, as in the mail server's log."""

    id: int
    promise: datetime
    reminder_message_id: str


@dataclass(frozen=True, kw_only=True)
class PriorityLevel:
    """A priority of something that is due at `now`, by the database's clock."""

    priority: int
    now: datetime


# Id and token of each claim.
HeldClaims = Sequence[tuple[int, UUID]]

# A position in the order of claims: `remind_at` and id.
Position = tuple[datetime, int]


def enqueue(
    connection: Connection,
    *,
    user_email: str,
    message_id: str,
    reminder_time: ReminderTime,
    subject: str | None = None,
    sender_email: str | None = None,
    traceparent: str | None = None,
    options: EnqueueOptions = DEFAULT_OPTIONS,
) -> tuple[int, bool]:
    """Snooze a message; returns the row's id and whether it is new (False: the live row was changed)."""
    message = {"user_email": user_email, "message_id": message_id, "subject": subject, "sender_email": sender_email}
    values = {**message, "traceparent": traceparent, **reminder_time.columns, **vars(options)}
    row = execute(connection, "queue/enqueue", **values).one()
    return row.id, row.created


def claim(
    connection: Connection,
    *,
    worker: str,
    batch_size: int,
    lease: timedelta,
    priority: int = 0,
    poison_rows: bool = False,
    after: Position | None = None,
    heavy_users: Sequence[str] = (),
    buckets: Sequence[int] | None = None,
    steal_after: timedelta = timedelta(0),
    known_schema: int = 1,
) -> list[Claim]:
    """Claim up to `batch_size` due snoozes of one priority for `lease`; returned in the order of their promises.

    With `poison_rows`, only rows that lost a worker before; without, only the others. Rows up to the position `after`,
    and those of `heavy_users`, are left out. With `buckets`, rows of other buckets are claimed only when they are
    `steal_after` overdue. Rows of a schema version above `known_schema` are left to newer workers.
    """
    after_time, after_id = after or (None, 0)
    position = {"priority": priority, "poison_rows": poison_rows, "after_time": after_time, "after_id": after_id}
    bucket = {"buckets": None if buckets is None else list(buckets), "steal_after": steal_after}
    values = {"worker": worker, "batch_size": batch_size, "lease": lease, "known_schema": known_schema}
    rows = execute(connection, "queue/claim", heavy_users=list(heavy_users), **values, **position, **bucket)
    return sorted(rows_as(rows, Claim), key=lambda claim: (claim.scheduled_for, claim.id))


def extend(connection: Connection, *, held: HeldClaims, lease: timedelta) -> dict[int, bool]:
    """Extend these leases; returns the claims still owned by id, and whether each was extended (else it is locked)."""
    return {row.id: row.extended for row in execute(connection, "queue/extend", lease=lease, **_pairs(held))}


def finalize(connection: Connection, *, held: HeldClaims) -> set[tuple[int, UUID]]:
    """Finish snoozes whose reminders were sent; returns the claims that were still owned."""
    return {(row.id, row.claim_token) for row in execute(connection, "queue/finalize", **_pairs(held)).all()}


def schedule_next(connection: Connection, *, id: int, claim_token: UUID, remind_at: datetime) -> bool:
    """The occurrence was sent: promise the next one. Returns False when the claim is no longer owned."""
    values = {"id": id, "claim_token": claim_token, "remind_at": remind_at}
    return execute(connection, "queue/schedule_next", **values).first() is not None


def release(
    connection: Connection,
    *,
    id: int,
    claim_token: UUID,
    error: str,
    attempts_used: int,
    delay: timedelta,
    permanent: bool = False,
) -> str | None:
    """Record a failed delivery. Returns "released", "retired", or None when the claim is no longer owned."""
    failure = {"error": error, "attempts_used": attempts_used, "delay": delay, "permanent": permanent}
    row = execute(connection, "queue/release", id=id, claim_token=claim_token, **failure).first()
    return None if row is None else row.outcome or "released"


def unclaim(connection: Connection, *, held: HeldClaims) -> list[int]:
    """Give back claims that were never begun, without using an attempt; returns the ids still owned."""
    return list(execute(connection, "queue/unclaim", **_pairs(held)).scalars())


def recover(
    connection: Connection,
    *,
    batch_size: int,
    lease: timedelta,
    delay: timedelta,
    hold: timedelta,
    hold_for_operator: bool,
    max_crashes: int,
    max_resends: int,
    id_range: range = ALL_IDS,
) -> list[Recovered]:
    """Release claims of dead workers and expired leases; a send that may have been sent becomes uncertain."""
    times = {"lease": lease, "delay": delay, "hold": hold, "hold_for_operator": hold_for_operator}
    limits = {"batch_size": batch_size, "max_crashes": max_crashes, "max_resends": max_resends, **id_bounds(id_range)}
    return rows_as(execute(connection, "queue/recover", **times, **limits, **WORKER_LOST), Recovered)


def retire(connection: Connection, *, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Retire due rows whose attempts are exhausted; returns their ids."""
    values = {"batch_size": batch_size, "error": ATTEMPTS_EXHAUSTED, **id_bounds(id_range)}
    return list(execute(connection, "queue/retire", **values).scalars())


def reschedule(connection: Connection, *, id: int, user_email: str, reminder_time: ReminderTime) -> bool:
    """Change the time of a live snooze. Returns False when it is over or another person's."""
    columns = reminder_time.columns
    return execute(connection, "queue/reschedule", id=id, user_email=user_email, **columns).first() is not None


def shift_zone(connection: Connection, *, moves: Sequence[ZoneShift]) -> set[int]:
    """Move times on the clock to other instants; returns the ids that moved. Rows changed since they were read stay."""
    values = {
        "ids": [one.id for one in moves],
        "promised": [one.promised for one in moves],
        "remind_at": [one.remind_at for one in moves],
        "zones": [one.zone for one in moves],
    }
    return set(execute(connection, "queue/shift_zone", **values).scalars())


def cancel(connection: Connection, *, id: int, user_email: str, scheduled_for: datetime | None = None) -> bool:
    """Cancel a snooze; with `scheduled_for`, only if it promises that. Returns False when it is over."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for}
    return execute(connection, "queue/cancel", **values).first() is not None


def skip_occurrence(
    connection: Connection, *, id: int, user_email: str, scheduled_for: datetime, remind_at: datetime
) -> bool:
    """Promise the next occurrence instead of this one. Returns False when the row is over or promises another."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for, "remind_at": remind_at}
    return execute(connection, "queue/skip_occurrence", **values).first() is not None


def restore(connection: Connection, *, id: int, user_email: str) -> bool:
    """Undo a cancellation. Returns False when there is none, or the message has a new live snooze."""
    try:
        with connection.begin_nested():
            return execute(connection, "queue/restore", id=id, user_email=user_email).first() is not None
    except IntegrityError:
        # A concurrent transaction snoozed the message again.
        return False


def reactivate(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Return cases to the queue; returns the ids that were cases."""
    return list(execute(connection, "queue/reactivate", ids=list(ids)).scalars())


def dismiss(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Close cases for good; returns the ids that were cases."""
    return list(execute(connection, "queue/dismiss", ids=list(ids)).scalars())


def retire_restored(
    connection: Connection, *, until: datetime, after: int, batch_size: int, domain: str, error: str
) -> list[RestoredCase]:
    """Retire what was due before `until`, ids beyond `after`: a restored dump does not know whether it was sent."""
    values = {"until": until, "after": after, "batch_size": batch_size, "domain": domain, "error": error}
    return sorted(rows_as(execute(connection, "queue/retire_restored", **values), RestoredCase), key=lambda one: one.id)


def archive(connection: Connection, *, ids: Sequence[int], older_than: timedelta) -> list[int]:
    """Archive those of these snoozes that have been over for `older_than`, with their sends; returns their ids."""
    return list(execute(connection, "queue/archive", ids=list(ids), older_than=older_than).scalars())


def next_due(connection: Connection, *, known_schema: int, not_due_yet: bool) -> float:
    """Seconds until the next row is due: 0 when one is due, infinity when none waits. With `not_due_yet`, rows that are
    due already are left out."""
    values = {"known_schema": known_schema, "not_due_yet": not_due_yet}
    seconds = execute(connection, "peek/next_due", **values).scalar_one_or_none()
    return float("inf") if seconds is None else max(float(seconds), 0.0)


def priorities(connection: Connection) -> list[PriorityLevel]:
    """The priorities of rows that are due, the highest first."""
    return rows_as(execute(connection, "peek/priorities"), PriorityLevel)


def poison_row(connection: Connection, *, known_schema: int) -> bool:
    """Whether a row is due that lost a worker before."""
    return bool(execute(connection, "peek/poison_row", known_schema=known_schema).scalar_one())


def unfinished(connection: Connection, *, known_schema: int) -> bool:
    """Whether any row is due or claimed."""
    return bool(execute(connection, "peek/unfinished", known_schema=known_schema).scalar_one())


def _pairs(held: HeldClaims) -> dict[str, object]:
    return {"ids": [id for id, _ in held], "claim_tokens": [token for _, token in held]}
