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
from snoozer.domain.reminder import Claim
from snoozer.postgres import queue, waiting, workers
from snoozer.postgres.breaker import Permit
from snoozer.postgres.engine import at_once, may_pass
from snoozer.postgres.reason import reason
from snoozer.reminding import Courier, Lanes, take
from snoozer.reminding.lanes import KNOWN_SCHEMA
from snoozer.worker.alone import ALONE_SECONDS, Alone
from snoozer.worker.attending import attended
from snoozer.worker.hands import Hands
from snoozer.worker.protection import Protection
from snoozer.worker.pulse import Pulse, boot_time

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_UP = 0.25
CLOSED = Permit(kind="closed", probe_token=None, failures=0)
LONGEST_ABSENCE = 5.0
# A worker that leaves waits so long for mails that have no mark yet.
GRACE_SECONDS = 5.0


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
        self._lanes = Lanes(worker=courier.terms.worker, lease=courier.terms.lease)
        self._poll = poll
        self._rng = rng
        self._batch_size = batch_size
        self._alone = Alone()
        self._permit = CLOSED
        self._few = batch_size // 2
        self._hands = Hands(
            concurrency=concurrency,
            few=self._few,
            deliver=attended(courier),
            let_go=pulse.let_go,
            at_the_end=courier.outbox.close,
        )

    def run(self) -> None:
        """Deliver until told to stop, or until declared dead."""
        while not self._is_over():
            if not self._has_room:
                self._hands.settle(wait_for=LOOK_UP)
                continue
            self._hands.settle(wait_for=0)
            pause = self._seconds_to_the_next()
            if pause == 0 and not self._present(self.tick):
                # What is due and was not taken (another worker's, one behind its key, an open breaker) is asked for
                # after a poll.
                pause = self._seconds_to_the_next(not_due_yet=True)
            if pause > 0:
                self._rest(pause)
        self._leave()

    def drain(self, *, sweep: Callable[[], object], every: float) -> None:
        """Deliver until nothing is due or claimed. Nobody else may be sweeping, so this does, too."""
        swept = float("-inf")
        while not self._is_over():
            if time.monotonic() - swept >= every:
                self._present(lambda: sweep() is None)
                swept = time.monotonic()
            if self._hands:
                self._hands.settle(wait_for=LOOK_UP)
            if not self._present(self.tick) and not self._hands:
                if not self._present(self._something_is_left):
                    return
                self._stopping.wait(min(self._poll, every))
        self._leave()

    def tick(self) -> int:
        """Take on what there is room for, and begin it; answers how many.

        A row that lost a worker before (a suspect) is delivered alone: nothing new is taken until all is settled, and
        then until it is, but others wait only some seconds for that, and one that cannot be had halts nobody.
        """
        if not self._pulse.is_trusted or not self._has_room:
            return 0
        # What came of the last batch is told first: a breaker that has not heard of it would let too much through.
        self._protection.tell(self._permit)
        permit = self._permit = self._protection.ask()
        if permit.kind == "open":
            return 0
        if permit.kind == "probe":
            return self._probe()
        return self._take_suspect() or self._top_up()

    def close(self) -> None:
        self._hands.close()

    def _top_up(self) -> int:
        self._lanes.buckets = self._pulse.buckets
        taken = self._begin(lambda connection: self._lanes.claim(connection, batch_size=self._room))
        if not taken:
            self._alone.nobody_else_waits()
        return len(taken)

    @property
    def _room(self) -> int:
        return self._batch_size - len(self._hands)

    @property
    def _has_room(self) -> bool:
        return len(self._hands) <= self._few

    def _take_suspect(self) -> int:
        began = time.monotonic()
        if not self._alone.may_be_next(began, busy=bool(self._hands)):
            return 0
        with at_once(self._engine) as connection:
            waits = waiting.suspect(connection, known_schema=KNOWN_SCHEMA)
        if not waits:
            self._alone.none_waits()
            return 0
        if not self._settle_all(within=self._alone.patience):
            self._alone.was_never_alone(time.monotonic())
            return 0
        taken = self._begin(self._lanes.claim_suspect)
        if taken:
            self._settle_all(within=ALONE_SECONDS)
            self._alone.was_delivered(time.monotonic(), seconds=time.monotonic() - began)
        else:
            self._alone.was_not_to_be_had(time.monotonic())
        return len(taken)

    def _probe(self) -> int:
        self._settle_all(within=ALONE_SECONDS)
        taken = self._begin(self._lanes.claim_one)
        while any(map(self._pulse.holds, taken)) and not self._is_over():
            self._hands.settle(wait_for=LOOK_UP)
        self._protection.tell(self._permit)
        self._permit = CLOSED
        return len(taken)

    def _is_over(self) -> bool:
        if self._hands.are_stuck() and not self._pulse.declared_dead.is_set():
            log.critical("a delivery does not let go; this worker gives up and leaves its claims to recovery")
            self._pulse.declared_dead.set()
        return self._stopping.is_set() or self._pulse.declared_dead.is_set()

    def _begin(self, claim: Callable[[Connection], list[Claim]]) -> list[Claim]:
        since = boot_time()
        taken = take(self._engine, terms=self._terms, claim=claim, passage=self._courier.passage)
        self._pulse.hold((delivery.claim for delivery in taken), since=since)
        telemetry.claimed(len(taken))
        self._hands.take(taken)
        return [delivery.claim for delivery in taken]

    def _settle_all(self, *, within: float = float("inf")) -> bool:
        """Wait for what is in hand, so many seconds; answers whether nothing is."""
        ends = time.monotonic() + within
        while self._hands and time.monotonic() < ends and not self._is_over():
            self._hands.settle(wait_for=LOOK_UP)
        return not self._hands

    def _leave(self) -> None:
        """Nothing new; what was not begun goes back, and after a few seconds what has no mark. The rest is finished."""
        unbegun = self._hands.give_up_unbegun()
        try:
            with self._engine.begin() as connection:
                workers.drain(connection, id=self._terms.worker)
                queue.hand_back(connection, held=[(claim.id, claim.claim_token) for claim in unbegun])
        except SQLAlchemyError as error:
            log.warning("what was not begun is recovered later: %s", reason(error))
        for claim in unbegun:
            self._pulse.let_go(claim)
        called_back, ends = False, time.monotonic() + GRACE_SECONDS
        while self._hands and not self._hands.are_stuck():
            self._hands.settle(wait_for=LOOK_UP)
            if not called_back and time.monotonic() > ends:
                called_back = True
                self._hands.call(self._courier.recall.call_back)

    def wake(self) -> None:
        """Look at the queue now. From any thread."""
        self._hands.wake()

    def _rest(self, pause: float) -> None:
        """Sleep until the next snooze is due, a poll at the most, scattered so that workers do not march in step."""
        if self._is_over():
            return
        poll = self._poll * (0.75 + self._rng.random() / 2)
        self._hands.settle(wait_for=min(poll, pause))

    def _seconds_to_the_next(self, *, not_due_yet: bool = False) -> float:
        def ask() -> float:
            with at_once(self._engine) as connection:
                return waiting.seconds_to_the_next(connection, known_schema=KNOWN_SCHEMA, not_due_yet=not_due_yet)

        return self._present(ask)

    def _something_is_left(self) -> bool:
        with at_once(self._engine) as connection:
            return waiting.unfinished(connection, known_schema=KNOWN_SCHEMA)

    def _present(self, act: Callable[[], T]) -> T:
        """Do it with the database there; wait for it as long as it takes."""
        pause = LOOK_UP
        while True:
            try:
                return act()
            except SQLAlchemyError as error:
                if not may_pass(error):
                    raise
                if self._is_over():
                    raise Leaving from None
                log.warning("the database is away: %s", reason(error))
            self._stopping.wait(pause * (0.5 + self._rng.random()))
            pause = min(pause * 2, LONGEST_ABSENCE)
