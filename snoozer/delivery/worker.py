"""The worker's loop: claim a batch, deliver it side by side, wait for what is due next."""

import logging
import time
from collections.abc import Callable
from random import Random
from threading import Event
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer import telemetry
from snoozer.db import queue, workers
from snoozer.db.breaker import Permit
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text, is_transient
from snoozer.delivery.breaker_client import BreakerClient
from snoozer.delivery.claiming import claim_and_reserve
from snoozer.delivery.deliver import Deliverer
from snoozer.delivery.executor import DeliveryExecutor, instrumented
from snoozer.delivery.heartbeat import Heartbeat, boot_time
from snoozer.delivery.poison_rows import EXCLUSIVE_SECONDS, PoisonRowTurns
from snoozer.delivery.scheduling import SUPPORTED_SCHEMA, FairScheduler
from snoozer.domain.reminder import Claim

log = logging.getLogger(__name__)

T = TypeVar("T")

POLL_INTERVAL = 0.25
CLOSED = Permit(kind="closed", probe_token=None, failures=0)
MAX_BACKOFF = 5.0
# A worker that leaves waits so long for mails that have no mark yet.
GRACE_SECONDS = 5.0


class ShutdownRequested(Exception):
    """The worker was told to stop while the database was away."""


class Worker:
    """One incarnation. `tick` delivers what is due now; `run` goes on; `drain` until nothing is left."""

    def __init__(
        self,
        engine: Engine,
        *,
        deliverer: Deliverer,
        heartbeat: Heartbeat,
        breaker: BreakerClient,
        stopping: Event,
        batch_size: int,
        concurrency: int,
        poll: float,
        rng: Random,
    ) -> None:
        """Once `stopping` is set, nothing new is taken, what was not begun is given back, what is begun is finished."""
        self._engine = engine
        self._deliverer = deliverer
        self._heartbeat = heartbeat
        self._breaker = breaker
        self._stopping = stopping
        self._config = deliverer.config
        self._scheduler = FairScheduler(worker=deliverer.config.worker, lease=deliverer.config.lease)
        self._poll = poll
        self._rng = rng
        self._batch_size = batch_size
        self._poison_rows = PoisonRowTurns()
        self._permit = CLOSED
        self._low_watermark = batch_size // 2
        self._executor = DeliveryExecutor(
            concurrency=concurrency,
            low_watermark=self._low_watermark,
            deliver=instrumented(deliverer),
            on_done=heartbeat.untrack,
            on_close=deliverer.pool.close,
        )

    def run(self) -> None:
        """Deliver until told to stop, or until declared dead."""
        while not self._is_stopping():
            if not self._has_room:
                self._executor.reap(timeout=POLL_INTERVAL)
                continue
            self._executor.reap(timeout=0)
            pause = self._seconds_until_due()
            if pause == 0 and not self._retry_transient(self.tick):
                # What is due and was not taken (another worker's, one behind its key, an open breaker) is asked for
                # after a poll.
                pause = self._seconds_until_due(not_due_yet=True)
            if pause > 0:
                self._sleep(pause)
        self._shut_down()

    def drain(self, *, sweep: Callable[[], object], every: float) -> None:
        """Deliver until nothing is due or claimed. Nobody else may be sweeping, so this does, too."""
        swept = float("-inf")
        while not self._is_stopping():
            if time.monotonic() - swept >= every:
                self._retry_transient(lambda: sweep() is None)
                swept = time.monotonic()
            if self._executor:
                self._executor.reap(timeout=POLL_INTERVAL)
            if not self._retry_transient(self.tick) and not self._executor:
                if not self._retry_transient(self._has_unfinished):
                    return
                self._stopping.wait(min(self._poll, every))
        self._shut_down()

    def tick(self) -> int:
        """Take on what there is room for, and begin it; answers how many.

        A row that lost a worker before (a suspect) is delivered alone: nothing new is taken until all is settled, and
        then until it is, but others wait only some seconds for that, and one that cannot be had halts nobody.
        """
        if not self._heartbeat.is_healthy or not self._has_room:
            return 0
        # What came of the last batch is told first: a breaker that has not heard of it would let too much through.
        self._breaker.report(self._permit)
        permit = self._permit = self._breaker.acquire()
        if permit.kind == "open":
            return 0
        if permit.kind == "probe":
            return self._probe()
        return self._deliver_poison_row() or self._top_up()

    def close(self) -> None:
        self._executor.close()

    def _top_up(self) -> int:
        self._scheduler.buckets = self._heartbeat.buckets
        taken = self._claim_and_submit(
            lambda connection: self._scheduler.claim_batch(connection, batch_size=self._room)
        )
        if not taken:
            self._poison_rows.no_other_rows()
        return len(taken)

    @property
    def _room(self) -> int:
        return self._batch_size - len(self._executor)

    @property
    def _has_room(self) -> bool:
        return len(self._executor) <= self._low_watermark

    def _deliver_poison_row(self) -> int:
        began = time.monotonic()
        if not self._poison_rows.should_check(began, busy=bool(self._executor)):
            return 0
        with autocommit(self._engine) as connection:
            waits = queue.poison_row(connection, known_schema=SUPPORTED_SCHEMA)
        if not waits:
            self._poison_rows.none_due()
            return 0
        if not self._reap_all(within=self._poison_rows.max_wait):
            self._poison_rows.was_never_idle(time.monotonic())
            return 0
        taken = self._claim_and_submit(self._scheduler.claim_poison_row)
        if taken:
            self._reap_all(within=EXCLUSIVE_SECONDS)
            self._poison_rows.was_delivered(time.monotonic(), seconds=time.monotonic() - began)
        else:
            self._poison_rows.was_locked(time.monotonic())
        return len(taken)

    def _probe(self) -> int:
        self._reap_all(within=EXCLUSIVE_SECONDS)
        taken = self._claim_and_submit(self._scheduler.claim_one)
        while any(map(self._heartbeat.is_tracked, taken)) and not self._is_stopping():
            self._executor.reap(timeout=POLL_INTERVAL)
        self._breaker.report(self._permit)
        self._permit = CLOSED
        return len(taken)

    def _is_stopping(self) -> bool:
        if self._executor.is_stalled() and not self._heartbeat.declared_dead.is_set():
            log.critical("a delivery does not let go; this worker gives up and leaves its claims to recovery")
            self._heartbeat.declared_dead.set()
        return self._stopping.is_set() or self._heartbeat.declared_dead.is_set()

    def _claim_and_submit(self, claim: Callable[[Connection], list[Claim]]) -> list[Claim]:
        since = boot_time()
        taken = claim_and_reserve(self._engine, config=self._config, claim=claim, failpoint=self._deliverer.failpoint)
        self._heartbeat.track((delivery.claim for delivery in taken), since=since)
        telemetry.count_claimed(len(taken))
        self._executor.submit(taken)
        return [delivery.claim for delivery in taken]

    def _reap_all(self, *, within: float = float("inf")) -> bool:
        """Wait for what is in hand, so many seconds; answers whether nothing is."""
        ends = time.monotonic() + within
        while self._executor and time.monotonic() < ends and not self._is_stopping():
            self._executor.reap(timeout=POLL_INTERVAL)
        return not self._executor

    def _shut_down(self) -> None:
        """Nothing new; what was not begun goes back, and after a few seconds what has no mark. The rest is finished."""
        unbegun = self._executor.cancel_pending()
        try:
            with self._engine.begin() as connection:
                workers.drain(connection, id=self._config.worker)
                queue.unclaim(connection, held=[(claim.id, claim.claim_token) for claim in unbegun])
        except SQLAlchemyError as error:
            log.warning("what was not begun is recovered later: %s", error_text(error))
        for claim in unbegun:
            self._heartbeat.untrack(claim)
        called_back, ends = False, time.monotonic() + GRACE_SECONDS
        while self._executor and not self._executor.is_stalled():
            self._executor.reap(timeout=POLL_INTERVAL)
            if not called_back and time.monotonic() > ends:
                called_back = True
                self._executor.call_on_loop(self._deliverer.cancellation.cancel_all)

    def wake(self) -> None:
        """Look at the queue now. From any thread."""
        self._executor.wake()

    def _sleep(self, pause: float) -> None:
        """Sleep until the next snooze is due, a poll at the most, scattered so that workers do not march in step."""
        if self._is_stopping():
            return
        poll = self._poll * (0.75 + self._rng.random() / 2)
        self._executor.reap(timeout=min(poll, pause))

    def _seconds_until_due(self, *, not_due_yet: bool = False) -> float:
        def ask() -> float:
            with autocommit(self._engine) as connection:
                return queue.next_due(connection, known_schema=SUPPORTED_SCHEMA, not_due_yet=not_due_yet)

        return self._retry_transient(ask)

    def _has_unfinished(self) -> bool:
        with autocommit(self._engine) as connection:
            return queue.unfinished(connection, known_schema=SUPPORTED_SCHEMA)

    def _retry_transient(self, act: Callable[[], T]) -> T:
        """Do it with the database there; wait for it as long as it takes."""
        pause = POLL_INTERVAL
        while True:
            try:
                return act()
            except SQLAlchemyError as error:
                if not is_transient(error):
                    raise
                if self._is_stopping():
                    raise ShutdownRequested from None
                log.warning("the database is away: %s", error_text(error))
            self._stopping.wait(pause * (0.5 + self._rng.random()))
            pause = min(pause * 2, MAX_BACKOFF)
