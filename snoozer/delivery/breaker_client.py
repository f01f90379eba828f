"""The breaker as one worker sees it: asked before a batch is claimed, told afterwards what the mail server did."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine

from snoozer.db import breaker
from snoozer.db.breaker import Permit
from snoozer.db.engine import autocommit
from snoozer.smtp.failure_limiter import FailureLimiter

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BreakerClient:
    """Keeps a mail server that is down from being tried more than the breaker allows. `server` is host:port."""

    engine: Engine
    failures: FailureLimiter
    server: str
    threshold: int
    cooldown: timedelta

    def acquire(self) -> Permit:
        """May a batch be claimed? The gate of this process follows the answer."""
        with autocommit(self.engine) as connection:
            permit = breaker.permit(connection, server=self.server, cooldown=self.cooldown)
        if permit.kind == "probe":
            self.failures.reset(max_attempts=1)
        elif permit.kind == "closed" and not self.failures.is_closed:
            self.failures.reset()
        return permit

    def report(self, permit: Permit) -> None:
        """What the batch saw goes to the breaker that all workers share."""
        seen = self.failures.take_report()
        if seen.failures:
            with self.engine.begin() as connection:
                state = breaker.fail(
                    connection,
                    server=self.server,
                    failures=seen.failures,
                    threshold=self.threshold,
                    reason=seen.reason,
                    probe_token=permit.probe_token,
                )
            if state == "open":
                pause = self.cooldown.total_seconds()
                log.warning("the mail server cannot be used (%s); it is left alone for %g s", seen.reason, pause)
        elif seen.succeeded and (permit.failures or permit.kind == "probe"):
            with self.engine.begin() as connection:
                breaker.succeed(connection, server=self.server, probe_token=permit.probe_token)
            self.failures.reset()
        elif permit.kind == "probe":
            with self.engine.begin() as connection:
                breaker.return_probe(connection, server=self.server, probe_token=permit.probe_token)
