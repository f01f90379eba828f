"""Whose turn it is: that of suspects, rows that lost a worker before and are delivered alone, or that of all others."""

from dataclasses import dataclass

# How often it is asked for suspects while there is work, how long others are kept waiting for them, and how long one
# that could not be had is let be.
CHECK_INTERVAL = 1.0
EXCLUSIVE_SECONDS = 5.0
RETRY_INTERVAL = 30.0
# Where some mail is always in hand, others wait longer each time, and have so many times as long in between.
MAX_WAIT, WAIT_SPACING = 60.0, 6


@dataclass
class PoisonRowTurns:
    """Suspects go first, but after some seconds in a row others get as long as they were kept waiting. Times are of one
    monotonic clock."""

    _next: float = float("-inf")
    _others_waited: float = 0.0
    _others_first: bool = False
    max_wait: float = EXCLUSIVE_SECONDS

    def should_check(self, now: float, *, busy: bool) -> bool:
        """Is it to be asked now whether a suspect waits? With nothing in hand that costs nobody anything."""
        if now < self._next and (busy or self._others_first):
            return False
        self._next, self._others_first = now + CHECK_INTERVAL, False
        return True

    def none_due(self) -> None:
        """There was no suspect."""
        self._others_waited, self.max_wait = 0.0, EXCLUSIVE_SECONDS

    def was_locked(self, now: float) -> None:
        """A suspect waits and cannot be claimed."""
        self._next, self._others_waited = now + RETRY_INTERVAL, 0.0

    def was_never_idle(self, now: float) -> None:
        """A suspect waits, and for `patience` seconds something else was in hand all the time."""
        self._next, self._others_waited = now + WAIT_SPACING * self.max_wait, 0.0
        self.max_wait = min(2 * self.max_wait, MAX_WAIT)

    def was_delivered(self, now: float, *, seconds: float) -> None:
        """Others were kept waiting so long for this one."""
        self._others_waited, self.max_wait = self._others_waited + seconds, EXCLUSIVE_SECONDS
        if self._others_waited >= EXCLUSIVE_SECONDS:
            self._next, self._others_first = now + self._others_waited, True
            self._others_waited = 0.0

    def no_other_rows(self) -> None:
        """Others had their turn and there were none."""
        self._others_first = False
