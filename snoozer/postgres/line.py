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
LOOK_SECONDS = 0.1
# The library takes no less.
LEAST_CONNECT_SECONDS = 2
# From when a wait began (monotonic), when it ends.
_ends: ContextVar[Callable[[float], float] | None] = ContextVar("ends", default=None)


class NoAnswer(psycopg.OperationalError):
    """It gave no answer in time."""

    def __init__(self) -> None:
        super().__init__("it gave no answer in time")


class Line(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up when an answer takes longer than `patience()` seconds, asked anew all the time."""

    patience: Callable[[], float]

    def wait(self, gen: PQGen[T], interval: float = LOOK_SECONDS, timeout: float | None = None) -> T:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(self._with_an_end(gen), interval)
        except NoAnswer:
            self.close()
            raise

    def _with_an_end(self, gen: PQGen[T]) -> PQGen[T]:
        began, ends = time.monotonic(), _ends.get()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > (ends(began) if ends else began + self.patience()):
                    raise NoAnswer
                wanted = gen.send(ready)
        except StopIteration as done:
            answer: T = done.value
            return answer


def open_line(
    dialect: Dialect,
    entry: ConnectionPoolEntry,
    cargs: list[Any],
    cparams: dict[str, Any],
    *,
    within: int,
    patience: Callable[[], float],
) -> Line:
    """A new line for an engine's pool, opened within so many seconds, or fewer where an end is set."""
    seconds = max(int(seconds_left(within)), LEAST_CONNECT_SECONDS)
    line = Line.connect(*cargs, **cparams | {"connect_timeout": seconds})
    line.patience = patience
    return line


@contextmanager
def all_within(seconds: float) -> Iterator[None]:
    """What is asked in here, connections that are opened included, is answered within so many seconds or given up."""
    ends = time.monotonic() + seconds
    yield from _until(lambda began: ends)


@contextmanager
def each_within(seconds: float) -> Iterator[None]:
    """Each answer in here may take so long, whatever the line's own patience."""
    yield from _until(lambda began: began + seconds)


def seconds_left(most: float) -> float:
    """How long something may take now; `most` where nobody set an end."""
    ends, now = _ends.get(), time.monotonic()
    return most if ends is None else min(most, ends(now) - now)


def _until(ends: Callable[[float], float]) -> Generator[None, None, None]:
    token = _ends.set(ends)
    try:
        yield
    finally:
        _ends.reset(token)
