"""What keeps one process from trying a mail server that does not answer again and again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from snoozer.smtp.errors import ServerUnavailable


class CircuitOpen(Exception):
    """The mail server failed too often in a row; this mail was not tried."""


@dataclass(frozen=True, kw_only=True)
class FailureReport:
    """What was seen since the last report: failures since the last success, and whether there was a success."""

    failures: int
    succeeded: bool
    reason: str


class FailureLimiter:
    """Lets attempts through until `threshold` of them failed in a row.

    So at most `threshold` connections are opened to a server that is down, however many deliveries want one. Attempts
    are made on one event loop; everything else may be called from any thread.
    """

    def __init__(self, *, threshold: int) -> None:
        self._threshold = threshold
        self._limit = threshold
        self._failures = 0
        self._trying = 0
        self._unreported = 0
        self._succeeded = False
        self._reason = ""
        self._lock = Lock()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def is_open(self) -> bool:
        return self._failures >= self._limit

    @property
    def is_closed(self) -> bool:
        """Neither shut nor open for a probe alone."""
        return self._limit == self._threshold and not self.is_open

    def reset(self, *, max_attempts: int | None = None) -> None:
        """Forget the failures; let `most` attempts through (the threshold, unless told) before it shuts again."""
        with self._lock:
            self._failures = 0
            self._limit = max_attempts or self._threshold
            self._wake_waiting()

    def take_report(self) -> FailureReport:
        """What was seen since the last report."""
        with self._lock:
            seen = FailureReport(failures=self._unreported, succeeded=self._succeeded, reason=self._reason)
            self._unreported, self._succeeded = 0, False
            return seen

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """One attempt to open a connection. Raises Shut. A RelayDown inside counts as a failure."""
        while turn := self._acquire():
            await turn
        try:
            yield
        except ServerUnavailable as down:
            self.record_failure(str(down))
            raise
        finally:
            with self._lock:
                self._trying -= 1
                self._wake_waiting()

    def record_failure(self, reason: str) -> None:
        """The server could not be used for a mail."""
        with self._lock:
            self._failures += 1
            self._unreported += 1
            self._reason = reason
            self._wake_waiting()

    def record_success(self) -> None:
        """The server answered for a mail, with whatever answer: it is there."""
        with self._lock:
            self._failures = self._unreported = 0
            self._succeeded = True
            self._wake_waiting()

    def _acquire(self) -> "asyncio.Future[None] | None":
        """None when the attempt may begin; else what to wait for before asking again."""
        with self._lock:
            if self.is_open:
                raise CircuitOpen
            if self._failures + self._trying < self._limit:
                self._trying += 1
                return None
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            return turn

    def _wake_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.get_loop().call_soon_threadsafe(_begin, turn)


def _begin(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
