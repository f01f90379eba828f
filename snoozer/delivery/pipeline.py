"""The pipeline of a worker: many deliveries on one event loop, with marks and endings committed in batches.

The event loop has its own thread, which composes and sends mails, and talks to the database about marks and endings
while the next mails go on, so that only the mails concerned wait for a commit.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db.engine import autocommit
from snoozer.db.errors import is_lasting, is_row_error
from snoozer.delivery.ahead import PreparedMails
from snoozer.delivery.claiming import ROUTE, Delivery
from snoozer.delivery.deliver import Job, Tools
from snoozer.delivery.heartbeat import boot_time
from snoozer.delivery.settling import BatchExecutor, Ending, PendingEnding, Settler
from snoozer.delivery.verdicts import Denial, Dot, Permission, Permissions, RefusedRow, Verdict, authorise_individually
from snoozer.mail.smtp.errors import CircuitOpen, ServerUnavailable
from snoozer.queue import events, ledger, queue
from snoozer.queue.reminder import Claim, DeliveryOutcome, Send

TICK_SECONDS = 1.0
STALL_SECONDS = 60.0
# How long a delivery waits for its turn when the server's limits are reached; far less than a lease.
MAX_WAIT_SECONDS = 30.0
# A batch of marks is two thirds of the mails on their way, or the mails gathered in this time.
MARK_SHARE = 2 / 3
MARK_LINGER_SECONDS = 0.003
# How often to try the mark of a row that another transaction has locked, and the seconds between the tries.
MARK_TRIES, MARK_PAUSE = 10, 0.02
# A batch of endings has this size, or contains what was gathered in this time.
ENDINGS_SIZE, ENDINGS_LINGER_SECONDS = 100, 0.01


class DeliveryPipeline:
    """Delivers submitted claims; `on_done` is called with each claim whose ending is settled.

    All methods except `wake` are for one thread, the worker's. That thread is woken when `low_watermark` deliveries are
    active, when none is left, and for each with a serialization key: waking it for every delivery would spend most of
    the time on switching.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        tools: Tools,
        settler: Settler,
        low_watermark: int,
        on_done: Callable[[Claim], None],
        on_claim: Callable[[Claim, float], None],
        on_drop: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._tools = tools
        self._pool = tools.pool
        self._pool.source = self
        self._settler = settler
        self._on_done = on_done
        self._on_claim = on_claim
        self._on_drop = on_drop
        self._ahead = PreparedMails(
            share=lambda: self._pool.capacity // 2, wake=self._pool.wake, authorise=self._request_marks
        )
        self._clock = clock
        self._low_watermark = low_watermark
        # Counted by the worker's thread, by the event loop's, and by the worker's.
        self._submitted = self._ended = self._done = 0
        # Whether the end of a delivery saw few active ones since the last submission.
        self._were_few = False
        self._pending: deque[Job] = deque()
        self._jobs: set[Job] = set()
        self._finished: deque[Claim] = deque()
        self._wakeup = Event()
        self._ticks = self._seen_ticks = 0
        self._seen_at = clock()
        self._stalled_for = 0.0
        # Why no dot can be authorised until something is mended: a missing right or column.
        self.failure: SQLAlchemyError | None = None
        self._marks: BatchExecutor[Job, Verdict] = BatchExecutor(
            self._authorise,
            on_result=self._on_verdict,
            full=lambda: int(MARK_SHARE * (len(self._jobs) - self._pool.slow)),
            linger=MARK_LINGER_SECONDS,
        )
        self._endings: BatchExecutor[PendingEnding, DeliveryOutcome | None] = BatchExecutor(
            settler.settle,
            on_result=self._on_ending,
            full=lambda: ENDINGS_SIZE,
            linger=ENDINGS_LINGER_SECONDS,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="deliveries", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Deliveries whose end was not seen by `reap`."""
        return self._submitted - self._done

    @property
    def active(self) -> int:
        """Deliveries that need a turn: neither settling nor waiting for a slow reply."""
        return self._submitted - self._ended - self._pool.slow

    def submit(self, deliveries: Sequence[Delivery]) -> None:
        """Start them, each as soon as there is a session for it, or at its time.

        A delivery that was read ahead has no claim yet: `on_claim` is called with its claim and the boot time that the
        claim is newer than. If its mail cannot be prepared, it ends without a claim, and `on_drop` is called.
        """
        self._submitted += len(deliveries)
        jobs = [
            Job(one, tools=self._tools, on_body_sent=self._on_body_sent, on_retry=self._retry, on_end=self._end)
            for one in deliveries
        ]
        self._loop.call_soon_threadsafe(self._take, jobs)

    def drop_prepared(self) -> None:
        """Drop what was read ahead, unless its dot is being authorised."""
        self._loop.call_soon_threadsafe(self._ahead.drop_all)

    def reap(self, *, timeout: float) -> None:
        """Call `on_done` for ended deliveries, after at most `timeout` seconds, or once few are active, or on
        `wake`."""
        if timeout > 0:
            self._wakeup.wait(timeout)
        self._wakeup.clear()
        while self._finished:
            self._done += 1
            self._on_done(self._finished.popleft())

    def wake(self) -> None:
        """End the wait in `reap`. From any thread."""
        self._wakeup.set()

    def is_stalled(self) -> bool:
        """Has a delivery blocked the loop for `STALL_SECONDS`?

        Call it repeatedly. Time between calls counts little, because the whole process may have slept.
        """
        now, ticks = self._clock(), self._ticks
        self._stalled_for = (
            0.0 if ticks != self._seen_ticks else self._stalled_for + min(now - self._seen_at, TICK_SECONDS)
        )
        self._seen_at, self._seen_ticks = now, ticks
        return self._stalled_for > STALL_SECONDS

    def cancel_pending(self) -> None:
        """Give back deliveries that have no session yet."""
        self._loop.call_soon_threadsafe(self._cancel_pending)

    def cancel_unmarked(self) -> None:
        """Give back deliveries that have no mark yet, even in the middle of a mail."""
        self._loop.call_soon_threadsafe(self._cancel_unmarked)

    def close(self) -> None:
        """Wait for started deliveries, unless the loop is stalled, and quit the sessions."""
        self.cancel_pending()
        while self:
            self.reap(timeout=TICK_SECONDS)
            if self.is_stalled():
                return
        asyncio.run_coroutine_threadsafe(self._pool.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Mails that can begin and have no session yet."""
        return len(self._pending) + (self._ahead.startable if self._ahead.waiting else 0)

    @property
    def overdue(self) -> int:
        """The waiting mails whose time has come."""
        return len(self._pending)

    def next_mail(self, *, overdue: bool = False) -> Job | None:
        """The next mail, composed, first of what is overdue; None when there is none."""
        while self._pending:
            job = self._pending.popleft()
            if not job.has_ended and job.prepare():
                self._jobs.add(job)
                return job
        prepared = self._ahead.next() if self._ahead.waiting and not overdue else None
        if prepared is not None:
            self._jobs.add(prepared)
        return prepared

    def on_unavailable(self, error: ServerUnavailable | CircuitOpen) -> None:
        """One delivery failed to get a connection; CircuitOpen is about all that wait."""
        is_about_all = isinstance(error, CircuitOpen)
        if is_about_all or not self._pending:
            self._ahead.drop(limit=None if is_about_all else 1)
        for _ in range(len(self._pending) if is_about_all else 1):
            if self._pending:
                self._pending.popleft().postpone(error)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._tick()
        self._loop.run_forever()
        self._loop.close()

    def _tick(self) -> None:
        self._ticks += 1
        longest = time.monotonic() - MAX_WAIT_SECONDS
        while self._pending and self._pending[0].queued_at < longest:
            self._pending.popleft().cancel()
        self._loop.call_later(TICK_SECONDS, self._tick)

    def _take(self, jobs: Sequence[Job]) -> None:
        self._were_few = False
        claimed, prepared = [job for job in jobs if job.is_claimed], [job for job in jobs if not job.is_claimed]
        # Deliveries that need no mail do not wait for a mail server.
        self._pending.extend(job for job in claimed if job.delivery.send is not None or job.prepare())
        self._pool.wake()
        if prepared:
            self._ahead.add(prepared)

    def _cancel_pending(self) -> None:
        self._ahead.drop_all()
        while self._pending:
            self._pending.popleft().cancel()

    def _cancel_unmarked(self) -> None:
        self._cancel_pending()
        for job in [job for job in self._jobs if job.is_cancellable]:
            job.cancel()

    def _retry(self, job: Job) -> None:
        """A mail that lost its session before its dot goes first."""
        self._jobs.discard(job)
        if job.is_claimed:
            self._pending.appendleft(job)
        else:
            self._ahead.release(job)
            self._ahead.add([job])

    def _on_body_sent(self, job: Job) -> None:
        if job.is_claimed:
            self._request_mark(job)
        else:
            self._ahead.add_ready(job)

    def _request_marks(self, jobs: Sequence[Job]) -> None:
        """Authorise the dots of mails that were prepared ahead, at once."""
        for place, job in enumerate(jobs, start=1):
            job.is_marking = True
            self._marks.add(job, at_once=place == len(jobs))

    def _request_mark(self, job: Job) -> None:
        if not job.has_ended:
            job.is_marking = True
            self._marks.add(job)
            self._loop.call_soon(self._prepare_next)

    def _prepare_next(self) -> None:
        """Compose the next mail while the mark of the present one is being made."""
        for job in self._pending:
            if not (job.digest or job.has_ended):
                job.prepare()
                return

    def _authorise(self, jobs: Sequence[Job]) -> list[Verdict]:
        """The verdict on each dot, after the commit. A row that was read ahead is held only with a permission."""
        dots = [job.dot for job in jobs]
        refused: dict[int, RefusedRow] = {}
        # Claims, and the events of resends, belong to the same transaction; a single statement needs none.
        is_single = not any(dot.version is not None or dot.send.resends for dot in dots)
        try:
            with autocommit(self._engine) if is_single else self._engine.begin() as connection:
                permissions = self._authorise_all(connection, dots)
        except DBAPIError as error:
            if not is_row_error(error):
                raise
            permissions, refused = authorise_individually(self._engine, dots=dots, authorise=self._authorise_all)
        denied = [dot.send for dot in dots if dot.version is None and dot.send.claim_token not in permissions]
        owned = self._owned(denied) if denied else set()

        def verdict(send: Send) -> Verdict:
            if send.claim_token in permissions:
                return permissions[send.claim_token]
            denial = Denial.NOT_NOW if send.snooze_id in owned else Denial.LOST
            return refused.get(send.snooze_id, denial)

        return [verdict(dot.send) for dot in dots]

    def _authorise_all(self, connection: Connection, dots: Sequence[Dot]) -> Permissions:
        config, since = self._tools.config, boot_time()
        read = [(dot.send.snooze_id, dot.send.claim_token, dot.version) for dot in dots if dot.version is not None]
        limits: dict[str, Any] = {"lease": config.lease, "any_timeline": config.any_timeline}
        claims = queue.claim_read(connection, rows=read, worker=config.worker, **limits) if read else {}
        mails = [(dot.send, dot.digest) for dot in dots if dot.version is None or dot.send.claim_token in claims]
        began = time.monotonic()
        authorised = ledger.authorise(connection, dots=mails, uncertainty=config.uncertainty)
        ended = time.monotonic()
        for one in authorised:
            if one.resent:
                events.append(connection, snooze_id=one.snooze_id, kind="resent", actor=config.actor, route=ROUTE)
            claims.pop(one.claim_token, None)
        if claims:
            queue.unclaim(connection, held=[(id, token) for token, id in claims.items()])
        return {
            one.claim_token: Permission(due=ended + one.early, read_in=ended - began, since=since) for one in authorised
        }

    def _owned(self, sends: Sequence[Send]) -> set[int]:
        try:
            with autocommit(self._engine) as connection:
                return queue.owned(connection, held=[(send.snooze_id, send.claim_token) for send in sends])
        except SQLAlchemyError:
            # Others are authorised all the same; ask for these again.
            return {send.snooze_id for send in sends}

    def _on_verdict(self, job: Job, result: Verdict | Exception) -> None:
        job.is_marking = False
        job.mark_tries += 1
        if isinstance(result, Permission) and job.is_claimed:
            job.send_dot()
        elif isinstance(result, Permission):
            self._on_claim(job.claim, result.since)
            self._ahead.hold(job, result)
        elif isinstance(result, RefusedRow):
            job.refuse(result)
        elif result is Denial.NOT_NOW and job.mark_tries < MARK_TRIES:
            self._loop.call_later(MARK_PAUSE, self._request_mark, job)
        else:
            if isinstance(result, SQLAlchemyError) and is_lasting(result):
                self.failure = result
                self._wakeup.set()
            # The commit may have succeeded although its reply was lost.
            may_be_marked = isinstance(result, Exception)
            job.is_claimed = job.is_claimed or may_be_marked
            job.deny(may_be_marked=may_be_marked)

    def _end(self, job: Job, ending: Ending) -> None:
        self._jobs.discard(job)
        self._ended += 1
        if job.is_claimed:
            is_last = self._submitted == self._ended
            pending = self._settler.pending(ending, lambda outcome: self._finish(job, outcome))
            self._endings.add(pending, at_once=is_last)
        else:
            self._finished.append(job.claim)
            self._on_drop()
        if job.delivery.version is not None:
            self._ahead.release(job)
        self._wake_if_few()

    def _on_ending(self, pending: PendingEnding, result: DeliveryOutcome | Exception | None) -> None:
        wait = self._settler.retry_after(pending, result)
        if wait is not None:
            self._loop.call_later(wait, self._endings.add, pending)

    def _finish(self, job: Job, outcome: DeliveryOutcome) -> None:
        job.finish(outcome)
        self._finished.append(job.claim)
        # The next row of its key waited for this row.
        if len(self._finished) + self._done >= self._submitted or job.claim.serialization_key is not None:
            self._wakeup.set()

    def _wake_if_few(self) -> None:
        self._pool.count_slow()
        were_few, self._were_few = self._were_few, self.active <= self._low_watermark
        if (self._were_few and not were_few) or self._submitted == self._ended:
            self._wakeup.set()
