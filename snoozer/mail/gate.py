"""What keeps one process from trying a mail server that does not answer again and again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from snoozer.mail.replies import RelayDown


class Shut(Exception):
    """The mail server failed too often in a row; this mail was not tried."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was seen since the last report: failures since the last success, and whether there was a success."""

    failures: int
    succeeded: bool
    reason: str


class Gate:
    """Lets attempts through until `threshold` of them failed in a row.

    So at most `threshold` connections are opened to a server that is down, however many threads want one.
    """

    def __init__(self, *, threshold: int) -> None:
        self._threshold = threshold
        self._limit = threshold
        self._failures = 0
        self._trying = 0
        self._unreported = 0
        self._succeeded = False
        self._reason = ""
        self._turn = Condition()

    @property
    def is_shut(self) -> bool:
        return self._failures >= self._limit

    def reopen(self, *, most: int | None = None) -> None:
        """Forget the failures; let `most` attempts through (the threshold, unless told) before it shuts again."""
        with self._turn:
            self._failures = 0
            self._limit = most or self._threshold
            self._turn.notify_all()

    def report(self) -> Report:
        """What was seen since the last report."""
        with self._turn:
            seen = Report(failures=self._unreported, succeeded=self._succeeded, reason=self._reason)
            self._unreported, self._succeeded = 0, False
            return seen

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One attempt to open a connection. Raises Shut. A RelayDown inside counts as a failure."""
        with self._turn:
            self._turn.wait_for(lambda: self.is_shut or self._failures + self._trying < self._limit)
            if self.is_shut:
                raise Shut
            self._trying += 1
        try:
            yield
        except RelayDown as down:
            self.failed(str(down))
            raise
        finally:
            with self._turn:
                self._trying -= 1
                self._turn.notify_all()

    def failed(self, reason: str) -> None:
        """The server could not be used for a mail."""
        with self._turn:
            self._failures += 1
            self._unreported += 1
            self._reason = reason
            self._turn.notify_all()

    def heard(self) -> None:
        """The server answered for a mail, with whatever answer: it is there."""
        with self._turn:
            self._failures = self._unreported = 0
            self._succeeded = True
            self._turn.notify_all()
