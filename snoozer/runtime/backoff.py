"""How long to wait after a failure: twice as long each time, scattered, never absurd."""

from datetime import timedelta
from random import Random

MAX_DELAY = timedelta(hours=2)
_MOST_DOUBLINGS = 16


def delay(attempts: int, *, first: timedelta, rng: Random) -> timedelta:
    """The wait after failure number `attempts` (1, 2, …): half to all of `first` doubled each time, two hours at most.

    The scatter keeps rows that failed together from coming back together. No count is too large.
    """
    doublings = min(max(attempts, 1) - 1, _MOST_DOUBLINGS)
    whole: timedelta = min(first * (1 << doublings), max(MAX_DELAY, first))
    return whole * (0.5 + rng.random() / 2)
