"""Deadlines that follow each other, on a clock that stands until it is told to go on."""

from collections.abc import Callable

import pytest

from snoozer.smtp.deadline_timer import DeadlineTimer


class Timer:
    """One that nobody runs."""

    def __init__(self, when: float) -> None:
        self._at = when
        self._is_cancelled = False

    def when(self) -> float:
        return self._at

    def cancel(self) -> None:
        self._is_cancelled = True

    def cancelled(self) -> bool:
        return self._is_cancelled


class Clock:
    """The part of an event loop that an alarm uses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []
        self._does: dict[Timer, Callable[[], None]] = {}

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None], /) -> Timer:
        timer = Timer(when)
        self.timers.append(timer)
        self._does[timer] = callback
        return timer

    def pass_to(self, end: float) -> None:
        """Let time pass, and do what is due on the way."""
        while due := [timer for timer in self._does if timer.when() <= end and not timer.cancelled()]:
            timer = min(due, key=Timer.when)
            self.now = max(self.now, timer.when())
            self._does.pop(timer)()
        self.now = end


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rung(clock: Clock) -> list[float]:
    return []


@pytest.fixture
def alarm(clock: Clock, rung: list[float]) -> DeadlineTimer:
    return DeadlineTimer(clock, on_expired=lambda: rung.append(clock.now))


def test_it_rings_once_when_the_time_has_come(clock: Clock, alarm: DeadlineTimer, rung: list[float]) -> None:
    alarm.set(10)
    clock.pass_to(9)
    assert rung == []
    clock.pass_to(30)
    assert rung == [10]


def test_a_wait_that_is_over_rings_no_more(clock: Clock, alarm: DeadlineTimer, rung: list[float]) -> None:
    alarm.set(10)
    alarm.unset()
    clock.pass_to(30)
    assert rung == []


def test_the_timer_of_an_earlier_wait_does_not_end_a_later_one(
    clock: Clock, alarm: DeadlineTimer, rung: list[float]
) -> None:
    alarm.set(10)
    alarm.unset()
    clock.pass_to(5)
    alarm.set(15)
    clock.pass_to(12)
    assert rung == []
    clock.pass_to(30)
    assert rung == [15]


def test_a_shorter_deadline_is_kept(clock: Clock, alarm: DeadlineTimer, rung: list[float]) -> None:
    alarm.set(600)
    alarm.unset()
    alarm.set(5)
    clock.pass_to(1_000)
    assert rung == [5]


def test_it_can_be_set_again_after_it_rang(clock: Clock, alarm: DeadlineTimer, rung: list[float]) -> None:
    alarm.set(10)
    clock.pass_to(11)
    alarm.set(20)
    clock.pass_to(30)
    assert rung == [10, 20]


def test_once_ended_nothing_is_left_to_run(clock: Clock, alarm: DeadlineTimer, rung: list[float]) -> None:
    alarm.set(10)
    alarm.end()
    assert all(timer.cancelled() for timer in clock.timers)
    clock.pass_to(30)
    assert rung == []


def test_many_waits_need_one_timer(clock: Clock, alarm: DeadlineTimer) -> None:
    for start in range(100):
        clock.pass_to(start / 100)
        alarm.set(60 + start / 100)
        alarm.unset()
    assert len(clock.timers) == 1
