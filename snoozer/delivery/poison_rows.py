"""When a worker delivers poison rows: rows that lost more than one worker are delivered alone."""

from dataclasses import dataclass

from snoozer.runtime.backoff import exponential

# In seconds: between checks for one, how long other rows wait for poison rows at a stretch, and until a
# locked one is checked again.
CHECK_INTERVAL = 1.0
EXCLUSIVE_SECONDS = 5.0
RETRY_INTERVAL = 30.0
# If deliveries are always in flight, others wait longer each time, and then deliver WAIT_SPACING times as long.
MAX_WAIT, WAIT_SPACING = 60.0, 6


@dataclass
class PoisonRowTurns:
    """Decides when a worker may pause all other deliveries to deliver a poison row alone. Poison rows go first; after
    some seconds in a row, others get as long as they waited. Times are monotonic seconds."""

    _check_at: float = float("-inf")
    _others_waited: float = 0.0
    _others_first: bool = False
    _never_idle: int = 0

    @property
    def max_wait(self) -> float:
        """Seconds to wait for the deliveries in flight to end before a poison row."""
        return exponential(self._never_idle + 1, first=EXCLUSIVE_SECONDS, cap=MAX_WAIT)

    def should_check(self, now: float, *, busy: bool) -> bool:
        """Is it time to look for a poison row? With nothing in flight, looking delays no other row."""
        if now < self._check_at and (busy or self._others_first):
            return False
        self._check_at, self._others_first = now + CHECK_INTERVAL, False
        return True

    def none_due(self) -> None:
        """Record that no poison row is due."""
        self._others_waited, self._never_idle = 0.0, 0

    def was_locked(self, now: float) -> None:
        """Record that a poison row is due and cannot be claimed."""
        self._check_at, self._others_waited = now + RETRY_INTERVAL, 0.0

    def was_never_idle(self, now: float) -> None:
        """Record that a poison row is due, and other deliveries were in flight for all of `max_wait`."""
        self._check_at, self._others_waited = now + WAIT_SPACING * self.max_wait, 0.0
        self._never_idle += 1

    def was_delivered(self, now: float, *, seconds: float) -> None:
        """Record that others waited `seconds` for this poison row."""
        self._others_waited, self._never_idle = self._others_waited + seconds, 0
        if self._others_waited >= EXCLUSIVE_SECONDS:
            self._check_at, self._others_first = now + self._others_waited, True
            self._others_waited = 0.0

    def no_other_rows(self) -> None:
        """Record that the others had their turn, and none was due."""
        self._others_first = False
