"""An end to every wait for the database: a server that hangs with its connections open is as good as one that is away.

Whoever gave up does not know whether the statement was done, is being done, or will be once the server wakes. The
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

# How often a wait looks whether its end has come.
POLL_INTERVAL = 0.1
# The library takes no less.
MIN_CONNECT_TIMEOUT = 2
# From when a wait began (monotonic), when it ends.
_ends: ContextVar[Callable[[float], float] | None] = ContextVar("ends", default=None)


class QueryTimeout(psycopg.OperationalError):
    """It gave no answer in time."""

    def __init__(self) -> None:
        super().__init__("it gave no answer in time")


class TimeoutConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up when an answer takes longer than `patience()` seconds, asked anew all the time."""

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
        began, ends = time.monotonic(), _ends.get()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > (ends(began) if ends else began + self.read_timeout()):
                    raise QueryTimeout
                wanted = gen.send(ready)
        except StopIteration as done:
            answer: T = done.value
            return answer


def open_connection(
    dialect: Dialect,
    entry: ConnectionPoolEntry,
    cargs: list[Any],
    cparams: dict[str, Any],
    *,
    within: int,
    read_timeout: Callable[[], float],
) -> TimeoutConnection:
    """A new line for an engine's pool, opened within so many seconds, or fewer where an end is set."""
    seconds = max(int(remaining(within)), MIN_CONNECT_TIMEOUT)
    line = TimeoutConnection.connect(*cargs, **cparams | {"connect_timeout": seconds})
    line.read_timeout = read_timeout
    return line


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """What is asked in here, connections that are opened included, is answered within so many seconds or given up."""
    ends = time.monotonic() + seconds
    yield from _until(lambda began: ends)


@contextmanager
def per_query_timeout(seconds: float) -> Iterator[None]:
    """Each answer in here may take so long, whatever the line's own patience."""
    yield from _until(lambda began: began + seconds)


def remaining(most: float) -> float:
    """How long something may take now; `most` where nobody set an end."""
    ends, now = _ends.get(), time.monotonic()
    return most if ends is None else min(most, ends(now) - now)


def _until(ends: Callable[[float], float]) -> Generator[None, None, None]:
    token = _ends.set(ends)
    try:
        yield
    finally:
        _ends.reset(token)
