"""Statistics of each minute, kept for a month: one function per statement in `sql/operators/minutes`, of the same name.

The last day is kept by the minute, earlier days by the hour, in the database's time. A missing minute was not recorded
yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.statements import execute, rows_as

MAX_DUE = 100_000
MAX_HOURS = 48


@dataclass(frozen=True, kw_only=True)
class Span:
    """The statistics from `starts_at` on: reminders sent, failed attempts that are made again (`retried`), reminders
    that became cases (`failed`), and how many seconds after their promises half of the sent ones (`p50`) and all but
    one in a hundred (`p99`) were sent. `recorded` is the number of its minutes that are recorded."""

    starts_at: datetime
    recorded: int
    sent: int
    retried: int
    failed: int
    p50: float | None
    p99: float | None


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """How much was due at the end of the latest minute, and some minutes before, at most `MAX_DUE`; None if no clock
    ran then."""

    latest: int | None
    before: int | None


def record(connection: Connection, *, again: timedelta) -> list[datetime]:
    """Record the minutes that ended since the last record, and record the last `again` a second time.

    Returns the minutes that changed.
    """
    values = {"again": again, "most_due": MAX_DUE, "known_schema": SUPPORTED_SCHEMA}
    return list(execute(connection, "minutes/record", **values).scalars())


def roll(connection: Connection) -> list[datetime]:
    """Record hours in place of minutes that are older than a day, at most `MAX_HOURS` of them; returns the hours."""
    return list(execute(connection, "minutes/roll", most=MAX_HOURS).scalars())


def read(connection: Connection, *, last: timedelta, step: timedelta) -> Sequence[Span]:
    """The `last` span of time in steps, each with what is recorded of it, the earliest first."""
    return rows_as(execute(connection, "minutes/read", last=last, step=step), Span)


def backlog(connection: Connection, *, ago: timedelta) -> Backlog:
    """How much is due now, and how much was due `ago`."""
    return Backlog(**execute(connection, "minutes/backlog", ago=ago).one()._mapping)
