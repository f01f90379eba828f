"""The shared circuit breaker as one worker uses it: a permit before each claim, a report of the results after it.

Nor is anything claimed while the database is another one than was accepted: what it forgot may be sent twice.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine

from snoozer.db import breaker, timeline
from snoozer.db.breaker import Permit
from snoozer.db.engine import autocommit
from snoozer.db.timeline import TimelineChange
from snoozer.domain.reminder import Claim
from snoozer.smtp.server_limits import ServerLimits

log = logging.getLogger(__name__)

REPORT_SECONDS = 30.0


@dataclass(kw_only=True)
class BreakerClient:
    """Applies the breaker to this process's `limits`, and reports their failures to it. `server` is host:port.

    With `waits_after_failover`, nothing is claimed until another timeline of the database was accepted.
    """

    engine: Engine
    limits: ServerLimits
    server: str
    threshold: int
    cooldown: timedelta
    waits_after_failover: bool = True
    _reported_at: float = float("-inf")

    def acquire(self) -> Permit:
        """The permit to claim a batch. A probe limits this process to one attempt to connect."""
        with autocommit(self.engine) as connection:
            permit = breaker.permit(connection, server=self.server, cooldown=self.cooldown)
        if permit.kind == "probe":
            self.limits.reset(max_attempts=1, refuses_everybody=permit.refuses_everybody)
        elif permit.kind == "closed" and not self.limits.is_closed:
            self.limits.reset()
        return permit

    def claim_if_accepted(self, claim: Callable[[Connection], list[Claim]], connection: Connection) -> list[Claim]:
        """What `claim` returns; nothing while the database is another one than was accepted. Both are asked in one
        transaction, so that no failover comes in between."""
        if self.waits_after_failover and (change := timeline.change(connection)):
            self._log(change)
            return []
        return claim(connection)

    def report(self, permit: Permit) -> None:
        """Reports what this process saw of the mail server since the last report."""
        seen = self.limits.take_report()
        if seen.failures:
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

    def _log(self, change: TimelineChange) -> None:
        if time.monotonic() - self._reported_at >= REPORT_SECONDS:
            self._reported_at = time.monotonic()
            log.error("%s; nothing is claimed until `snoozer restored` was run (docs/keeping.md)", change)
