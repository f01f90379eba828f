"""Whose turn it is: that of suspects, rows that lost a worker before and are delivered alone, or that of all others."""

from dataclasses import dataclass

# How often it is asked for suspects while there is work, how long others are kept waiting for them, and how long one
# that could not be had is let be.
SUSPECT_SECONDS = 1.0
ALONE_SECONDS = 5.0
SUSPECT_PAUSE = 30.0
# Where some mail is always in hand, others wait longer each time, and have so many times as long in between.
MOST_PATIENCE, SPACED = 60.0, 6


@dataclass
class Alone:
    """Suspects go first, but after some seconds in a row others get as long as they were kept waiting. Times are of one
    monotonic clock."""

    _next: float = float("-inf")
    _kept_waiting: float = 0.0
    _others_first: bool = False
    patience: float = ALONE_SECONDS

    def may_be_next(self, now: float, *, busy: bool) -> bool:
        """Is it to be asked now whether a suspect waits? With nothing in hand that costs nobody anything."""
        if now < self._next and (busy or self._others_first):
            return False
        self._next, self._others_first = now + SUSPECT_SECONDS, False
        return True

    def none_waits(self) -> None:
        """There was no suspect."""
        self._kept_waiting, self.patience = 0.0, ALONE_SECONDS

    def was_not_to_be_had(self, now: float) -> None:
        """A suspect waits and cannot be claimed."""
        self._next, self._kept_waiting = now + SUSPECT_PAUSE, 0.0

    def was_never_alone(self, now: float) -> None:
        """A suspect waits, and for `patience` seconds something else was in hand all the time."""
        self._next, self._kept_waiting = now + SPACED * self.patience, 0.0
        self.patience = min(2 * self.patience, MOST_PATIENCE)

    def was_delivered(self, now: float, *, seconds: float) -> None:
        """Others were kept waiting so long for this one."""
        self._kept_waiting, self.patience = self._kept_waiting + seconds, ALONE_SECONDS
        if self._kept_waiting >= ALONE_SECONDS:
            self._next, self._others_first = now + self._kept_waiting, True
            self._kept_waiting = 0.0

    def nobody_else_waits(self) -> None:
        """Others had their turn and there were none."""
        self._others_first = False
