"""The shared circuit breaker as one worker uses it: a permit before each claim, a report of the results after it."""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine

from snoozer.db.engine import autocommit
from snoozer.mail.smtp.server_limits import FailureReport, ServerLimits
from snoozer.queue import breaker
from snoozer.queue.breaker import Permit

log = logging.getLogger(__name__)

PERMIT_SECONDS = 0.25
# How often this process notes that the mail server worked, if there is no other report.
NOTE_SECONDS = 5.0


@dataclass(kw_only=True)
class BreakerClient:
    """Applies the breaker to this process's `limits`, and reports their failures to it. `server` is host:port."""

    engine: Engine
    limits: ServerLimits
    server: str
    threshold: int
    cooldown: timedelta
    _closed: Permit | None = None
    _asked_at: float = float("-inf")
    _noted: tuple[float | None, float | None] = (None, None)
    _noted_at: float = float("-inf")

    def acquire(self) -> Permit:
        """The permit to claim a batch. A probe limits this process to one attempt to connect.

        A "closed" permit is valid for PERMIT_SECONDS: if another worker has opened the breaker since, the claim of the
        batch itself finds it out (`queue.priorities`).
        """
        now = time.monotonic()
        if self._closed and self.limits.is_closed and now - self._asked_at < PERMIT_SECONDS:
            return self._closed
        permit = self._acquire()
        self._closed, self._asked_at = permit if permit.kind == "closed" and not permit.failures else None, now
        return permit

    def _acquire(self) -> Permit:
        with autocommit(self.engine) as connection:
            permit = breaker.permit(connection, server=self.server, cooldown=self.cooldown)
        if permit.kind == "probe":
            self.limits.reset(max_failures=1, refuses_everybody=permit.refuses_everybody)
        elif permit.kind == "closed" and not self.limits.is_closed:
            self.limits.reset()
        return permit

    def report(self, permit: Permit) -> None:
        """Report what this process saw of the mail server since the last report; when it last worked and failed, every
        NOTE_SECONDS at most."""
        seen = self.limits.take_report()
        if seen.failures:
            self._closed = None
            with self.engine.begin() as connection:
                state = breaker.fail(
                    connection,
                    server=self.server,
                    failures=seen.failures,
                    threshold=self.threshold,
                    reason=seen.reason,
                    refuses_everybody=seen.refuses_everybody,
                    probe_token=permit.probe_token,
                )
            if state == "open":
                pause = "a while" if seen.refuses_everybody else f"{self.cooldown.total_seconds():g} s"
                log.warning("the mail server cannot be used (%s); it is left alone for %s", seen.reason, pause)
        elif seen.succeeded and (permit.failures or permit.kind == "probe"):
            with self.engine.begin() as connection:
                breaker.succeed(connection, server=self.server, probe_token=permit.probe_token)
            self.limits.reset()
        elif permit.kind == "probe":
            with self.engine.begin() as connection:
                breaker.return_probe(connection, server=self.server, probe_token=permit.probe_token)
        self._note(seen)

    def _note(self, seen: FailureReport) -> None:
        now, latest = time.monotonic(), (seen.succeeded_at, seen.failed_at)
        if latest == self._noted or (now - self._noted_at < NOTE_SECONDS and not seen.failures):
            return
        succeeded_ago, failed_ago = (None if at is None else now - at for at in latest)
        with autocommit(self.engine) as connection:
            noted = breaker.note(connection, server=self.server, succeeded_ago=succeeded_ago, failed_ago=failed_ago)
        self._noted, self._noted_at = latest if noted else self._noted, now
