"""Suspects go first and alone, but they never keep all others waiting for long."""

from snoozer.delivery.poison_rows import (
    CHECK_INTERVAL,
    EXCLUSIVE_SECONDS,
    MAX_WAIT,
    RETRY_INTERVAL,
    WAIT_SPACING,
    PoisonRowTurns,
)


def test_it_is_asked_once_a_second_while_there_is_work_and_at_any_time_without() -> None:
    alone = PoisonRowTurns()
    assert alone.should_check(100.0, busy=True)
    alone.none_due()
    assert not alone.should_check(100.0 + CHECK_INTERVAL / 2, busy=True)
    assert alone.should_check(100.0 + CHECK_INTERVAL / 2, busy=False)
    assert alone.should_check(100.0 + 2 * CHECK_INTERVAL, busy=True)


def test_after_some_seconds_of_suspects_others_get_as_long() -> None:
    alone, now, kept_waiting = PoisonRowTurns(), 100.0, 0.0
    while alone.should_check(now, busy=False):
        now, kept_waiting = now + 0.7, kept_waiting + 0.7
        alone.was_delivered(now, seconds=0.7)
    assert EXCLUSIVE_SECONDS <= kept_waiting < EXCLUSIVE_SECONDS + 0.7
    assert not alone.should_check(now + kept_waiting - 0.1, busy=False)
    assert alone.should_check(now + kept_waiting, busy=True)


def test_suspects_go_on_when_nobody_else_waits() -> None:
    alone = PoisonRowTurns()
    assert alone.should_check(100.0, busy=False)
    alone.was_delivered(110.0, seconds=10.0)
    assert not alone.should_check(110.0, busy=False)
    alone.no_other_rows()
    assert alone.should_check(110.0, busy=False)


def test_one_that_was_not_to_be_had_is_let_be_while_there_is_work() -> None:
    alone = PoisonRowTurns()
    assert alone.should_check(100.0, busy=True)
    alone.was_locked(101.0)
    assert not alone.should_check(101.0 + RETRY_INTERVAL - 1, busy=True)
    assert alone.should_check(101.0 + RETRY_INTERVAL, busy=True)


def test_where_something_is_always_in_hand_patience_grows_and_others_have_their_time_in_between() -> None:
    alone, now, waited = PoisonRowTurns(), 100.0, []
    for _ in range(6):
        assert alone.should_check(now, busy=True)
        waited.append(alone.max_wait)
        now += alone.max_wait
        alone.was_never_idle(now)
        assert not alone.should_check(now + WAIT_SPACING * waited[-1] - 1, busy=True)
        now += WAIT_SPACING * waited[-1]
    assert waited == [EXCLUSIVE_SECONDS, 10.0, 20.0, 40.0, MAX_WAIT, MAX_WAIT]
    assert alone.should_check(now, busy=True)
    alone.was_delivered(now + 1, seconds=1.0)
    assert alone.max_wait == EXCLUSIVE_SECONDS
