"""The worker's loop: claim a batch, submit it to the pipeline, wait until something is due."""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from random import Random
from threading import Event
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer import telemetry
from snoozer.db import timeline
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text, is_transient, is_unavailable
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.delivery.ahead import LEAD_SECONDS, read_ahead
from snoozer.delivery.breaker_client import BreakerClient
from snoozer.delivery.claiming import CRASHED_SHARE, STEAL_AFTER, Delivery, FairScheduler, claim_mails
from snoozer.delivery.deliver import Tools
from snoozer.delivery.heartbeat import Heartbeat, boot_time
from snoozer.delivery.key_sweep import KeySweep
from snoozer.delivery.pipeline import DeliveryPipeline
from snoozer.delivery.poison_rows import EXCLUSIVE_SECONDS, PoisonRowTurns
from snoozer.delivery.settling import Settler
from snoozer.queue import queue, workers
from snoozer.queue.breaker import Permit
from snoozer.queue.queue import ReadRows
from snoozer.queue.reminder import Claim
from snoozer.runtime.backoff import Backoff

log = logging.getLogger(__name__)

T = TypeVar("T")

POLL_INTERVAL = 0.25
# While the database is away: about as often as an idle worker polls, so that mail goes on soon after a failover.
MAX_BACKOFF = 1.0
CLOSED = Permit(kind="closed", probe_token=None, failures=0)
# How many batches a worker holds at most, with deliveries that settle or wait for a slow reply.
MAX_BATCHES_HELD = 8
# At most so many mails for each session are prepared ahead: the others would be composed in vain.
PREPARED_ROUNDS = 2
# While as many mails are prepared ahead as may be, how often to look whether there is room again.
FULL_SECONDS = 0.05
# Grace period at shutdown for mails that have no mark yet.
GRACE_SECONDS = 5.0
# While idle, how often to check that this is still the accepted database timeline.
WARNING_INTERVAL = 30.0


class ShutdownRequested(Exception):
    """The worker must stop while the database is unavailable."""


class Worker:
    """One worker. `tick` delivers due rows once, `run` repeats that, `drain` ends when nothing is left."""

    def __init__(
        self,
        engine: Engine,
        *,
        tools: Tools,
        settler: Settler,
        heartbeat: Heartbeat,
        breaker: BreakerClient,
        stopping: Event,
        batch_size: int,
        poll: float,
        rng: Random,
    ) -> None:
        """Once `stopping` is set, no row is claimed, pending deliveries are given back and running ones finished."""
        self._engine = engine
        self._failpoint = tools.failpoint
        self._heartbeat = heartbeat
        self._breaker = breaker
        self._stopping = stopping
        self._config = tools.config
        self._pool = tools.pool
        self._scheduler = FairScheduler(
            worker=tools.config.worker,
            lease=tools.config.lease,
            server=breaker.server,
            any_timeline=tools.config.any_timeline,
        )
        self._poll = poll
        self._rng = rng
        self._batch_size = batch_size
        self._poison_rows = PoisonRowTurns()
        self._crashed: list[Claim] = []
        self._key_sweep = KeySweep(known_schema=SUPPORTED_SCHEMA)
        self._permit = CLOSED
        self._warn_at = float("-inf")
        self._woken = Event()
        # Whether a claim may have been committed without an answer.
        self._lost_reply = False
        self._low_watermark = batch_size // 2
        # Deliveries that were read ahead: by id while they are prepared, and until their time if they ended before it.
        self._prepared: dict[int, Delivery] = {}
        self._ended_early: list[Delivery] = []
        self._pipeline = DeliveryPipeline(
            engine,
            tools=tools,
            settler=settler,
            low_watermark=self._low_watermark,
            on_done=self._on_done,
            on_claim=self._on_claim,
            on_drop=self.wake,
        )

    def run(self) -> None:
        """Deliver until `stopping` is set or the worker is declared dead."""
        due_at = float("-inf")
        while not self._is_stopping():
            if not self._has_room:
                self._pipeline.reap(timeout=POLL_INTERVAL)
                continue
            self._pipeline.reap(timeout=0)
            began = time.monotonic()
            if began < due_at:
                # Report results of the last deliveries now rather than when more is due.
                self._retry_transient(self._report)
            # Due rows that cannot be claimed (a busy serialization key, an open breaker) are tried again after a poll,
            # or once a delivery has ended.
            is_blocked = began >= due_at and not self._retry_transient(self.tick)
            missed = time.monotonic() - began if is_blocked else None
            wait = self._seconds_until_due(missed=missed)
            while 0 < wait <= LEAD_SECONDS and self._retry_transient(self._read_ahead):
                wait = self._seconds_until_due(missed=missed)
            due_at = time.monotonic() + wait
            if wait > LEAD_SECONDS:
                wait -= LEAD_SECONDS
            elif not self._room_ahead:
                wait = min(wait, FULL_SECONDS)
            if wait > 0 and self._sleep(wait, until_any_ends=is_blocked):
                due_at = float("-inf")

    def drain(self, *, sweep: Callable[[], object], every: float) -> None:
        """Deliver until nothing is due or claimed. Calls `sweep` every `every` seconds, as no clock may be running."""
        swept = float("-inf")
        while not self._is_stopping():
            if time.monotonic() - swept >= every:
                self._retry_transient(lambda: sweep() is None)
                swept = time.monotonic()
            if self._pipeline:
                self._pipeline.reap(timeout=POLL_INTERVAL)
            if not self._retry_transient(self.tick) and not self._pipeline:
                if not self._retry_transient(self._has_unfinished):
                    return
                self._stopping.wait(min(self._poll, every))

    def tick(self) -> int:
        """Claim as many rows as there is room for and start their delivery; returns how many.

        A poison row, which lost more than one worker, is delivered alone: no row is claimed until all other deliveries
        have ended, and then until it has. Other rows wait only some seconds for that. Rows that lost one worker are
        claimed a few at a time. Raises SQLAlchemyError if no dot can be authorised until something is mended.
        """
        if self._pipeline.failure is not None:
            raise self._pipeline.failure
        if self._config.claims_nothing or not self._heartbeat.is_healthy or not self._has_room:
            return 0
        # The last batch is reported first: without it, the breaker would let too much through.
        self._breaker.report(self._permit)
        permit = self._permit = self._breaker.acquire()
        if permit.kind == "open":
            return 0
        if permit.kind == "probe":
            return self._probe()
        self._key_sweep.run_if_due(self._engine)
        claimed = self._deliver_poison_row() or self._top_up()
        if not claimed:
            self._warn_of_failover()
        return claimed

    def _read_ahead(self) -> int:
        """Read rows that are due soon, and have their mails prepared; returns how many."""
        is_closed = self._permit.kind == "closed" and self._pipeline.failure is None
        if not (self._room_ahead and is_closed and self._heartbeat.is_healthy) or self._config.claims_nothing:
            return 0
        self._ended_early = [one for one in self._ended_early if one.due > time.monotonic()]
        deliveries = read_ahead(
            self._engine,
            config=self._config,
            limit=self._room_ahead,
            read=_times([*self._prepared.values(), *self._ended_early]),
            buckets=self._heartbeat.buckets,
            server=self._breaker.server,
        )
        self._prepared |= {delivery.claim.id: delivery for delivery in deliveries}
        self._pipeline.submit(deliveries)
        return len(deliveries)

    @property
    def _room_ahead(self) -> int:
        return max(min(self._batch_size // 2, PREPARED_ROUNDS * self._pool.capacity) - len(self._prepared), 0)

    def _on_claim(self, claim: Claim, since: float) -> None:
        self._heartbeat.track([claim], since=since)
        telemetry.count_claimed([claim])

    def _on_done(self, claim: Claim) -> None:
        self._heartbeat.untrack(claim)
        prepared = self._prepared.get(claim.id)
        if prepared is not None and prepared.claim.claim_token == claim.claim_token:
            del self._prepared[claim.id]
            self._ended_early.append(prepared)

    def _report(self) -> None:
        self._breaker.report(self._permit)

    @property
    def is_idle(self) -> bool:
        """True if all claims are settled."""
        self._pipeline.reap(timeout=0)
        return not self._pipeline

    def wake(self) -> None:
        """Check the queue now. From any thread."""
        self._woken.set()
        self._pipeline.wake()

    def close(self) -> None:
        """Give back pending deliveries, and after some seconds those without a mark; finish the rest."""
        self._pipeline.cancel_pending()
        try:
            with self._engine.begin() as connection:
                workers.drain(connection, id=self._config.worker)
        except SQLAlchemyError as error:
            log.warning("this worker is not known to stop: %s", error_text(error))
        cancelled, ends = False, time.monotonic() + GRACE_SECONDS
        while self._pipeline and not self._pipeline.is_stalled():
            self._pipeline.reap(timeout=POLL_INTERVAL)
            if not cancelled and time.monotonic() > ends:
                cancelled = True
                self._pipeline.cancel_unmarked()
        self._pipeline.close()

    def _top_up(self) -> int:
        self._scheduler.buckets = self._heartbeat.buckets
        self._crashed = [claim for claim in self._crashed if self._heartbeat.is_tracked(claim)]
        crashed_room = max(self._batch_size // CRASHED_SHARE, 1) - len(self._crashed)
        claimed = self._claim_and_submit(
            lambda connection: self._scheduler.claim_batch(connection, batch_size=self._room, crashed_room=crashed_room)
        )
        self._crashed += [claim for claim in claimed if claim.crash_count]
        if not claimed:
            self._poison_rows.no_other_rows()
        return len(claimed) + self._scheduler.set_behind

    @property
    def _room(self) -> int:
        return min(max(self._batch_size - self._pipeline.active, 1), self._batch_size)

    @property
    def _has_room(self) -> bool:
        if not self._low_watermark:
            return not self._pipeline
        is_settling = len(self._pipeline) > MAX_BATCHES_HELD * self._batch_size
        # A few more may be active again since the wake-up: slow replies.
        return self._pipeline.active <= self._low_watermark + self._batch_size // 4 and not is_settling

    def _deliver_poison_row(self) -> int:
        began = time.monotonic()
        if not self._poison_rows.should_check(began, busy=bool(self._pipeline)):
            return 0
        with autocommit(self._engine) as connection:
            is_due = bool(queue.poison_rows(connection, known_schema=SUPPORTED_SCHEMA))
        if not is_due:
            self._poison_rows.none_due()
            return 0
        if not self._reap_all(within=self._poison_rows.max_wait):
            self._poison_rows.was_never_idle(time.monotonic())
            return 0
        self._permit = self._breaker.acquire()
        if self._permit.kind != "closed" or not self._heartbeat.is_healthy:
            return 0
        claimed = self._claim_and_submit(self._scheduler.claim_poison_row)
        if claimed:
            self._reap_all(within=EXCLUSIVE_SECONDS)
            self._poison_rows.was_delivered(time.monotonic(), seconds=time.monotonic() - began)
        else:
            self._poison_rows.was_locked(time.monotonic())
        return len(claimed)

    def _warn_of_failover(self) -> None:
        """Log now and then that no row is claimed, because the database is not the accepted one."""
        if self._config.any_timeline or time.monotonic() < self._warn_at:
            return
        self._warn_at = time.monotonic() + WARNING_INTERVAL
        with autocommit(self._engine) as connection:
            change = timeline.change(connection)
        if change:
            log.error("%s; nothing is claimed until `snoozer restored` was run (docs/keeping.md)", change)

    def _probe(self) -> int:
        self._reap_all(within=EXCLUSIVE_SECONDS)
        claimed = self._claim_and_submit(self._scheduler.claim_one)
        while any(map(self._heartbeat.is_tracked, claimed)) and not self._is_stopping():
            self._pipeline.reap(timeout=POLL_INTERVAL)
        self._breaker.report(self._permit)
        self._permit = CLOSED
        return len(claimed)

    def _is_stopping(self) -> bool:
        if self._pipeline.is_stalled() and not self._heartbeat.declared_dead.is_set():
            log.critical("a delivery blocks the event loop; this worker ends and leaves its claims to recovery")
            self._heartbeat.declared_dead.set()
        return self._stopping.is_set() or self._heartbeat.declared_dead.is_set()

    def _claim_and_submit(self, claim: Callable[[Connection], list[Claim]]) -> list[Claim]:
        if self._lost_reply:
            # Rows of the lost claim would otherwise lose their leases and count as rows that killed a worker.
            with self._engine.begin() as connection:
                held = queue.claimed_by(connection, worker=self._config.worker)
                queue.unclaim(connection, held=self._heartbeat.untracked(held))
        since, self._lost_reply = boot_time(), True
        deliveries = claim_mails(self._engine, config=self._config, claim=claim, failpoint=self._failpoint)
        self._lost_reply = False
        self._heartbeat.track((delivery.claim for delivery in deliveries), since=since)
        claims = [delivery.claim for delivery in deliveries]
        telemetry.count_claimed(claims)
        self._pipeline.submit(deliveries)
        return claims

    def _reap_all(self, *, within: float) -> bool:
        """Wait up to `within` seconds for the deliveries in flight; returns whether all have ended."""
        self._pipeline.drop_prepared()
        ends = time.monotonic() + within
        while self._pipeline and time.monotonic() < ends and not self._is_stopping():
            self._pipeline.reap(timeout=POLL_INTERVAL)
        return not self._pipeline

    def _sleep(self, wait: float, *, until_any_ends: bool) -> bool:
        """Sleep until the next snooze is due or `wake` is called, at most one poll; with jitter, so that workers do not
        poll in step. Returns whether a delivery ended for which it had to be woken."""
        held = len(self._pipeline)
        poll = self._poll * (0.75 + self._rng.random() / 2)
        ends = time.monotonic() + min(poll, wait)
        while (left := ends - time.monotonic()) > 0 and not (self._woken.is_set() or self._is_stopping()):
            self._pipeline.reap(timeout=left)
            if until_any_ends:
                break
        self._woken.clear()
        return until_any_ends and len(self._pipeline) < held

    def _seconds_until_due(self, *, missed: float | None) -> float:
        def peek() -> float:
            with autocommit(self._engine) as connection:
                return queue.next_due(
                    connection,
                    known_schema=SUPPORTED_SCHEMA,
                    missed=None if missed is None else timedelta(seconds=missed),
                    buckets=self._heartbeat.buckets,
                    steal_after=STEAL_AFTER,
                    read=_times(self._prepared.values()),
                )

        return self._retry_transient(peek)

    def _has_unfinished(self) -> bool:
        with autocommit(self._engine) as connection:
            return queue.unfinished(connection, known_schema=SUPPORTED_SCHEMA)

    def _retry_transient(self, act: Callable[[], T]) -> T:
        """Call `act` again for as long as the database is unavailable. Raises ShutdownRequested instead while
        stopping."""
        backoff = Backoff(first=POLL_INTERVAL, cap=MAX_BACKOFF, rng=self._rng)
        while True:
            try:
                return act()
            except SQLAlchemyError as error:
                if not is_transient(error):
                    raise
                if self._is_stopping():
                    raise ShutdownRequested from None
                what = "is unavailable" if is_unavailable(error) else "cancelled a statement"
                log.warning("the database %s: %s", what, error_text(error))
            self._stopping.wait(backoff.next_wait())


def _times(deliveries: Iterable[Delivery]) -> ReadRows:
    return [(delivery.claim.id, delivery.claim.remind_at) for delivery in deliveries]
