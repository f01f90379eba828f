"""Tells a monitoring service once a minute that all is well, as Healthchecks.io and compatible services take it: a GET
while it is, a POST to `/fail` with a sentence if it is not. If the process dies, the service misses the GET."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from snoozer.runtime import outbound_http
from snoozer.runtime.loop import Loop
from snoozer.runtime.outbound_http import HttpError, Limits

log = logging.getLogger(__name__)

EVERY = 60.0
# A trouble is reported if it lasts this long: at a start the worker may come a moment after the clock.
CONFIRM_AFTER = 10.0
LOG_EVERY = 3600.0
# The operator's own setting may name a host in their network. Redirects are not followed.
LIMITS = Limits(seconds=10.0, size=2_000, allow_private=True, cuts=True)


@dataclass(kw_only=True)
class DeadManSwitch:
    """`look` returns what is wrong in a sentence, empty if all is well; `reached` is called after the service took a
    request."""

    url: str = field(repr=False)
    look: Callable[[], str]
    reached: Callable[[], object]
    limits: Limits = LIMITS
    _was_wrong: bool = field(default=False, init=False)
    _logged_at: float | None = field(default=None, init=False)

    def loop(self) -> Loop:
        """The thread that does it. It is not to be joined: a request may take as long as its limit."""
        return Loop(
            self.turn,
            name="ping",
            report=lambda error: log.warning("the ping failed: %s", type(error).__name__),
        )

    def turn(self) -> float:
        """Look, and tell the service; returns the seconds until the next turn."""
        wrong = self.look()
        is_new, self._was_wrong = bool(wrong) and not self._was_wrong, bool(wrong)
        if is_new:
            return CONFIRM_AFTER
        self._tell(wrong)
        return EVERY

    def _tell(self, wrong: str) -> None:
        try:
            if wrong:
                headers = {"Content-Type": "text/plain; charset=utf-8"}
                failed = fail_url(self.url)
                answer = outbound_http.request("POST", failed, limits=self.limits, body=wrong.encode(), headers=headers)
            else:
                answer = outbound_http.request("GET", self.url, limits=self.limits)
        except HttpError as error:
            return self._log(error.sentence)
        if not 200 <= answer.status < 300:
            return self._log(f"It answered {answer.status}.")
        self.reached()
        return None

    def _log(self, sentence: str) -> None:
        now = time.monotonic()
        if self._logged_at is None or now - self._logged_at >= LOG_EVERY:
            self._logged_at = now
            log.warning("the service of SNOOZER_PING_URL took no report: %s", sentence)


def fail_url(url: str) -> str:
    """Where a failure is posted: `/fail` at the end of the path."""
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/fail").geturl()
