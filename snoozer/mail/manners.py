"""What one mail server has taught us by its refusals: how many connections it bears, how many mails on one, how fast.

A server that is polite says 421, or 4xx with 4.7.x, when we ask too much. Then we ask less, and a little more again
after each minute in which it did not complain. Greylisting says 4.7.x of one recipient, so RCPT teaches nothing.
"""

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

MOST_MESSAGES = 100
MOST_CONNECTIONS = 1_000
SHORTEST_GAP, LONGEST_GAP = 0.02, 10.0
QUIET_SECONDS = 60.0
ROUND_SECONDS = 1.0


@dataclass
class Manners:
    """Limits for one server. `now` is monotonic seconds; `gap` is the least time between two mails, 0 for none."""

    connections: int = MOST_CONNECTIONS
    messages: int = MOST_MESSAGES
    gap: float = 0.0
    _hurried: float = float("-inf")
    _complained: float = float("-inf")
    _next: float = float("-inf")

    def too_many_connections(self, standing: int, *, now: float) -> None:
        """It turned one away while so many stood."""
        self.connections = max(1, min(self.connections, standing))
        self._note(now)
        log.info("the mail server bears %d connections of ours at once", self.connections)

    def too_many_messages(self, carried: int, *, now: float) -> None:
        """It took no further mail on a connection that had carried so many."""
        self.messages = max(1, min(self.messages, carried))
        self._note(now)
        log.info("the mail server takes %d mails on one connection", self.messages)

    def too_fast(self, *, now: float) -> None:
        """It asked for patience. What it says to many mails at once it says once."""
        if now - self._hurried < max(self.gap, ROUND_SECONDS):
            return
        self._hurried = now
        self.gap = min(max(2 * self.gap, SHORTEST_GAP), LONGEST_GAP)
        self._note(now)
        log.info("the mail server asks for patience: one mail every %g s", self.gap)

    def turn(self, *, now: float, most: float) -> float | None:
        """So many seconds the next mail waits, and its turn is taken with that; None when it were more than `most`."""
        self._trust_again(now)
        at = max(self._next + self.gap, now)
        if at - now > most:
            return None
        self._next = at
        return at - now

    def _note(self, now: float) -> None:
        self._complained = now

    def _trust_again(self, now: float) -> None:
        """After a quiet minute one connection more, twice the mails on one, half the gap."""
        if now - self._complained < QUIET_SECONDS:
            return
        self._complained = now
        self.connections = min(self.connections + 1, MOST_CONNECTIONS)
        self.messages = min(2 * self.messages, MOST_MESSAGES)
        self.gap = self.gap / 2 if self.gap > SHORTEST_GAP else 0.0
