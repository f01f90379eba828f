"""Suspects go first and alone, but they never keep all others waiting for long."""

from snoozer.worker.alone import ALONE_SECONDS, MOST_PATIENCE, SPACED, SUSPECT_PAUSE, SUSPECT_SECONDS, Alone


def test_it_is_asked_once_a_second_while_there_is_work_and_at_any_time_without() -> None:
    alone = Alone()
    assert alone.may_be_next(100.0, busy=True)
    alone.none_waits()
    assert not alone.may_be_next(100.0 + SUSPECT_SECONDS / 2, busy=True)
    assert alone.may_be_next(100.0 + SUSPECT_SECONDS / 2, busy=False)
    assert alone.may_be_next(100.0 + 2 * SUSPECT_SECONDS, busy=True)


def test_after_some_seconds_of_suspects_others_get_as_long() -> None:
    alone, now, kept_waiting = Alone(), 100.0, 0.0
    while alone.may_be_next(now, busy=False):
        now, kept_waiting = now + 0.7, kept_waiting + 0.7
        alone.was_delivered(now, seconds=0.7)
    assert ALONE_SECONDS <= kept_waiting < ALONE_SECONDS + 0.7
    assert not alone.may_be_next(now + kept_waiting - 0.1, busy=False)
    assert alone.may_be_next(now + kept_waiting, busy=True)


def test_suspects_go_on_when_nobody_else_waits() -> None:
    alone = Alone()
    assert alone.may_be_next(100.0, busy=False)
    alone.was_delivered(110.0, seconds=10.0)
    assert not alone.may_be_next(110.0, busy=False)
    alone.nobody_else_waits()
    assert alone.may_be_next(110.0, busy=False)


def test_one_that_was_not_to_be_had_is_let_be_while_there_is_work() -> None:
    alone = Alone()
    assert alone.may_be_next(100.0, busy=True)
    alone.was_not_to_be_had(101.0)
    assert not alone.may_be_next(101.0 + SUSPECT_PAUSE - 1, busy=True)
    assert alone.may_be_next(101.0 + SUSPECT_PAUSE, busy=True)


def test_where_something_is_always_in_hand_patience_grows_and_others_have_their_time_in_between() -> None:
    alone, now, waited = Alone(), 100.0, []
    for _ in range(6):
        assert alone.may_be_next(now, busy=True)
        waited.append(alone.patience)
        now += alone.patience
        alone.was_never_alone(now)
        assert not alone.may_be_next(now + SPACED * waited[-1] - 1, busy=True)
        now += SPACED * waited[-1]
    assert waited == [ALONE_SECONDS, 10.0, 20.0, 40.0, MOST_PATIENCE, MOST_PATIENCE]
    assert alone.may_be_next(now, busy=True)
    alone.was_delivered(now + 1, seconds=1.0)
    assert alone.patience == ALONE_SECONDS
