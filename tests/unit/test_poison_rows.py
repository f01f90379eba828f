"""Poison rows go first and alone, but they never keep all others waiting for long."""

from snoozer.delivery.poison_rows import (
    CHECK_INTERVAL,
    EXCLUSIVE_SECONDS,
    MAX_WAIT,
    RETRY_INTERVAL,
    WAIT_SPACING,
    PoisonRowTurns,
)


def test_poison_rows_are_looked_for_once_a_second_while_busy_and_at_any_time_while_idle() -> None:
    turns = PoisonRowTurns()
    assert turns.should_check(100.0, busy=True)
    turns.none_due()
    assert not turns.should_check(100.0 + CHECK_INTERVAL / 2, busy=True)
    assert turns.should_check(100.0 + CHECK_INTERVAL / 2, busy=False)
    assert turns.should_check(100.0 + 2 * CHECK_INTERVAL, busy=True)


def test_after_some_seconds_of_poison_rows_others_get_as_long() -> None:
    turns, now, kept_waiting = PoisonRowTurns(), 100.0, 0.0
    while turns.should_check(now, busy=False):
        now, kept_waiting = now + 0.7, kept_waiting + 0.7
        turns.was_delivered(now, seconds=0.7)
    assert EXCLUSIVE_SECONDS <= kept_waiting < EXCLUSIVE_SECONDS + 0.7
    assert not turns.should_check(now + kept_waiting - 0.1, busy=False)
    assert turns.should_check(now + kept_waiting, busy=True)


def test_poison_rows_go_on_when_no_other_row_is_due() -> None:
    turns = PoisonRowTurns()
    assert turns.should_check(100.0, busy=False)
    turns.was_delivered(110.0, seconds=10.0)
    assert not turns.should_check(110.0, busy=False)
    turns.no_other_rows()
    assert turns.should_check(110.0, busy=False)


def test_one_that_was_locked_is_left_alone_while_busy() -> None:
    turns = PoisonRowTurns()
    assert turns.should_check(100.0, busy=True)
    turns.was_locked(101.0)
    assert not turns.should_check(101.0 + RETRY_INTERVAL - 1, busy=True)
    assert turns.should_check(101.0 + RETRY_INTERVAL, busy=True)


def test_where_something_is_always_in_flight_the_wait_grows_and_others_run_in_between() -> None:
    turns, now, waited = PoisonRowTurns(), 100.0, []
    for _ in range(6):
        assert turns.should_check(now, busy=True)
        waited.append(turns.max_wait)
        now += turns.max_wait
        turns.was_never_idle(now)
        assert not turns.should_check(now + WAIT_SPACING * waited[-1] - 1, busy=True)
        now += WAIT_SPACING * waited[-1]
    assert waited == [EXCLUSIVE_SECONDS, 10.0, 20.0, 40.0, MAX_WAIT, MAX_WAIT]
    assert turns.should_check(now, busy=True)
    turns.was_delivered(now + 1, seconds=1.0)
    assert turns.max_wait == EXCLUSIVE_SECONDS
