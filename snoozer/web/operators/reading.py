"""The figures of the operator's overview, each read within its own time limit, so that the page works whatever the
database does. A process reads them once for all concurrent viewers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Generic, TypeGuard, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError

from snoozer.db import health_checks, minutes, overview
from snoozer.db.engine import limit_transaction, per_query_timeout
from snoozer.db.errors import is_transient, is_unavailable
from snoozer.db.health_checks import MailboxHealth
from snoozer.db.minutes import Backlog, Span
from snoozer.db.overview import Attempts, Clock, Database, Held, Lateness, Locks, Worker
from snoozer.db.queries import Found, metrics, pauses
from snoozer.db.queries.metrics import QueueMetrics
from snoozer.db.statements import database_time

T = TypeVar("T")

# Timeouts: per figure and in total, with a minimum for each. Figures that take longer are left out.
EACH_SECONDS, ALL_SECONDS, LEAST_SECONDS = 1.0, 2.5, 0.25
# The largest age of figures that several viewers share.
SHARED_SECONDS = 3.0
BACKLOG_BEFORE = timedelta(minutes=5)
# Figures that change once a minute are not read at every refresh.
RARELY = {"history": timedelta(seconds=10)}

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CHARTS = {
    "hour": (HOUR, timedelta(minutes=1)),
    "day": (DAY, timedelta(minutes=15)),
    "month": (30 * DAY, timedelta(hours=6)),
}


@dataclass(frozen=True)
class Figure(Generic[T]):
    """A figure read at `at`. If not `in_time`, this reading timed out, and the value is the last known one."""

    value: T | None
    at: datetime | None
    in_time: bool


@dataclass(frozen=True, kw_only=True)
class Reading:
    """All figures, read at `at` by the database's clock. `number` increases with each reading of a process.
    `answers_since` is the end of the last outage of the database that this process saw."""

    at: datetime
    number: int
    answers_since: datetime | None = None
    locks: Figure[Locks]
    breakers: Figure[Sequence[Found]]
    pauses: Figure[Sequence[Found]]
    clock: Figure[Clock]
    workers: Figure[list[Worker]]
    database: Figure[Database]
    wal: Figure[int]
    history: Figure[dict[str, Sequence[Span]]]
    backlog: Figure[Backlog]
    queue: Figure[QueueMetrics]
    held: Figure[dict[str, Held]]
    waiting: Figure[Lateness]
    sent: Figure[Lateness]
    attempts: Figure[Attempts]
    uncertain: Figure[Sequence[Found]]
    new_cases: Figure[int]
    mailboxes: Figure[MailboxHealth]
    addresses: Figure[int]

    @property
    def missing(self) -> list[str]:
        """The names of the figures that were not read in time."""
        return [name for name in FIGURES if not getattr(self, name).in_time]


FIGURES = [field.name for field in fields(Reading) if field.name not in {"at", "number", "answers_since"}]


class Figures:
    """Reads the figures. Thread-safe: callers during a reading wait, and get the same result."""

    def __init__(self, engine: Engine, *, dead_after: timedelta) -> None:
        self._engine = engine
        self._lock = Lock()
        self._last: Reading | None = None
        self._read_at = float("-inf")
        self._was_away = False
        self._answers_since: datetime | None = None
        # Ordered so that the figures needed to detect troubles come first.
        self._queries: dict[str, Callable[[Connection], Any]] = {
            "locks": overview.locks,
            "breakers": metrics.breakers,
            "pauses": lambda connection: pauses.active(connection, kinds=pauses.BROAD),
            "clock": overview.clock,
            "workers": lambda connection: overview.workers(
                connection, dead_after=dead_after, answers_since=self._answers_since
            ),
            "database": self._database,
            "wal": self._wal,
            "history": _history,
            "backlog": lambda connection: minutes.backlog(connection, ago=BACKLOG_BEFORE),
            "queue": lambda connection: metrics.read(connection, dead_after=dead_after),
            "held": overview.held,
            "waiting": overview.waiting,
            "sent": overview.sent,
            "attempts": overview.attempts,
            "uncertain": metrics.uncertain,
            "new_cases": overview.new_cases,
            "mailboxes": health_checks.mailboxes,
            "addresses": pauses.count_invalid,
        }
        self._may_list_wal = False
        # Requests notice an outage before the figures are read.
        event.listen(engine, "handle_error", self._note_error)

    def read(self, *, max_age: float = 0.0) -> Reading:
        """All figures, not older than `max_age` seconds. Raises SQLAlchemyError if the database is away."""
        asked_at = time.monotonic()
        with self._lock:
            # A reading that began after this call is fresh for every caller that waited for it.
            if self._last is None or self._read_at < asked_at - max_age:
                began = time.monotonic()
                self._last, self._read_at = self._read(self._last, watches=max_age > 0), began
            return self._last

    def forget(self) -> None:
        """Expires the last reading, after an act."""
        with self._lock:
            self._read_at = float("-inf")

    def _read(self, last: Reading | None, *, watches: bool) -> Reading:
        with self._engine.connect() as connection:
            began = time.monotonic()
            with per_query_timeout(EACH_SECONDS), connection.begin():
                at = database_time(connection)
            if self._was_away:
                self._was_away, self._answers_since = False, at
            ends = began + ALL_SECONDS
            found: dict[str, Figure[Any]] = {}
            for name, query in self._queries.items():
                known: Figure[Any] | None = getattr(last, name) if last else None
                if watches and _is_recent(known, at=at, within=RARELY.get(name)):
                    found[name] = known
                    continue
                seconds = max(min(EACH_SECONDS, ends - time.monotonic()), LEAST_SECONDS)
                read_at = at + timedelta(seconds=time.monotonic() - began)
                found[name] = (
                    Figure(known.value, known.at, in_time=False) if known else Figure(None, None, in_time=False)
                )
                if connection.invalidated:
                    continue
                try:
                    with per_query_timeout(2 * seconds), connection.begin():
                        limit_transaction(connection, seconds=seconds)
                        found[name] = Figure(query(connection), read_at, in_time=True)
                except DBAPIError as error:
                    if not is_transient(error):
                        raise
        number = time.time_ns() // 1_000_000
        return Reading(at=at, number=number, answers_since=self._answers_since, **found)

    def _note_error(self, context: ExceptionContext) -> None:
        error = context.sqlalchemy_exception
        self._was_away = self._was_away or (error is not None and is_unavailable(error))

    def _database(self, connection: Connection) -> Database:
        found = overview.database(connection)
        self._may_list_wal = found.may_list_wal
        return found

    def _wal(self, connection: Connection) -> int | None:
        """None if the database role may not list WAL files."""
        return overview.wal_bytes(connection) if self._may_list_wal else None


def _is_recent(figure: Figure[Any] | None, *, at: datetime, within: timedelta | None) -> TypeGuard[Figure[Any]]:
    return (
        figure is not None
        and within is not None
        and figure.in_time
        and figure.at is not None
        and at - figure.at < within
    )


def _history(connection: Connection) -> dict[str, Sequence[Span]]:
    return {name: minutes.read(connection, last=last, step=step) for name, (last, step) in CHARTS.items()}
