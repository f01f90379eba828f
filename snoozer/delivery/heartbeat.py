"""A worker's liveness: its heartbeat in the registry of workers, and the leases of its claims.

Times compared here are of the machine's boot-time clock, which also runs while the machine sleeps; instants in the
database are the database's.
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

from snoozer.db.engine import autocommit, deadline
from snoozer.db.errors import error_text
from snoozer.delivery import bucket_assignment
from snoozer.queue import queue, workers
from snoozer.queue.queue import Buckets, HeldClaims
from snoozer.queue.reminder import Claim
from snoozer.queue.workers import UNKNOWN, Description

log = logging.getLogger(__name__)

# The share of a limit reserved for time that the boot-time clock does not measure: the round trip to the database.
SAFETY_MARGIN = 0.2
# A heartbeat that hangs is abandoned while there is time for another try, on another connection.
MIN_TIMEOUT = 2.0
# After a heartbeat that failed, the next is no later than this: until one succeeds, a worker may claim nothing.
RETRY_SECONDS = 1.0


def boot_time() -> float:
    """Seconds since the machine started, including sleep (monotonic time if the system has no such clock)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass
class TrackedClaim:
    """A claim that is held, in boot time. A heartbeat moves `lease_ends`, nothing moves the deadline."""

    claim_token: UUID
    lease_ends: float
    deadline: float


class Heartbeat:
    """Sends heartbeats from its own thread from `start` to `stop`, and extends the leases of tracked claims.

    `declared_dead` is set once the registry marks this worker as dead: others recover its claims, and it must end.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        worker: str,
        interval: float,
        dead_after: float,
        lease: float,
        deadline: float,
        description: Description = UNKNOWN,
    ) -> None:
        self._engine = engine
        self._worker = worker
        self._description = description
        self._interval = interval
        self._healthy_for = dead_after * (1 - SAFETY_MARGIN)
        self._timeout = max(dead_after / 2, MIN_TIMEOUT)
        self._lease = lease
        self._deadline = deadline
        self._lock = Lock()
        self._last_success = 0.0
        self._tracked: dict[int, TrackedClaim] = {}
        self._stop = Event()
        self._thread = Thread(target=self._run, name="heartbeat", daemon=True)
        self._alive: list[str] = []
        self.buckets: Buckets = None
        self.declared_dead = Event()

    def start(self) -> None:
        """Register this worker and start beating. Raises SQLAlchemyError when the database is unavailable."""
        before = boot_time()
        with self._engine.begin() as connection:
            workers.register(connection, id=self._worker, description=self._description)
            self._assign_buckets(workers.list_alive(connection))
        self._last_success = before
        self._thread.start()

    def stop(self) -> None:
        """Stop beating and leave the registry."""
        self._stop.set()
        self._thread.join()
        try:
            with deadline(self._timeout), self._engine.begin() as connection:
                workers.deregister(connection, id=self._worker)
        except SQLAlchemyError as error:
            log.warning(
                "the database is unavailable (%s): this worker will be declared dead for its missing heartbeat",
                error_text(error),
            )

    def track(self, claims: Iterable[Claim], *, since: float) -> None:
        """Track claims whose leases were granted after the boot time `since`."""
        with self._lock:
            for claim in claims:
                self._tracked[claim.id] = TrackedClaim(
                    claim_token=claim.claim_token, lease_ends=since + self._lease, deadline=since + self._deadline
                )

    def untrack(self, claim: Claim) -> None:
        """Stop tracking a claim that has ended."""
        with self._lock:
            tracked = self._tracked.get(claim.id)
            if tracked is not None and tracked.claim_token == claim.claim_token:
                del self._tracked[claim.id]

    def untracked(self, held: HeldClaims) -> HeldClaims:
        """The given claims that are not tracked."""
        with self._lock:
            known = {(id, claim.claim_token) for id, claim in self._tracked.items()}
        return [one for one in held if one not in known]

    def is_tracked(self, claim: Claim) -> bool:
        """Is this claim still held?"""
        with self._lock:
            tracked = self._tracked.get(claim.id)
        return tracked is not None and tracked.claim_token == claim.claim_token

    @property
    def is_healthy(self) -> bool:
        """Was the last successful heartbeat recent enough to claim anything?"""
        return boot_time() < self._last_success + self._healthy_for and not self.declared_dead.is_set()

    def lease_is_safe(self, claim: Claim) -> bool:
        """May a dot be authorised for this claim? Not when the lease or the last heartbeat is nearly too old."""
        with self._lock:
            tracked = self._tracked.get(claim.id)
        if tracked is None or tracked.claim_token != claim.claim_token:
            return False
        return boot_time() < tracked.lease_ends - self._lease * SAFETY_MARGIN and self.is_healthy

    def beat(self) -> None:
        """Send one heartbeat. Leases past the delivery's deadline and leases of locked rows are not extended.

        Each statement is its own transaction, because idle workers send heartbeats all the time.
        """
        before = boot_time()
        with self._lock:
            tracked = {id: claim for id, claim in self._tracked.items() if before < claim.deadline}
        with deadline(self._timeout), autocommit(self._engine) as connection:
            alive = workers.heartbeat(connection, id=self._worker)
            if alive is None:
                self.declared_dead.set()
                return
            held = [(id, claim.claim_token) for id, claim in tracked.items()]
            extended = queue.extend(connection, held=held, lease=timedelta(seconds=self._lease)) if held else {}
        self._assign_buckets(alive)
        self._last_success = before
        for id, claim in tracked.items():
            if id not in extended:
                claim.lease_ends = 0.0
            elif extended[id]:
                claim.lease_ends = before + self._lease

    def _assign_buckets(self, alive: list[str]) -> None:
        """This worker's share of the buckets; None, for all of them, when no other worker is alive."""
        if alive != self._alive:
            self._alive = alive
            mine = bucket_assignment.assigned_buckets(self._worker, workers=alive)
            self.buckets = f"{{{','.join(map(str, mine))}}}" if len(alive) > 1 else None

    def _run(self) -> None:
        try:
            wait = self._interval
            while not self._stop.wait(wait) and not self.declared_dead.is_set():
                began, interval = time.monotonic(), self._interval
                try:
                    self.beat()
                except Exception as error:
                    # Continue after any error: without heartbeats a worker claims no row, and ends once it is declared
                    # dead.
                    log.warning("no heartbeat: %s", error_text(error))
                    interval = min(interval, RETRY_SECONDS)
                wait = max(interval - (time.monotonic() - began), interval / 10)
        finally:
            if not self._stop.is_set():
                self.declared_dead.set()
