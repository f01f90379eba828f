"""Client-side timeouts for every wait for the database, also for a server that hangs with its connections open.

After a timeout it is unknown whether the statement was executed, is running, or will run once the server continues. The
connection is closed and never used again.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import Dialect
from sqlalchemy.pool import ConnectionPoolEntry

T = TypeVar("T")

# How often a wait checks whether it timed out.
POLL_INTERVAL = 0.1
# libpq accepts no less.
MIN_CONNECT_TIMEOUT = 2
# When a wait ends, by when it began (both monotonic).
_end_of: ContextVar[Callable[[float], float] | None] = ContextVar("end_of", default=None)


class QueryTimeout(psycopg.OperationalError):
    """The server sent no reply in time."""

    def __init__(self) -> None:
        super().__init__("it gave no answer in time")


class TimeoutConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when a reply takes longer than `read_timeout()` seconds, called during the wait.

    psycopg has no client-side timeout for a query. As of psycopg 3.3 every query of a synchronous connection goes
    through `Connection.wait`, which is public but not meant for subclasses: tests/db/test_hanging.py fails when a
    version removes it or changes its parameters.
    """

    read_timeout: Callable[[], float]

    def wait(self, gen: PQGen[T], interval: float = POLL_INTERVAL, timeout: float | None = None) -> T:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(self._until_timeout(gen), interval)
        except QueryTimeout:
            self.close()
            raise

    def _until_timeout(self, gen: PQGen[T]) -> PQGen[T]:
        began, end_of = time.monotonic(), _end_of.get()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > (end_of(began) if end_of else began + self.read_timeout()):
                    raise QueryTimeout
                wanted = gen.send(ready)
        except StopIteration as done:
            reply: T = done.value
            return reply


def open_connection(
    dialect: Dialect,
    entry: ConnectionPoolEntry,
    cargs: list[Any],
    cparams: dict[str, Any],
    *,
    within: int,
    read_timeout: Callable[[], float],
) -> TimeoutConnection:
    """Open a connection for an engine's pool within so many seconds, or fewer under a `deadline`."""
    seconds = max(int(remaining(within)), MIN_CONNECT_TIMEOUT)
    connection = TimeoutConnection.connect(*cargs, **cparams | {"connect_timeout": seconds})
    connection.read_timeout = read_timeout
    return connection


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything inside, opening connections included, ends within so many seconds or raises QueryTimeout."""
    ends = time.monotonic() + seconds
    yield from _ending(lambda began: ends)


@contextmanager
def per_query_timeout(seconds: float) -> Iterator[None]:
    """Each query inside may take so many seconds, whatever the connection's read timeout."""
    yield from _ending(lambda began: began + seconds)


def remaining(limit: float) -> float:
    """Seconds until the deadline in force, at most `limit`; `limit` where none is set."""
    end_of, now = _end_of.get(), time.monotonic()
    return limit if end_of is None else min(limit, end_of(now) - now)


def _ending(end_of: Callable[[float], float]) -> Generator[None, None, None]:
    token = _end_of.set(end_of)
    try:
        yield
    finally:
        _end_of.reset(token)
