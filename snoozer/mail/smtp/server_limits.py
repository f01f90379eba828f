"""The limits of one mail server, learnt from its replies: connections, mails per connection, mails per
second, or none."""

import logging
import time
from dataclasses import dataclass
from threading import Lock

from snoozer.mail.smtp.errors import Rejected

log = logging.getLogger(__name__)

MAX_MESSAGES = 100
MAX_CONNECTIONS = 1_000
MIN_INTERVAL, MAX_INTERVAL = 0.02, 10.0
RELAX_AFTER_SECONDS = 60.0
ROUND_SECONDS = 1.0
# The server is at fault after this many refused recipients in a row.
REFUSED_RECIPIENTS = 5
# A reply that blames the recipient's address weighs less: this many count as one other refusal.
ADDRESS_REFUSALS = 10
# After a false alarm more refusals are tolerated for an hour, twice as many each time.
MAX_TOLERANCE = 8
TOLERANT_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class FailureReport:
    """The results since the last report: failures since the last success, whether there was a success, and whether the
    failures were refusals of too many recipients. `succeeded_at` and `failed_at` are the latest ones ever, in monotonic
    seconds."""

    failures: int
    succeeded: bool
    reason: str
    refuses_everybody: bool = False
    succeeded_at: float | None = None
    failed_at: float | None = None


class Refusals:
    """Recipients that the server refused permanently since it last accepted a message, and the weight of each refusal.

    `now` is monotonic seconds.
    """

    def __init__(self) -> None:
        self.weights: dict[str, int] = {}
        self._tolerance = 1
        self._tolerant_since = float("-inf")

    def add(self, recipient: str, *, is_about_address: bool, now: float) -> bool:
        """Count a refusal; return whether there are so many that the server is at fault."""
        if now - self._tolerant_since > TOLERANT_SECONDS:
            self._tolerance = 1
        if not self._are_too_many:
            self.weights[recipient] = 1 if is_about_address else ADDRESS_REFUSALS
        return self._are_too_many

    def clear(self, *, now: float) -> None:
        """The server accepted a message. If it was considered at fault, that was wrong, or is over."""
        if self._are_too_many:
            self._tolerance = min(2 * self._tolerance, MAX_TOLERANCE)
            self._tolerant_since = now
        self.weights.clear()

    @property
    def _are_too_many(self) -> bool:
        return sum(self.weights.values()) >= REFUSED_RECIPIENTS * ADDRESS_REFUSALS * self._tolerance


class ServerLimits:
    """Adapts to the server's refusals, and stops connecting after `threshold` failures in a row.

    A server throttles with 4.7.x (RFC 3463), or a bare 421 while connecting: that limit becomes lower, and is relaxed a
    little after each minute without another. Greylisting uses 4.7.x for one recipient, so RCPT does not count.

    It also stops connecting after many permanent refusals of recipients in a row; while `refuses_everybody`, which
    another process may have detected, one such refusal is enough.

    The rates belong to one event loop; failures may be recorded, reported and reset from any thread. `now` is monotonic
    seconds; `interval` is the least time between two mails, 0 for none.
    """

    def __init__(self, *, threshold: int) -> None:
        self.connections = MAX_CONNECTIONS
        self.messages = MAX_MESSAGES
        self.interval = 0.0
        self._slowed_at = self._limited_at = self._last_slot = float("-inf")
        self._threshold = self._limit = threshold
        self._failures = self._unreported = 0
        self._succeeded = self._refuses_everybody = False
        self._succeeded_at: float | None = None
        self._failed_at: float | None = None
        self._refusals = Refusals()
        self._reason = ""
        self._lock = Lock()

    def too_many_connections(self, open_count: int, *, now: float) -> None:
        """The server refused a connection while `open_count` were open."""
        self.connections = max(1, min(self.connections, open_count))
        self._limited_at = now
        log.info("the mail server accepts %d connections of ours at once", self.connections)

    def too_many_messages(self, carried: int, *, now: float) -> None:
        """The server refused a message on a connection that had carried `carried`."""
        self.messages = max(1, min(self.messages, carried))
        self._limited_at = now
        log.info("the mail server takes %d mails on one connection", self.messages)

    def too_fast(self, *, now: float) -> None:
        """The server throttles. Replies to messages that were in delivery at the same time count once."""
        if now - self._slowed_at < max(self.interval, ROUND_SECONDS):
            return
        self._slowed_at = self._limited_at = now
        self.interval = min(max(2 * self.interval, MIN_INTERVAL), MAX_INTERVAL)
        log.info("the mail server throttles: one mail every %g s", self.interval)

    def reserve_slot(self, *, now: float, max_wait: float) -> float | None:
        """Reserves the next mail's time and returns the seconds until then; None if that is more than `max_wait`."""
        if now - self._limited_at >= RELAX_AFTER_SECONDS:
            self._relax(now)
        at = max(self._last_slot + self.interval, now)
        if at - now > max_wait:
            return None
        self._last_slot = at
        return at - now

    @property
    def is_open(self) -> bool:
        """True when no connection may be opened: the circuit is open."""
        return self._failures >= self._limit

    @property
    def is_closed(self) -> bool:
        """True when neither open nor limited to a probe."""
        return self._limit == self._threshold and not self.is_open

    def reset(self, *, max_failures: int | None = None, refuses_everybody: bool = False) -> None:
        """Forget the failures; allow `max_failures` failures (the threshold by default) before the circuit opens."""
        with self._lock:
            self._failures = 0
            self._limit = max_failures or self._threshold
            self._refuses_everybody = refuses_everybody
            if not refuses_everybody:
                self._refusals.clear(now=time.monotonic())

    def take_report(self) -> FailureReport:
        """Return the results since the last report."""
        with self._lock:
            seen = FailureReport(
                failures=self._unreported,
                succeeded=self._succeeded,
                reason=self._reason,
                refuses_everybody=self._refuses_everybody,
                succeeded_at=self._succeeded_at,
                failed_at=self._failed_at,
            )
            self._unreported, self._succeeded = 0, False
            return seen

    def may_connect(self, *, connecting: int) -> bool:
        """Whether one more connection may be opened, with this many already being opened: if a server is down, at most
        `threshold` are tried, however many deliveries want one."""
        return self._failures + connecting < self._limit

    def record_failure(self, reason: str) -> None:
        """The server could not be used for a message."""
        with self._lock:
            self._record_failures(reason)

    def record_success(self) -> None:
        """The server accepted a message."""
        with self._lock:
            self._refuses_everybody = False
            if self._refusals.weights:
                self._refusals.clear(now=time.monotonic())
            self._record_reply()

    def record_rejection(self, error: Rejected, *, recipient: str) -> None:
        """The server refused a message, which shows that it is up, unless the refusal is about all messages. If it
        refuses everybody, that is set in `error`, and the circuit opens."""
        with self._lock:
            if error.permanent and (
                self._refusals.add(recipient, is_about_address=error.is_about_address, now=time.monotonic())
                or self._refuses_everybody
            ):
                error.blame_server()
                self._refuses_everybody = True
                self._record_failures(f"it refuses everybody: {error}", at_least=self._limit)
            elif error.is_server_wide:
                self._record_failures(str(error))
            elif not self._refuses_everybody:
                self._record_reply()

    def _record_failures(self, reason: str, *, at_least: int = 1) -> None:
        self._failures = max(self._failures + 1, at_least)
        self._unreported = max(self._unreported + 1, at_least)
        self._reason = reason
        self._failed_at = time.monotonic()

    def _record_reply(self) -> None:
        self._failures = self._unreported = 0
        self._succeeded = True
        self._succeeded_at = time.monotonic()

    def _relax(self, now: float) -> None:
        self._limited_at = now
        self.connections = min(self.connections + 1, MAX_CONNECTIONS)
        self.messages = min(2 * self.messages, MAX_MESSAGES)
        self.interval = self.interval / 2 if self.interval > MIN_INTERVAL else 0.0
