"""The pipeline of a worker: many deliveries on one event loop, with marks and endings committed in batches.

The event loop has its own thread, which composes and sends mails; marks and endings each have a thread that talks to
the database, so that only the mails concerned wait for a commit.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from threading import Event, Thread
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db.engine import autocommit
from snoozer.db.errors import is_lasting, is_row_error, is_unavailable
from snoozer.delivery.claiming import ROUTE, Delivery
from snoozer.delivery.deliver import Job, Tools
from snoozer.delivery.refused_rows import Dot, RefusedRow, authorise_individually
from snoozer.delivery.settling import Ending, PendingEnding, Settler
from snoozer.mail.smtp.errors import CircuitOpen, ServerUnavailable
from snoozer.queue import events, ledger, queue
from snoozer.queue.queue import HeldClaims
from snoozer.queue.reminder import Claim, DeliveryOutcome, Send

TICK_SECONDS = 1.0
STALL_SECONDS = 60.0
# How long a delivery waits for its turn when the server's limits are reached; far less than a lease.
MAX_WAIT_SECONDS = 30.0
# A batch of marks is a third of the mails on their way, or the mails gathered in this time.
MARK_SHARE = 3
MARK_LINGER_SECONDS = 0.003
# How often to try the mark of a row that another transaction has locked, and the seconds between the tries.
MARK_TRIES, MARK_PAUSE = 10, 0.02
# A batch of endings has this size, or contains what was gathered in this time.
ENDINGS_SIZE, ENDINGS_LINGER_SECONDS = 100, 0.005

Request = TypeVar("Request")
Result = TypeVar("Result")


class Verdict(Enum):
    """Whether a dot may be sent: yes, not now (the row is locked, has changed or has an obstacle), or the claim is
    lost."""

    AUTHORISED = auto()
    NOT_NOW = auto()
    LOST = auto()


class BatchExecutor(Generic[Request, Result]):
    """`execute` is called in a thread with all gathered requests; then `on_result` on the loop, with each of them.

    While one batch runs, the next one gathers: until there are `full` requests, or for `linger` seconds. A batch that
    raises is halved down to the one request that raises, whose result is the exception; if the database is unavailable,
    all requests get the exception at once. `on_result` must not raise. For one event loop.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Request]], Sequence[Result]],
        *,
        name: str,
        on_result: Callable[[Request, Result | Exception], None],
        full: Callable[[], int],
        linger: float,
    ) -> None:
        self._execute = execute
        self._on_result = on_result
        self._full = full
        self._linger = linger
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._gathered: list[Request] = []
        self._running = False
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Requests that are not being executed yet."""
        return len(self._gathered)

    def add(self, request: Request, *, at_once: bool = False) -> None:
        """Execute the request with others, or `at_once` if no other is expected."""
        self._gathered.append(request)
        if at_once:
            self._start()
        else:
            self._schedule()

    def _schedule(self) -> None:
        if self._running or not self._gathered:
            return
        if len(self._gathered) >= self._full():
            self._start()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._linger, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running or not self._gathered:
            return
        self._running = True
        batch, self._gathered = self._gathered, []
        loop = asyncio.get_running_loop()
        self._thread.submit(self._results, batch).add_done_callback(
            lambda done: loop.call_soon_threadsafe(self._finish, batch, done.result())
        )

    def _finish(self, batch: Sequence[Request], results: Sequence[Result | Exception]) -> None:
        self._running = False
        for request, result in zip(batch, results, strict=True):
            self._on_result(request, result)
        self._schedule()

    def _results(self, batch: Sequence[Request]) -> Sequence[Result | Exception]:
        try:
            return self._execute(batch)
        except BaseException as error:
            # Give every request a result, whatever ended the batch.
            problem = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            if len(batch) == 1 or (isinstance(problem, SQLAlchemyError) and is_unavailable(problem)):
                return [problem] * len(batch)
        middle = len(batch) // 2
        return [*self._results(batch[:middle]), *self._results(batch[middle:])]


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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._tools = tools
        self._pool = tools.pool
        self._pool.source = self
        self._settler = settler
        self._on_done = on_done
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
        self._marks: BatchExecutor[Job, Verdict | RefusedRow] = BatchExecutor(
            self._authorise,
            name="marks",
            on_result=self._on_verdict,
            full=lambda: (len(self._jobs) - self._pool.slow) // MARK_SHARE,
            linger=MARK_LINGER_SECONDS,
        )
        self._endings: BatchExecutor[PendingEnding, DeliveryOutcome | None] = BatchExecutor(
            settler.settle,
            name="endings",
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
        """Start them, each as soon as there is a session for it."""
        self._submitted += len(deliveries)
        jobs = [
            Job(one, tools=self._tools, on_body_sent=self._request_mark, on_retry=self._retry, on_end=self._end)
            for one in deliveries
        ]
        self._loop.call_soon_threadsafe(self._take, jobs)

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
        """Mails that have no session yet."""
        return len(self._pending)

    def next_mail(self) -> Job | None:
        """The next mail, composed; None when there is none."""
        while self._pending:
            job = self._pending.popleft()
            if not job.has_ended and job.prepare():
                self._jobs.add(job)
                return job
        return None

    def on_unavailable(self, error: ServerUnavailable | CircuitOpen) -> None:
        """One delivery failed to get a connection; CircuitOpen is about all that wait."""
        for _ in range(len(self._pending) if isinstance(error, CircuitOpen) else 1):
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
        # Deliveries that need no mail do not wait for a mail server.
        self._pending.extend(job for job in jobs if job.delivery.send is not None or job.prepare())
        self._pool.wake()

    def _cancel_pending(self) -> None:
        while self._pending:
            self._pending.popleft().cancel()

    def _cancel_unmarked(self) -> None:
        self._cancel_pending()
        for job in [job for job in self._jobs if job.is_cancellable]:
            job.cancel()

    def _retry(self, job: Job) -> None:
        """A mail that lost its session before its dot goes first."""
        self._jobs.discard(job)
        self._pending.appendleft(job)

    def _request_mark(self, job: Job) -> None:
        if not job.has_ended:
            job.is_marking = True
            self._marks.add(job)
            self._loop.call_soon(self._prepare_ahead)

    def _prepare_ahead(self) -> None:
        """Compose the next mail while the mark of the present one is being made."""
        for job in self._pending:
            if not (job.digest or job.has_ended):
                job.prepare()
                return

    def _authorise(self, jobs: Sequence[Job]) -> list[Verdict | RefusedRow]:
        """The verdict on each dot, after the commit."""
        dots = [(job.send, job.digest) for job in jobs]
        refused: dict[int, RefusedRow] = {}
        try:
            # The events of resends belong to the same transaction; without them, a single statement needs none.
            may_resend = any(send.resends for send, _ in dots)
            with self._engine.begin() if may_resend else autocommit(self._engine) as connection:
                authorised = self._authorise_all(connection, dots)
        except DBAPIError as error:
            if not is_row_error(error):
                raise
            authorised, refused = authorise_individually(self._engine, dots=dots, authorise=self._authorise_all)
        denied = [(send.snooze_id, send.claim_token) for send, _ in dots if send.claim_token not in authorised]
        owned = self._owned(denied) if denied else set()

        def verdict(send: Send) -> Verdict | RefusedRow:
            if send.claim_token in authorised:
                return Verdict.AUTHORISED
            denial = Verdict.NOT_NOW if send.snooze_id in owned else Verdict.LOST
            return refused.get(send.snooze_id, denial)

        return [verdict(send) for send, _ in dots]

    def _authorise_all(self, connection: Connection, dots: Sequence[Dot]) -> set[UUID]:
        config = self._tools.config
        authorised = ledger.authorise(connection, dots=dots, uncertainty=config.uncertainty)
        for one in authorised:
            if one.resent:
                events.append(connection, snooze_id=one.snooze_id, kind="resent", actor=config.actor, route=ROUTE)
        return {one.claim_token for one in authorised}

    def _owned(self, denied: HeldClaims) -> set[int]:
        try:
            with autocommit(self._engine) as connection:
                return queue.owned(connection, held=denied)
        except SQLAlchemyError:
            # Others are authorised all the same; ask for these again.
            return {id for id, _ in denied}

    def _on_verdict(self, job: Job, result: Verdict | RefusedRow | Exception) -> None:
        job.is_marking = False
        job.mark_tries += 1
        if result is Verdict.AUTHORISED:
            job.send_dot()
        elif isinstance(result, RefusedRow):
            job.refuse(result)
        elif result is Verdict.NOT_NOW and job.mark_tries < MARK_TRIES:
            self._loop.call_later(MARK_PAUSE, self._request_mark, job)
        else:
            if isinstance(result, SQLAlchemyError) and is_lasting(result):
                self.failure = result
                self._wakeup.set()
            # The commit may have succeeded although its reply was lost.
            job.deny(may_be_marked=isinstance(result, Exception))

    def _end(self, job: Job, ending: Ending) -> None:
        self._jobs.discard(job)
        self._ended += 1
        is_last = self._submitted == self._ended
        self._endings.add(self._settler.pending(ending, lambda outcome: self._finish(job, outcome)), at_once=is_last)
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
