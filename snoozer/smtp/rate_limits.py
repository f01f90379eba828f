"""What one mail server has taught us by its refusals: how many connections it bears, how many mails on one, how fast.

A server that is polite says 421, or 4xx with 4.7.x, when we ask too much. Then we ask less, and a little more again
after each minute in which it did not complain. Greylisting says 4.7.x of one recipient, so RCPT teaches nothing.
"""

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

MAX_MESSAGES = 100
MAX_CONNECTIONS = 1_000
MIN_INTERVAL, MAX_INTERVAL = 0.02, 10.0
RELAX_AFTER_SECONDS = 60.0
ROUND_SECONDS = 1.0


@dataclass
class RateLimits:
    """Limits for one server. `now` is monotonic seconds; `gap` is the least time between two mails, 0 for none."""

    connections: int = MAX_CONNECTIONS
    messages: int = MAX_MESSAGES
    interval: float = 0.0
    _slowed_at: float = float("-inf")
    _limited_at: float = float("-inf")
    _next: float = float("-inf")

    def too_many_connections(self, standing: int, *, now: float) -> None:
        """It turned one away while so many stood."""
        self.connections = max(1, min(self.connections, standing))
        self._record(now)
        log.info("the mail server bears %d connections of ours at once", self.connections)

    def too_many_messages(self, carried: int, *, now: float) -> None:
        """It took no further mail on a connection that had carried so many."""
        self.messages = max(1, min(self.messages, carried))
        self._record(now)
        log.info("the mail server takes %d mails on one connection", self.messages)

    def too_fast(self, *, now: float) -> None:
        """It asked for patience. What it says to many mails at once it says once."""
        if now - self._slowed_at < max(self.interval, ROUND_SECONDS):
            return
        self._slowed_at = now
        self.interval = min(max(2 * self.interval, MIN_INTERVAL), MAX_INTERVAL)
        self._record(now)
        log.info("the mail server asks for patience: one mail every %g s", self.interval)

    def reserve_slot(self, *, now: float, most: float) -> float | None:
        """So many seconds the next mail waits, and its turn is taken with that; None when it were more than `most`."""
        self._relax(now)
        at = max(self._next + self.interval, now)
        if at - now > most:
            return None
        self._next = at
        return at - now

    def _record(self, now: float) -> None:
        self._limited_at = now

    def _relax(self, now: float) -> None:
        """After a quiet minute one connection more, twice the mails on one, half the gap."""
        if now - self._limited_at < RELAX_AFTER_SECONDS:
            return
        self._limited_at = now
        self.connections = min(self.connections + 1, MAX_CONNECTIONS)
        self.messages = min(2 * self.messages, MAX_MESSAGES)
        self.interval = self.interval / 2 if self.interval > MIN_INTERVAL else 0.0
