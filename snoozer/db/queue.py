"""What a program may ask of the workers for a snooze of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as
from snoozer.domain.reminder import (
    ATTEMPTS_EXHAUSTED,
    RESENT_AND_WORKER_LOST,
    WORKER_LOST,
    WORKER_LOST_UNCERTAIN,
    WORKER_LOST_UNCERTAIN_HELD,
    Claim,
)


@dataclass(frozen=True, kw_only=True)
class ReminderTime:
    """When a person wants a message back, and how they said it.

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
        """What the queue's statements bind."""
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
    """How workers are to treat a snooze. What is None stays as it is, or as the table has it for a new row.

    Larger priorities go first. Of those with one `serialization_key` (998 octets at most) only one is in flight at any
    time. Workers that do not know its `schema_version` leave it to newer ones.
    """

    priority: int | None = None
    max_attempts: int | None = None
    serialization_key: str | None = None
    schema_version: int | None = None


DEFAULT_OPTIONS = EnqueueOptions()


@dataclass(frozen=True, kw_only=True)
class ZoneShift:
    """A snooze by the clock that was promised for `promised` and comes at `remind_at` instead, on the clock of
    `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """A claim that was taken back from a lost worker."""

    id: int
    worker: str
    uncertain: bool
    retired: bool


@dataclass(frozen=True, kw_only=True)
class RestoredCase:
    """A snooze that was set aside, and the Message-ID that its reminder has in the mail server's log."""

    id: int
    promise: datetime
    reminder_message_id: str


# Claims by id and token.
HeldClaims = Sequence[tuple[int, UUID]]

# A place in the order of promises: `remind_at` and id.
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
    """Put a message away; answers the row's id and whether it is a new row (False: a living one was changed)."""
    row = execute(
        connection,
        "queue/enqueue",
        user_email=user_email,
        message_id=message_id,
        subject=subject,
        sender_email=sender_email,
        traceparent=traceparent,
        **reminder_time.columns,
        **vars(options),
    ).one()
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
    """Up to `batch_size` due snoozes of one priority, now held by `worker` for `lease`, in the order of their promises.

    Suspects are rows that lost a worker before; they are asked for apart so that they can be delivered alone. Rows up
    to the place `after` and those of the persons in `crowd` are left out. With `buckets`, rows of other buckets are
    taken only once they are `steal_after` overdue. Rows of a schema version above `known_schema` are left to newer
    workers.
    """
    rows = execute(
        connection,
        "queue/claim",
        worker=worker,
        batch_size=batch_size,
        lease=lease,
        priority=priority,
        poison_rows=poison_rows,
        after_time=after[0] if after else None,
        after_id=after[1] if after else 0,
        heavy_users=list(heavy_users),
        buckets=None if buckets is None else list(buckets),
        steal_after=steal_after,
        known_schema=known_schema,
    )
    return sorted(rows_as(rows, Claim), key=lambda claim: (claim.scheduled_for, claim.id))


def extend(connection: Connection, *, held: HeldClaims, lease: timedelta) -> dict[int, bool]:
    """Lengthen these leases; answers those that are still the worker's, and whether each could be lengthened now."""
    return {row.id: row.extended for row in execute(connection, "queue/extend", lease=lease, **_pairs(held))}


def finalize(connection: Connection, *, held: HeldClaims) -> set[tuple[int, UUID]]:
    """These reminders are out; answers the claims that were still the caller's."""
    return {(row.id, row.claim_token) for row in execute(connection, "queue/finalize", **_pairs(held)).all()}


def schedule_next(connection: Connection, *, id: int, claim_token: UUID, remind_at: datetime) -> bool:
    """The occurrence is out and the next one promised; False when the claim is no longer ours."""
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
    """A failure is written down: "released", "retired", or None when the claim is no longer ours."""
    row = execute(
        connection,
        "queue/release",
        id=id,
        claim_token=claim_token,
        error=error,
        attempts_used=attempts_used,
        delay=delay,
        permanent=permanent,
    ).first()
    return None if row is None else row.outcome or "released"


def unclaim(connection: Connection, *, held: HeldClaims) -> list[int]:
    """Give claims back that were never begun; nothing is spent. Answers those that were still the worker's."""
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
    """Take back claims of the dead and leases that ran out; a send that may have left becomes uncertain."""
    rows = execute(
        connection,
        "queue/recover",
        batch_size=batch_size,
        lease=lease,
        delay=delay,
        hold=hold,
        hold_for_operator=hold_for_operator,
        max_crashes=max_crashes,
        max_resends=max_resends,
        error_exhausted=RESENT_AND_WORKER_LOST,
        error_held=WORKER_LOST_UNCERTAIN_HELD,
        error_uncertain=WORKER_LOST_UNCERTAIN,
        error_lost=WORKER_LOST,
        **id_bounds(id_range),
    )
    return rows_as(rows, Recovered)


def retire(connection: Connection, *, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Due rows whose attempts are spent become cases."""
    values = {"batch_size": batch_size, "error": ATTEMPTS_EXHAUSTED, **id_bounds(id_range)}
    return list(execute(connection, "queue/retire", **values).scalars())


def reschedule(connection: Connection, *, id: int, user_email: str, reminder_time: ReminderTime) -> bool:
    """A new promise for a living snooze; False when it is over or somebody else's."""
    columns = reminder_time.columns
    return execute(connection, "queue/reschedule", id=id, user_email=user_email, **columns).first() is not None


def shift_zone(connection: Connection, *, moves: Sequence[ZoneShift]) -> set[int]:
    """Times on the clock fall on other instants; answers those that moved. What changed since it was read stays."""
    values = {
        "ids": [one.id for one in moves],
        "promised": [one.promised for one in moves],
        "remind_at": [one.remind_at for one in moves],
        "zones": [one.zone for one in moves],
    }
    return set(execute(connection, "queue/shift_zone", **values).scalars())


def cancel(connection: Connection, *, id: int, user_email: str, scheduled_for: datetime | None = None) -> bool:
    """The person no longer wants it; with `scheduled_for` only that promise is meant. False when it is over."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for}
    return execute(connection, "queue/cancel", **values).first() is not None


def skip_occurrence(
    connection: Connection, *, id: int, user_email: str, scheduled_for: datetime, remind_at: datetime
) -> bool:
    """This occurrence is the person's, the next one promised; False when the row is over or promises another."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for, "remind_at": remind_at}
    return execute(connection, "queue/skip_occurrence", **values).first() is not None


def restore(connection: Connection, *, id: int, user_email: str) -> bool:
    """Undo a cancellation; False when there is none to undo or the message was put away anew."""
    try:
        with connection.begin_nested():
            return execute(connection, "queue/restore", id=id, user_email=user_email).first() is not None
    except IntegrityError:
        # It was put away anew in this very moment.
        return False


def reactivate(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Cases go back to work; answers those that did."""
    return list(execute(connection, "queue/reactivate", ids=list(ids)).scalars())


def dismiss(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Cases are closed for good; answers those that were."""
    return list(execute(connection, "queue/dismiss", ids=list(ids)).scalars())


def retire_restored(
    connection: Connection, *, until: datetime, after: int, batch_size: int, domain: str, error: str
) -> list[RestoredCase]:
    """Due before `until`, with ids beyond `after`: cases now, as a restored dump cannot tell whether they were sent."""
    values = {"until": until, "after": after, "batch_size": batch_size, "domain": domain, "error": error}
    return sorted(rows_as(execute(connection, "queue/retire_restored", **values), RestoredCase), key=lambda one: one.id)


def archive(connection: Connection, *, ids: Sequence[int], older_than: timedelta) -> list[int]:
    """Move those of these snoozes that have been over for `older_than` to the archive, with their sends."""
    return list(execute(connection, "queue/archive", ids=list(ids), older_than=older_than).scalars())


def next_due(connection: Connection, *, known_schema: int, not_due_yet: bool) -> float:
    """How long until something is due: 0 when something is, infinity when nothing waits. With `not_due_yet`, what is
    due already is left out."""
    values = {"known_schema": known_schema, "not_due_yet": not_due_yet}
    seconds = execute(connection, "peek/next_due", **values).scalar_one_or_none()
    return float("inf") if seconds is None else max(float(seconds), 0.0)


def poison_row(connection: Connection, *, known_schema: int) -> bool:
    """Is a row due that lost a worker before?"""
    return bool(execute(connection, "peek/poison_row", known_schema=known_schema).scalar_one())


def unfinished(connection: Connection, *, known_schema: int) -> bool:
    """Is anything due or claimed?"""
    return bool(execute(connection, "peek/unfinished", known_schema=known_schema).scalar_one())


def _pairs(held: HeldClaims) -> dict[str, object]:
    return {"ids": [id for id, _ in held], "claim_tokens": [token for _, token in held]}
