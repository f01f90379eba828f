"""The breaker as one worker sees it: asked before a batch is claimed, told afterwards what the mail server did."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine

from snoozer.mail.gate import Gate
from snoozer.postgres import breaker
from snoozer.postgres.breaker import Permit
from snoozer.postgres.engine import at_once

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Keeps a mail server that is down from being tried more than the breaker allows. `server` is host:port."""

    engine: Engine
    gate: Gate
    server: str
    threshold: int
    cooldown: timedelta

    def ask(self) -> Permit:
        """May a batch be claimed? The gate of this process follows the answer."""
        with at_once(self.engine) as connection:
            permit = breaker.permit(connection, server=self.server, cooldown=self.cooldown)
        if permit.kind == "probe":
            self.gate.reopen(most=1)
        elif permit.kind == "closed" and not self.gate.is_wide_open:
            self.gate.reopen()
        return permit

    def tell(self, permit: Permit) -> None:
        """What the batch saw goes to the breaker that all workers share."""
        seen = self.gate.report()
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
            self.gate.reopen()
        elif permit.kind == "probe":
            with self.engine.begin() as connection:
                breaker.waive(connection, server=self.server, probe_token=permit.probe_token)
