"""Exponential backoff: how long to wait before the next try. Every loop that retries uses this module.

The loops share only the arithmetic. (docs/decisions/0046)
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TypeVar

Wait = TypeVar("Wait", float, timedelta)

MAX_DELAY = timedelta(hours=2)
MAX_DOUBLINGS = 16


def exponential(failures: int, *, first: Wait, cap: Wait) -> Wait:
    """The wait after failure number `failures` (1, 2, …): `first`, doubled each time, at most `cap`.

    A `first` above `cap` stays as it is. No number of failures is too large.
    """
    doublings = min(max(failures, 1) - 1, MAX_DOUBLINGS)
    return min(first * (1 << doublings), max(cap, first))


def delay(attempts: int, *, first: timedelta, rng: Random) -> timedelta:
    """The wait before a row is tried again after `attempts` failures: half to all of the exponential wait, two hours at
    most.

    The jitter keeps rows that failed together from coming back together.
    """
    return exponential(attempts, first=first, cap=MAX_DELAY) * (0.5 + rng.random() / 2)


@dataclass
class Backoff:
    """The waits of one retry loop, in seconds.

    With `rng`, each wait is scattered between half and one and a half times its length. The waits start over if the
    work succeeded for longer than `healthy_after` seconds before it failed.
    """

    first: float
    cap: float
    rng: Random | None = None
    healthy_after: float = float("inf")
    failures: int = field(default=0, init=False)

    def next_wait(self, *, worked_for: float = 0.0) -> float:
        """The wait after one more failure of something that worked for `worked_for` seconds."""
        self.failures = 1 if worked_for > self.healthy_after else self.failures + 1
        wait = exponential(self.failures, first=self.first, cap=self.cap)
        return wait * (0.5 + self.rng.random()) if self.rng is not None else wait

    def reset(self) -> None:
        """Start over at `first`."""
        self.failures = 0


class Pauses:
    """When each of several things that failed may be tried again; `clock` returns seconds."""

    def __init__(self, *, first: float, cap: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first, self._cap, self._clock = first, cap, clock
        self._paused: dict[Hashable, tuple[Backoff, float]] = {}

    def is_over(self, key: Hashable) -> bool:
        return key not in self._paused or self._paused[key][1] <= self._clock()

    def failed(self, key: Hashable) -> float:
        """Pause longer than the time before; returns the seconds."""
        backoff, _ = self._paused.get(key) or (Backoff(first=self._first, cap=self._cap), 0.0)
        wait = backoff.next_wait()
        self._paused[key] = backoff, self._clock() + wait
        return wait

    def succeeded(self, key: Hashable) -> bool:
        """Pause no more; returns whether it had failed before."""
        return self._paused.pop(key, None) is not None
