"""How a worker's work runs: deliveries side by side on one event loop, their database work beside it in threads.

Many database requests share one statement, and what fails because the database is unavailable is retried.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from threading import Event, Lock, Thread
from typing import Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db.errors import is_row_error, is_transient, is_unavailable
from snoozer.delivery.claiming import Delivery
from snoozer.domain.reminder import Claim, DeliveryOutcome
from snoozer.runtime.backoff import Backoff

Request = TypeVar("Request")
Result = TypeVar("Result")
T = TypeVar("T")
P = ParamSpec("P")

TICK_SECONDS = 1.0
STALL_SECONDS = 60.0
LINGER_SECONDS = 0.005
# Threads that may wait for the database or for a row lock.
RETRY_THREADS = 4
INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 2.0


class DeliveryExecutor:
    """Runs `deliver` for up to `concurrency` deliveries at once; `on_done` is called with each claim that is done.

    `deliver` may call its second argument early: the slot is then free for the next delivery while the rest of this one
    goes on. Everything but `wake` is for one thread, the worker's. That thread is woken when `low_watermark` deliveries
    are left and when none is: waking it for each would spend most time on switching threads.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        low_watermark: int,
        deliver: Callable[[Delivery, Callable[[], None]], Awaitable[DeliveryOutcome]],
        on_done: Callable[[Claim], None],
        on_close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._concurrency = concurrency
        self._deliver = deliver
        self._on_done = on_done
        self._on_close = on_close
        self._clock = clock
        self._low_watermark = low_watermark
        self._in_flight = 0
        self._unfinished = 0
        self._pending: deque[Delivery] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[int] = set()
        self._finished: deque[Delivery] = deque()
        self._wakeup = Event()
        self._lock = Lock()
        self._ticks = self._seen_ticks = 0
        self._seen_at = clock()
        self._stalled_for = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="deliveries", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Deliveries that are running or pending, until `reap` has seen their end."""
        return self._in_flight

    def submit(self, deliveries: Sequence[Delivery]) -> None:
        """Start them, each as soon as a slot is free."""
        self._in_flight += len(deliveries)
        with self._lock:
            self._unfinished += len(deliveries)
            self._pending.extend(deliveries)
        self._loop.call_soon_threadsafe(self._start_next)

    def reap(self, *, timeout: float) -> None:
        """Call `on_done` for what has ended, after a wait of at most `timeout` seconds for few to be left or `wake`."""
        if timeout > 0:
            self._wakeup.wait(timeout)
        self._wakeup.clear()
        while self._finished:
            self._in_flight -= 1
            self._on_done(self._finished.popleft().claim)

    def wake(self) -> None:
        """End the wait in `reap`. From any thread."""
        self._wakeup.set()

    def call_on_loop(self, act: Callable[[], None]) -> None:
        """Call it on the event loop of the deliveries."""
        self._loop.call_soon_threadsafe(act)

    def is_stalled(self) -> bool:
        """Has a delivery blocked the loop for `STALL_SECONDS`?

        To be called again and again. Time between calls counts little, because the whole process may have slept.
        """
        now, ticks = self._clock(), self._ticks
        self._stalled_for = (
            0.0 if ticks != self._seen_ticks else self._stalled_for + min(now - self._seen_at, TICK_SECONDS)
        )
        self._seen_at, self._seen_ticks = now, ticks
        return self._stalled_for > STALL_SECONDS

    def cancel_pending(self) -> list[Claim]:
        """Drop what was not started; returns its claims, for which `on_done` is not called."""
        with self._lock:
            dropped = [delivery.claim for delivery in self._pending]
            self._pending.clear()
            self._unfinished -= len(dropped)
        self._in_flight -= len(dropped)
        return dropped

    def close(self) -> None:
        """Wait for what was started, unless the loop is stalled; `on_close` runs on the loop at its end."""
        self.cancel_pending()
        while self:
            self.reap(timeout=TICK_SECONDS)
            if self.is_stalled():
                return
        self._loop.call_soon_threadsafe(self._close_loop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._tick()
        self._loop.run_forever()
        self._loop.close()

    def _tick(self) -> None:
        self._ticks += 1
        self._loop.call_later(TICK_SECONDS, self._tick)

    def _start_next(self) -> None:
        while len(self._busy) < self._concurrency and (delivery := self._pop_pending()):
            self._busy.add(delivery.claim.id)
            task = self._loop.create_task(self._run_one(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _pop_pending(self) -> Delivery | None:
        with self._lock:
            return self._pending.popleft() if self._pending else None

    async def _run_one(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery, partial(self._free_slot, delivery))
        finally:
            self._free_slot(delivery)
            self._finished.append(delivery)
            with self._lock:
                self._unfinished -= 1
                left = self._unfinished
            if left in (self._low_watermark, 0):
                self._wakeup.set()

    def _free_slot(self, delivery: Delivery) -> None:
        if delivery.claim.id in self._busy:
            self._busy.remove(delivery.claim.id)
            self._loop.call_soon(self._start_next)

    def _close_loop(self) -> None:
        try:
            self._on_close()
        finally:
            # One more turn of the loop, in which connections are closed.
            self._loop.call_soon(self._loop.call_soon, self._loop.stop)


class BatchExecutor(Generic[Request, Result]):
    """Called with one request each, on one event loop; `execute` gets many and returns a result for each, in order.

    While one batch runs, in a thread of its own, the next one gathers. It waits up to `linger` seconds for requests
    that are announced by `expecting`. When `execute` raises for several, each is tried alone, unless the database is
    unavailable, which fails all.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Request]], Sequence[Result]],
        *,
        name: str,
        linger: float = LINGER_SECONDS,
    ) -> None:
        self._call = execute
        self._linger_seconds = linger
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: list[tuple[Request, asyncio.Future[Result]]] = []
        self._expected = 0
        self._lingering: asyncio.Future[None] | None = None
        self._running: asyncio.Task[None] | None = None

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """A request may come; to be left before it is made, or when there will be none."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1
            if not self._expected:
                self._end_linger()

    async def __call__(self, request: Request) -> Result:
        """Returns the result for this request. Raises what `execute` raised for it."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await result

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._linger()
                batch, self._waiting = self._waiting, []
                await self._execute(batch)
        finally:
            self._running = asyncio.create_task(self._run()) if self._waiting else None

    async def _linger(self) -> None:
        """Wait for requests that are expected, and for those that are being made in this turn of the loop."""
        await asyncio.sleep(0)
        if self._expected:
            loop = asyncio.get_running_loop()
            self._lingering = loop.create_future()
            timer = loop.call_later(self._linger_seconds, self._end_linger)
            await self._lingering
            timer.cancel()
            self._lingering = None

    def _end_linger(self) -> None:
        if self._lingering is not None and not self._lingering.done():
            self._lingering.set_result(None)

    async def _execute(self, batch: "Sequence[tuple[Request, asyncio.Future[Result]]]") -> None:
        """Every future of the batch gets its result or an exception."""
        try:
            if not await self._execute_together(batch):
                for one in batch:
                    if not one[1].done():
                        await self._execute_together([one])
        except BaseException as error:
            _fail(batch, error)
            raise

    async def _execute_together(self, batch: "Sequence[tuple[Request, asyncio.Future[Result]]]") -> bool:
        """Returns False where each request is to be tried alone."""
        try:
            results = await self._in_thread([request for request, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not (isinstance(error, SQLAlchemyError) and is_unavailable(error)):
                return False
            _fail(batch, error)
            return True
        for (_, future), result in zip(batch, results, strict=True):
            # A caller that was cancelled meanwhile waits for no result.
            if not future.done():
                future.set_result(result)
        return True

    async def _in_thread(self, requests: Sequence[Request]) -> Sequence[Result]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, requests)


def _fail(batch: "Sequence[tuple[Request, asyncio.Future[Result]]]", error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)


@dataclass(frozen=True, kw_only=True)
class DatabaseRetry:
    """Runs database work in threads, again while the database is unavailable, until `shutting_down()` is true."""

    engine: Engine
    shutting_down: Callable[[], bool]
    rng: Random

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(RETRY_THREADS, thread_name_prefix="db-retry")

    async def in_thread(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Call it once, in a thread, within the span of this delivery."""
        within = partial(copy_context().run, act, *values, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, within)

    async def transaction(self, act: Callable[[Connection], T]) -> T:
        """Call it in a transaction of its own, again for as long as the database is unavailable."""

        def once() -> T:
            with self.engine.begin() as connection:
                return act(connection)

        return await self._retry(once, on=is_transient)

    async def until_repaired(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Call it, again also while a full disk or a missing right is in the way; only refused values raise."""
        return await self._retry(partial(act, *values, **named), on=_is_repairable)

    async def _retry(self, act: Callable[[], T], *, on: Callable[[SQLAlchemyError], bool]) -> T:
        backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, rng=self.rng)
        while True:
            try:
                return await self.in_thread(act)
            except SQLAlchemyError as error:
                if not on(error) or self.shutting_down():
                    raise
            await asyncio.sleep(backoff.next_wait())


def _is_repairable(error: SQLAlchemyError) -> bool:
    return is_transient(error) or (isinstance(error, DBAPIError) and not is_row_error(error))
