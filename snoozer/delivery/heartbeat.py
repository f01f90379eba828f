"""A worker's two clocks of liveness: its heartbeat in the registry and the leases of what it holds.

The times compared here are the machine's boot-time clock, which also runs while the machine sleeps; instants that
others see are the database's.
"""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock, Thread
from uuid import UUID

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import queue, workers
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text
from snoozer.db.timeouts import deadline
from snoozer.domain import bucket_assignment
from snoozer.domain.reminder import Claim

log = logging.getLogger(__name__)

# The share of a limit that is kept for what the boot-time clock cannot see: the way to the database and back.
SAFETY_MARGIN = 0.2
# A heartbeat that hangs is given up while there is time for another one, on another connection.
MIN_TIMEOUT = 2.0


def boot_time() -> float:
    """Seconds since the machine started, those it slept included (monotonic where there is no such clock)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass
class TrackedClaim:
    """A claim in hand, by the boot-time clock. `lease_ends` moves with each heartbeat, the deadline never."""

    claim_token: UUID
    lease_ends: float
    deadline: float


class Heartbeat:
    """Beats in a thread of its own from `start` to `stop`, and lengthens the leases of what is in hand."""

    def __init__(
        self, engine: Engine, *, worker: str, interval: float, dead_after: float, lease: float, deadline: float
    ) -> None:
        self._engine = engine
        self._worker = worker
        self._interval = interval
        self._healthy_for = dead_after * (1 - SAFETY_MARGIN)
        self._timeout = max(dead_after / 2, MIN_TIMEOUT)
        self._lease = lease
        self._deadline = deadline
        self._lock = Lock()
        self._last_success = 0.0
        self._tracked: dict[int, TrackedClaim] = {}
        self._stop = Event()
        self._thread = Thread(target=self._run, name="pulse", daemon=True)
        self._alive: list[str] = []
        self.buckets: list[int] | None = None
        self.declared_dead = Event()

    def start(self) -> None:
        """Register this incarnation and begin to beat. Raises SQLAlchemyError when the database is away."""
        before = boot_time()
        with self._engine.begin() as connection:
            workers.register(connection, id=self._worker)
            self._assign_buckets(workers.list_alive(connection))
        self._last_success = before
        self._thread.start()

    def stop(self) -> None:
        """Beat no more, and leave the registry."""
        self._stop.set()
        self._thread.join()
        try:
            with deadline(self._timeout), self._engine.begin() as connection:
                workers.deregister(connection, id=self._worker)
        except SQLAlchemyError as error:
            log.warning("the database is away (%s): this worker is declared dead by its silence", error_text(error))

    def track(self, claims: Iterable[Claim], *, since: float) -> None:
        """These claims are ours; their leases were granted after the boot time `since`."""
        with self._lock:
            for claim in claims:
                self._tracked[claim.id] = TrackedClaim(
                    claim_token=claim.claim_token, lease_ends=since + self._lease, deadline=since + self._deadline
                )

    def untrack(self, claim: Claim) -> None:
        """This claim is settled."""
        with self._lock:
            held = self._tracked.get(claim.id)
            if held is not None and held.claim_token == claim.claim_token:
                del self._tracked[claim.id]

    def is_tracked(self, claim: Claim) -> bool:
        """Is this claim in hand, and not let go of yet?"""
        with self._lock:
            held = self._tracked.get(claim.id)
        return held is not None and held.claim_token == claim.claim_token

    @property
    def is_healthy(self) -> bool:
        """Was this worker heard lately enough to take anything on?"""
        return boot_time() < self._last_success + self._healthy_for and not self.declared_dead.is_set()

    def lease_is_safe(self, id: int) -> bool:
        """May a dot be authorised for this claim? Not when the lease or the last heartbeat is nearly too old."""
        with self._lock:
            held = self._tracked.get(id)
        return held is not None and boot_time() < held.lease_ends - self._lease * SAFETY_MARGIN and self.is_healthy

    def beat(self) -> None:
        """One heartbeat. Deliveries past their absolute deadline are not held any longer; a row that somebody has
        locked keeps the lease it has. Each statement is a transaction by itself: idle workers beat all the time."""
        before = boot_time()
        with self._lock:
            held = {id: hold for id, hold in self._tracked.items() if before < hold.deadline}
        with deadline(self._timeout), autocommit(self._engine) as connection:
            living = workers.heartbeat(connection, id=self._worker)
            if living is None:
                self.declared_dead.set()
                return
            pairs = [(id, hold.claim_token) for id, hold in held.items()]
            ours = queue.extend(connection, held=pairs, lease=timedelta(seconds=self._lease)) if pairs else {}
        self._assign_buckets(living)
        self._last_success = before
        for id, hold in held.items():
            if id not in ours:
                hold.lease_ends = 0.0
            elif ours[id]:
                hold.lease_ends = before + self._lease

    def _assign_buckets(self, living: list[str]) -> None:
        """Which buckets are this worker's among the living; all of them when it is alone."""
        if living != self._alive:
            self._alive = living
            self.buckets = bucket_assignment.assigned_buckets(self._worker, workers=living) if len(living) > 1 else None

    def _run(self) -> None:
        try:
            pause = self._interval
            while not self._stop.wait(pause) and not self.declared_dead.is_set():
                began = time.monotonic()
                try:
                    self.beat()
                except Exception as error:
                    # Whatever it is: a worker that is not heard takes nothing on, and ends when it is taken for dead.
                    log.warning("no heartbeat: %s", error_text(error))
                pause = max(self._interval - (time.monotonic() - began), self._interval / 10)
        finally:
            if not self._stop.is_set():
                self.declared_dead.set()
