"""One deadline after another, with a timer that is seldom set.

Most waits end long before their deadline, and the next deadline lies later. So the timer of a wait that is over runs
on, and when it ends it looks what is waited for by then.
"""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """What an event loop calls a timer handle."""

    def when(self) -> float: ...

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What an alarm needs of an event loop."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None], /) -> Timer: ...


class DeadlineTimer:
    """Calls `ring` once when the time that was `set` last has come. For one event loop and one wait at a time."""

    def __init__(self, clock: Clock, *, on_expired: Callable[[], None]) -> None:
        self._clock = clock
        self._on_expired = on_expired
        self._until: float | None = None
        self._timer: Timer | None = None

    def set(self, until: float) -> None:
        """Ring at this point on the clock, and not at the one that was set before."""
        self._until = until
        if self._timer is None or self._timer.when() > until:
            self._start(until)

    def unset(self) -> None:
        """What was waited for has come."""
        self._until = None

    def end(self) -> None:
        """Nothing will be waited for any more."""
        self.unset()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(until, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._until is None:
            return
        if self._clock.time() < self._until:
            self._start(self._until)
        else:
            self._until = None
            self._on_expired()
