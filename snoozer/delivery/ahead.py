"""Mails that are prepared ahead: rows due soon are read, their mails composed and brought to just before the dot.

Nothing is claimed or written for that, so these rows are asleep to everybody, and a worker that is lost leaves nothing
behind. A few milliseconds before its time, a row is claimed and its dot authorised in one transaction, if the row is as
it was read; the dot leaves once the time has come by the database's clock. A mail that cannot be prepared is dropped,
and its row is claimed once it is due, like any other.
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count

from sqlalchemy import Engine

from snoozer.db.engine import autocommit
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.delivery.claiming import FAIR_SHARE, Delivery, DeliveryConfig
from snoozer.delivery.deliver import Job
from snoozer.delivery.verdicts import Permission
from snoozer.queue import ledger, queue
from snoozer.queue.queue import Buckets, ReadRows

# A worker reads ahead what is due within the horizon, once a row is due within LEAD_SECONDS.
HORIZON = timedelta(seconds=0.6)
LEAD_SECONDS = 0.25
# How long before its time a mail is brought to its dot, and when it is too late to begin with it.
BODY_SECONDS, TOO_LATE_SECONDS = 0.15, 0.008
# How long before its time a dot is authorised: longer than any of the last authorisations took, within limits. Those
# that are due within GATHER_SECONDS more are authorised with it.
MIN_MARGIN, MAX_MARGIN = 0.015, 0.1
SPREAD, KNOWN_TIMES, UNKNOWN_TIME = 1.5, 64, 0.03
GATHER_SECONDS = 0.01
# A database's clock that is slewed runs at most so much slower.
SLEW = 0.0005
# Timers of the loop are up to a millisecond late, so the last part of a wait is slept.
TIMER_SECONDS = 0.0012
# While a dot is due within this time, no mail is composed.
QUIET_SECONDS = 0.002


def read_ahead(
    engine: Engine, *, config: DeliveryConfig, limit: int, read: ReadRows, buckets: Buckets, server: str
) -> list[Delivery]:
    """Read at most `limit` rows that are due soon, besides the rows `read` before, with their mails."""
    with autocommit(engine) as connection:
        found = queue.upcoming(
            connection,
            horizon=HORIZON,
            limit=limit,
            share=max(limit // FAIR_SHARE, 1),
            read=read,
            known_schema=SUPPORTED_SCHEMA,
            buckets=buckets,
            server=server,
        )
        now = time.monotonic()
        ids = [row.claim.id for row in found]
        sends = (
            ledger.list_sendable(connection, worker=None, ids=ids, domain=config.domain, uncertainty=config.uncertainty)
            if ids
            else []
        )
    mails = {send.snooze_id: send for send in sends if send.digest_id is None}
    return [
        Delivery(
            claim=row.claim,
            send=replace(mails[row.claim.id], claim_token=row.claim.claim_token),
            version=row.version,
            due=now + row.early * (1 + SLEW),
        )
        for row in found
        if row.claim.id in mails
    ]


def dot_time(delivery: Delivery, permission: Permission) -> float:
    """When the dot may leave, by the monotonic clock. The database's clock was read twice, and each time surely a
    little before its answer came, so the earlier result is the better one; unless that clock was set back."""
    was_set_back = delivery.due < permission.due - permission.read_in
    return permission.due if was_set_back else min(delivery.due, permission.due)


class PreparedMails:
    """The mails of one worker that are prepared ahead, up to their authorisation. For one event loop.

    `share` is how many of them may hold a session. `wake` is called when mails can begin, `authorise` with the
    mails whose dots must be authorised now.
    """

    def __init__(
        self, *, share: Callable[[], int], wake: Callable[[], None], authorise: Callable[[Sequence[Job]], None]
    ) -> None:
        self._share = share
        self._wake = wake
        self._authorise = authorise
        self._order = count()
        # By the time that they are due: mails without a session, and mails whose body was sent. Whether any waits is
        # asked for each mail of a drain.
        self.waiting: list[tuple[float, int, Job]] = []
        self._ready: list[tuple[float, int, Job]] = []
        self._uncomposed: deque[Job] = deque()
        self._composing = False
        self._holding: set[Job] = set()
        self._asked_at: dict[Job, float] = {}
        self._times: deque[float] = deque(maxlen=KNOWN_TIMES)
        self._timer: asyncio.TimerHandle | None = None

    def add(self, jobs: Sequence[Job]) -> None:
        """Prepare these mails."""
        for job in jobs:
            heapq.heappush(self.waiting, (job.delivery.due, next(self._order), job))
        self._uncomposed.extend(jobs)
        self._compose()
        self._turn()

    @property
    def startable(self) -> int:
        """How many mails may begin now."""
        room, latest = self._share() - len(self._holding), time.monotonic() + BODY_SECONDS
        if room <= 0 or not self.waiting or self.waiting[0][0] > latest:
            return 0
        return min(room, sum(due <= latest and not job.has_ended for due, _, job in self.waiting))

    def next(self) -> Job | None:
        """The next mail, which holds a session from now on; None if there is none."""
        while self.startable:
            job = heapq.heappop(self.waiting)[2]
            if not job.has_ended and job.prepare():
                self._holding.add(job)
                return job
        return None

    def add_ready(self, job: Job) -> None:
        """Its body was sent."""
        heapq.heappush(self._ready, (job.delivery.due, next(self._order), job))
        self._turn()

    def hold(self, job: Job, permission: Permission) -> None:
        """Send its dot at its time."""
        self._times.append(time.monotonic() - self._asked_at[job])
        due = dot_time(job.delivery, permission)
        job.hold(until=due)
        asyncio.get_running_loop().call_at(due - TIMER_SECONDS, self._send, job, due)

    def release(self, job: Job) -> None:
        """It holds no session any more, or its dot leaves."""
        if job in self._holding:
            self._holding.discard(job)
            self._asked_at.pop(job, None)
            self._turn()

    def drop(self, *, limit: int | None = None) -> None:
        """Drop the mails without a session, or the first of them."""
        for _ in range(len(self.waiting) if limit is None else min(limit, len(self.waiting))):
            heapq.heappop(self.waiting)[2].cancel()

    def drop_all(self) -> None:
        """Drop all mails whose dots are not being authorised."""
        self.drop()
        for job in [job for job in self._holding if job.is_cancellable]:
            job.cancel()

    @property
    def _margin(self) -> float:
        return min(max(SPREAD * max(self._times, default=UNKNOWN_TIME), MIN_MARGIN), MAX_MARGIN)

    def _turn(self) -> None:
        """Do what is due, and come back when more is."""
        now = time.monotonic()
        _forget_ended(self.waiting)
        while self.waiting and self.waiting[0][0] - TOO_LATE_SECONDS <= now:
            heapq.heappop(self.waiting)[2].cancel()
            _forget_ended(self.waiting)
        _forget_ended(self._ready)
        margin = self._margin
        if self._ready and self._ready[0][0] - margin <= now:
            latest, jobs = self._ready[0][0] + GATHER_SECONDS, []
            while self._ready and self._ready[0][0] <= latest:
                job = heapq.heappop(self._ready)[2]
                if not job.has_ended:
                    jobs.append(job)
            self._asked_at |= dict.fromkeys(jobs, now)
            self._authorise(jobs)
        if self.startable:
            self._wake()
        self._schedule(now, margin)

    def _send(self, job: Job, due: float) -> None:
        time.sleep(max(due - time.monotonic(), 0.0))
        job.send_dot()
        self.release(job)

    def _schedule(self, now: float, margin: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        times = [self._ready[0][0] - margin] if self._ready else []
        if self.waiting:
            begin, end = self.waiting[0][0] - BODY_SECONDS, self.waiting[0][0] - TOO_LATE_SECONDS
            times.append(begin if begin > now else end)
        if times:
            self._timer = asyncio.get_running_loop().call_at(min(times), self._turn)

    def _compose(self) -> None:
        """Compose one mail in each turn of the loop, but none just before a dot."""
        if self._composing or not self._uncomposed:
            return
        self._composing = True
        loop, now = asyncio.get_running_loop(), time.monotonic()
        if any(0 < job.delivery.due - now < QUIET_SECONDS for job in self._holding):
            loop.call_later(QUIET_SECONDS, self._compose_next)
        else:
            loop.call_soon(self._compose_next)

    def _compose_next(self) -> None:
        self._composing = False
        job = self._uncomposed.popleft()
        if not job.has_ended:
            job.prepare()
        self._compose()


def _forget_ended(heap: list[tuple[float, int, Job]]) -> None:
    while heap and heap[0][2].has_ended:
        heapq.heappop(heap)
