from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from snoozer.runtime import backoff

MINUTE = timedelta(minutes=1)


@given(attempts=st.integers(-5, 2**40), seconds=st.floats(0.01, 86_400), seed=st.integers())
def test_no_number_of_failures_is_too_large(attempts: int, seconds: float, seed: int) -> None:
    first = timedelta(seconds=seconds)
    wait = backoff.delay(attempts, first=first, rng=Random(seed))
    assert first / 2 <= wait + timedelta(microseconds=1)
    assert wait <= max(backoff.MAX_DELAY, first)


def test_each_failure_waits_about_twice_as_long() -> None:
    waits = [backoff.delay(attempts, first=MINUTE, rng=Random(0)) for attempts in (1, 2, 3, 4)]
    assert [round(wait / waits[0], 3) for wait in waits] == [1, 2, 4, 8]


def test_rows_that_failed_together_do_not_come_back_together() -> None:
    rng = Random(0)
    assert len({backoff.delay(3, first=MINUTE, rng=rng) for _ in range(50)}) == 50
