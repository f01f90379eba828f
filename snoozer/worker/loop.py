"""The worker's loop: claim a batch, deliver it side by side, wait for what is due next."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from random import Random
from threading import Event
from typing import TypeVar

from opentelemetry import trace
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import telemetry
from snoozer.domain.reminder import Claim, Verdict
from snoozer.postgres import queue, workers
from snoozer.postgres.engine import is_away
from snoozer.postgres.statements import run
from snoozer.reminding import Courier, Delivery, Lanes, take
from snoozer.worker.protection import Protection
from snoozer.worker.pulse import Pulse, boot_time

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_UP = 0.25
LONGEST_ABSENCE = 5.0


class Leaving(Exception):
    """The worker was told to stop while the database was away."""


class Worker:
    """One incarnation. `tick` delivers what is due now; `run` goes on; `drain` until nothing is left."""

    def __init__(
        self,
        engine: Engine,
        *,
        courier: Courier,
        pulse: Pulse,
        protection: Protection,
        stopping: Event,
        batch_size: int,
        concurrency: int,
        poll: float,
        rng: Random,
    ) -> None:
        """Once `stopping` is set, nothing new is taken, what was not begun is given back, what is begun is finished."""
        self._engine = engine
        self._courier = courier
        self._pulse = pulse
        self._protection = protection
        self._stopping = stopping
        self._terms = courier.terms
        self._lanes = Lanes(worker=courier.terms.worker, lease=courier.terms.lease, batch_size=batch_size)
        self._poll = poll
        self._rng = rng
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="delivery")

    def run(self) -> None:
        """Deliver until told to stop, or until declared dead."""
        while not self._is_over():
            due = self._present(self._seconds_to_the_next)
            if due > 0 or not self._present(self.tick):
                self._rest(due)

    def drain(self, *, sweep: Callable[[], object], every: float) -> None:
        """Deliver until nothing is due or claimed. Nobody else may be sweeping, so this does, too."""
        swept = float("-inf")
        while not self._is_over():
            if time.monotonic() - swept >= every:
                self._present(lambda: sweep() is None)
                swept = time.monotonic()
            if not self._present(self.tick):
                if not self._present(self._something_is_left):
                    return
                self._stopping.wait(min(self._poll, every))

    def tick(self) -> int:
        """One batch, then one suspect alone, away from other rows. Answers how many were delivered or tried."""
        permit = self._protection.ask()
        if permit.kind == "open":
            return 0
        most = 1 if permit.kind == "probe" else None
        self._lanes.buckets = self._pulse.buckets
        batch = self._take(lambda connection: self._lanes.claim(connection, most=most))
        self._deliver(batch)
        suspect = []
        if not self._stopping.is_set() and not (most and batch):
            suspect = self._take(self._lanes.claim_suspect)
            self._deliver(suspect)
        self._protection.tell(permit)
        return len(batch) + len(suspect)

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        self._courier.outbox.close()

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._pulse.declared_dead.is_set()

    def _take(self, claim: Callable[[Connection], list[Claim]]) -> list[Delivery]:
        since = boot_time()
        taken = take(self._engine, terms=self._terms, claim=claim, passage=self._courier.passage)
        self._pulse.hold((delivery.claim.id for delivery in taken), since=since)
        telemetry.claimed(len(taken))
        return taken

    def _deliver(self, deliveries: Sequence[Delivery]) -> None:
        pending: dict[Future[Verdict], Delivery] = {
            self._threads.submit(self._one, delivery): delivery for delivery in deliveries
        }
        while pending:
            finished, _ = wait(pending, timeout=LOOK_UP, return_when=FIRST_COMPLETED)
            for future in finished:
                self._pulse.let_go(pending.pop(future).claim.id)
            if self._stopping.is_set():
                self._hand_back([delivery for future, delivery in pending.items() if future.cancel()])
                pending = {future: delivery for future, delivery in pending.items() if not future.cancelled()}

    def _one(self, delivery: Delivery) -> Verdict:
        began = time.monotonic()
        with telemetry.delivery(traceparent=delivery.claim.traceparent, snooze_id=delivery.claim.id):
            try:
                verdict = self._courier.deliver(delivery)
            except Exception as broken:
                # One reminder that breaks our own code must not take the worker with it.
                log.exception("delivery of snooze %d broke down", delivery.claim.id)
                trace.get_current_span().record_exception(broken)
                verdict = self._after_breakdown(delivery, broken)
        telemetry.delivered(verdict, milliseconds=(time.monotonic() - began) * 1000)
        return verdict

    def _after_breakdown(self, delivery: Delivery, broken: Exception) -> Verdict:
        try:
            return self._courier.settlement.release(
                delivery.claim, error=f"The delivery broke down ({type(broken).__name__})", spent=1
            )
        except DBAPIError:
            return Verdict.LOST

    def _hand_back(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        ids = [delivery.claim.id for delivery in deliveries]
        with self._engine.begin() as connection:
            workers.drain(connection, id=self._terms.worker)
            queue.hand_back(connection, worker=self._terms.worker, ids=ids)
        for id in ids:
            self._pulse.let_go(id)

    def _rest(self, due: float) -> None:
        """Sleep until the next snooze is due, a poll at the most, scattered so that workers do not march in step.

        A row that is due and was not taken (another worker's, one on hold behind its key, an open breaker) is asked for
        again after the poll.
        """
        self._courier.outbox.close_stale()
        poll = self._poll * (0.75 + self._rng.random() / 2)
        self._stopping.wait(min(due, poll) if due > 0 else poll)

    def _seconds_to_the_next(self) -> float:
        with self._engine.connect() as connection:
            seconds = run(connection, "support/next").scalar_one_or_none()
        return float("inf") if seconds is None else float(seconds)

    def _something_is_left(self) -> bool:
        with self._engine.connect() as connection:
            return bool(run(connection, "support/unfinished").scalar_one())

    def _present(self, act: Callable[[], T]) -> T:
        """Do it with the database there; wait for it as long as it takes."""
        pause = LOOK_UP
        while True:
            try:
                return act()
            except DBAPIError as error:
                if not is_away(error):
                    raise
                if self._is_over():
                    raise Leaving from None
                log.warning("the database is away: %s", type(error.orig).__name__)
            self._stopping.wait(pause * (0.5 + self._rng.random()))
            pause = min(pause * 2, LONGEST_ABSENCE)
