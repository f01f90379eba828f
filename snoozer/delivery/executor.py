"""The deliveries that a worker has in hand: all on one event loop in a thread of its own, let go of when done."""

import asyncio
import logging
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from threading import Event, Lock, Thread

from opentelemetry import trace
from sqlalchemy.exc import SQLAlchemyError

from snoozer import telemetry
from snoozer.delivery.claiming import Delivery
from snoozer.delivery.deliver import Deliverer
from snoozer.domain.reminder import Claim, DeliveryOutcome

TICK_SECONDS = 1.0
STALL_SECONDS = 60.0


class DeliveryExecutor:
    """`deliver` runs for up to `concurrency` deliveries at once; `let_go` hears of each claim that is done with.

    A delivery that calls what it is given has its hand free for the next, and needs none for what is left to do.
    Everything but `wake` is for one thread, the worker's. It hears when no more than `few` are left, and when none is:
    were it woken for each, the two threads would do nothing but hand the interpreter over.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        low_watermark: int,
        deliver: Callable[[Delivery, Callable[[], None]], Awaitable[DeliveryOutcome]],
        on_done: Callable[[Claim], None],
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._concurrency = concurrency
        self._deliver = deliver
        self._on_done = on_done
        self._on_close = on_close
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
        self._seen_at = time.monotonic()
        self._stalled_for = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="deliveries", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many are begun or wait for their turn."""
        return self._in_flight

    def submit(self, deliveries: Sequence[Delivery]) -> None:
        """Begin them, each as soon as there is a hand for it."""
        self._in_flight += len(deliveries)
        with self._lock:
            self._unfinished += len(deliveries)
            self._pending.extend(deliveries)
        self._loop.call_soon_threadsafe(self._start_next)

    def reap(self, *, timeout: float) -> None:
        """Let go of what is done; wait so many seconds until few are left, or until woken."""
        if timeout > 0:
            self._wakeup.wait(timeout)
        self._wakeup.clear()
        while self._finished:
            self._in_flight -= 1
            self._on_done(self._finished.popleft().claim)

    def wake(self) -> None:
        """End the wait in `settle`. From any thread."""
        self._wakeup.set()

    def call_on_loop(self, act: Callable[[], None]) -> None:
        """Do it on the loop of the deliveries."""
        self._loop.call_soon_threadsafe(act)

    def is_stalled(self) -> bool:
        """Did the loop not turn for `STUCK_SECONDS`, because a delivery does not let go of it?

        To be asked again and again. Time in which nobody asked is not counted: the whole process may have slept.
        """
        now, turns = time.monotonic(), self._ticks
        self._stalled_for = (
            0.0 if turns != self._seen_ticks else self._stalled_for + min(now - self._seen_at, TICK_SECONDS)
        )
        self._seen_at, self._seen_ticks = now, turns
        return self._stalled_for > STALL_SECONDS

    def cancel_pending(self) -> list[Claim]:
        """Forget what was not begun; answers its claims, which nobody lets go of but the caller."""
        with self._lock:
            unbegun = [delivery.claim for delivery in self._pending]
            self._pending.clear()
            self._unfinished -= len(unbegun)
        self._in_flight -= len(unbegun)
        return unbegun

    def close(self) -> None:
        """Wait for what is begun, unless it is stuck; `at_the_end` is the last that runs on the loop."""
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
            await self._deliver(delivery, partial(self._free, delivery))
        finally:
            self._free(delivery)
            self._finished.append(delivery)
            with self._lock:
                self._unfinished -= 1
                left = self._unfinished
            if left in (self._low_watermark, 0):
                self._wakeup.set()

    def _free(self, delivery: Delivery) -> None:
        if delivery.claim.id in self._busy:
            self._busy.remove(delivery.claim.id)
            self._loop.call_soon(self._start_next)

    def _close_loop(self) -> None:
        try:
            self._on_close()
        finally:
            # One more turn, in which connections are let go of.
            self._loop.call_soon(self._loop.call_soon, self._loop.stop)


log = logging.getLogger(__name__)


def instrumented(courier: Deliverer) -> Callable[[Delivery, Callable[[], None]], Awaitable[DeliveryOutcome]]:
    """What delivers by this courier and never raises: one bad reminder must not take the worker with it."""

    async def deliver(delivery: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        began = time.monotonic()
        with telemetry.delivery_span(traceparent=delivery.claim.traceparent, snooze_id=delivery.claim.id):
            try:
                verdict = await courier.deliver(delivery, on_accepted=answered)
            except Exception as broken:
                # Without the error's words: those of a database hold the values of a row.
                where = "".join(traceback.format_tb(broken.__traceback__))
                log.error("delivery of snooze %d broke down (%s)\n%s", delivery.claim.id, type(broken).__name__, where)
                trace.get_current_span().record_exception(broken)
                verdict = await _record_crash(courier, delivery, broken)
        telemetry.count_delivery(verdict, milliseconds=(time.monotonic() - began) * 1000)
        return verdict

    return deliver


async def _record_crash(courier: Deliverer, delivery: Delivery, broken: Exception) -> DeliveryOutcome:
    error = f"The delivery broke down ({type(broken).__name__})"
    try:
        if delivery.send is None:
            return await courier.outcomes.release(delivery.claim, error=error, attempts_used=1)
        return await courier.outcomes.record_crash(delivery.claim, delivery.send, error=error)
    except SQLAlchemyError:
        return DeliveryOutcome.LOST
