"""The operators' overview: one function per statement in `sql/operators/overview`, of the same name. Nothing is
written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import support
from snoozer.db.statements import execute, rows_as

MAX_WORKERS = 100
# Percentiles and bands are computed from at most this many rows.
MAX_MEASURED = 10_000
MAX_COUNTED = 10_000
# Lost workers and new cases are shown for this long.
LATELY = timedelta(hours=1)
# A healthy mail server takes a reminder in less.
SLOW = timedelta(seconds=8)
# A lock that another session waits for longer than this is shown.
LONG_WAIT = timedelta(seconds=4)


@dataclass(frozen=True, kw_only=True)
class Clock:
    """When the clock last ran a chore that is due every few seconds, and last recorded minutes. `overdue` is a chore
    that it did not do for longer than it `may_take`, although it ran before, and `overdue_since` its last run.
    `refused` are chores with a statement that the database refuses, the first one since `refused_since`."""

    swept_at: datetime | None
    recorded_at: datetime | None
    refused: Sequence[str]
    refused_since: datetime | None
    overdue: str | None
    overdue_since: datetime | None
    may_take: timedelta


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A worker that works, or was lost lately; `is_missed` if it was lost and no later start replaced it. A field that
    an earlier release did not register is None."""

    id: str
    version: str | None
    host: str | None
    state: str
    started_at: datetime
    heartbeat_at: datetime
    batch_size: int | None
    concurrency: int | None
    is_lost: bool
    is_missed: bool


@dataclass(frozen=True, kw_only=True)
class Held:
    """The rows that one worker holds: `slow` ones for longer than `SLOW`, `lapsed` ones beyond their leases, and a few
    ids."""

    worker: str
    rows: int
    oldest: datetime
    slow: int
    lapsed: int
    ids: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Locks:
    """Sessions that wait for locks for longer than `LONG_WAIT`, and the process of the oldest transaction that locks
    rows of the queue; `clock_is_busy` if a clock waits for a lock, or did something within `LONG_WAIT`."""

    waiting: int
    waiting_since: datetime | None
    holder: int | None
    program: str | None
    held_since: datetime | None
    clock_is_busy: bool


@dataclass(frozen=True, kw_only=True)
class Database:
    """The state of the database; `worst_table` has the most dead rows."""

    bytes: int
    dead: int
    live: int
    worst_table: str | None
    worst_dead: int
    worst_vacuumed_at: datetime | None
    oldest_snapshot: datetime | None
    connections: int
    max_connections: int
    wal_position: str
    may_list_wal: bool


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """How late reminders are or were: how many in each band, of how many people, and percentiles and the longest in
    seconds, measured on at most `MAX_MEASURED` of them."""

    rows: int
    people: int
    within_10_s: int
    within_60_s: int
    within_30_min: int
    later: int
    p50: float | None
    p99: float | None
    longest: float | None

    @property
    def is_partial(self) -> bool:
        """Whether there may be more than were measured."""
        return self.rows >= MAX_MEASURED


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """Results of attempts in the last hour; `retry_rate` is the share that failed and is made again, None if no attempt
    was made. `just_sent` counts the last seconds, and `reply_seconds` is how long the mail server took to reply to an
    attempt of the last minute."""

    sent: int
    retried: int
    failed: int
    retry_rate: float | None
    just_sent: int
    reply_seconds: float | None


def clock(connection: Connection) -> Clock:
    values = {"sweep": list(support.SWEEP_CHORES), "chores": list(support.CHORES)}
    found = execute(connection, "overview/clock", limits=list(support.CHORES.values()), **values)
    return Clock(**found.one()._mapping)


def workers(connection: Connection, *, dead_after: timedelta, answers_since: datetime | None = None) -> list[Worker]:
    """Working workers and lately lost ones, at most `MAX_WORKERS` + 1 of each. None counts as silent from before
    `answers_since`, when an outage of the database ended."""
    values = {"dead_after": dead_after, "answers_since": answers_since, "lately": LATELY, "most": MAX_WORKERS + 1}
    return rows_as(execute(connection, "overview/workers", **values), Worker)


def held(connection: Connection) -> dict[str, Held]:
    """The rows held, by worker; a worker that holds none is missing."""
    return {one.worker: one for one in rows_as(execute(connection, "overview/held", slow=SLOW), Held)}


def locks(connection: Connection) -> Locks:
    return Locks(**execute(connection, "overview/locks", longer_than=LONG_WAIT).one()._mapping)


def database(connection: Connection) -> Database:
    return Database(**execute(connection, "overview/database").one()._mapping)


def wal_bytes(connection: Connection) -> int:
    """How many bytes the WAL has; call it only if `Database.may_list_wal`."""
    return int(execute(connection, "overview/wal_bytes").scalar_one())


def waiting(connection: Connection) -> Lateness:
    """The lateness of waiting reminders that are overdue."""
    return _lateness(connection, "waits")


def sent(connection: Connection) -> Lateness:
    """The lateness of reminders sent in the last hour."""
    return _lateness(connection, "sent")


def _lateness(connection: Connection, what: str) -> Lateness:
    """By the query of `snoozer support wait`."""
    found = support.read(connection, "wait", most=MAX_MEASURED, only=what)
    [row] = [one for one in found if one.what == what]
    return Lateness(
        rows=row.reminders,
        people=row.people,
        within_10_s=row.within_10_s,
        within_60_s=row.within_60_s,
        within_30_min=row.within_30_min,
        later=row.more,
        p50=row.p50,
        p99=row.p99,
        longest=row.max,
    )


def attempts(connection: Connection) -> Attempts:
    """By the query of `snoozer support attempts`."""
    made = support.read(connection, "attempts").one()._mapping
    return Attempts(**made, **execute(connection, "overview/replies", just_now=SLOW).one()._mapping)


def new_cases(connection: Connection) -> int:
    """How many became cases lately, at most `MAX_COUNTED` + 1."""
    return int(execute(connection, "overview/new_cases", lately=LATELY, most=MAX_COUNTED + 1).scalar_one())
