"""The deliveries that a worker has in hand: all on one event loop in a thread of its own, let go of when done."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from threading import Event, Lock, Thread

from snoozer.domain.reminder import Claim, Verdict
from snoozer.reminding import Delivery

TURN_SECONDS = 1.0
STUCK_SECONDS = 60.0


class Hands:
    """`deliver` runs for up to `concurrency` deliveries at once; `let_go` hears of each claim that is done with.

    A delivery that calls what it is given has its hand free for the next, and needs none for what is left to do.
    Everything but `wake` is for one thread, the worker's. It hears when no more than `few` are left, and when none is:
    were it woken for each, the two threads would do nothing but hand the interpreter over.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        few: int,
        deliver: Callable[[Delivery, Callable[[], None]], Awaitable[Verdict]],
        let_go: Callable[[Claim], None],
        at_the_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._concurrency = concurrency
        self._deliver = deliver
        self._let_go = let_go
        self._at_the_end = at_the_end
        self._few = few
        self._in_hand = 0
        self._unfinished = 0
        self._unbegun: deque[Delivery] = deque()
        self._begun: set[asyncio.Task[None]] = set()
        self._busy: set[int] = set()
        self._finished: deque[Delivery] = deque()
        self._news = Event()
        self._lock = Lock()
        self._turns = self._seen_turns = 0
        self._seen_at = time.monotonic()
        self._unmoved = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="deliveries", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many are begun or wait for their turn."""
        return self._in_hand

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Begin them, each as soon as there is a hand for it."""
        self._in_hand += len(deliveries)
        with self._lock:
            self._unfinished += len(deliveries)
            self._unbegun.extend(deliveries)
        self._loop.call_soon_threadsafe(self._begin)

    def settle(self, *, wait_for: float) -> None:
        """Let go of what is done; wait so many seconds until few are left, or until woken."""
        if wait_for > 0:
            self._news.wait(wait_for)
        self._news.clear()
        while self._finished:
            self._in_hand -= 1
            self._let_go(self._finished.popleft().claim)

    def wake(self) -> None:
        """End the wait in `settle`. From any thread."""
        self._news.set()

    def call(self, act: Callable[[], None]) -> None:
        """Do it on the loop of the deliveries."""
        self._loop.call_soon_threadsafe(act)

    def are_stuck(self) -> bool:
        """Did the loop not turn for `STUCK_SECONDS`, because a delivery does not let go of it?

        To be asked again and again. Time in which nobody asked is not counted: the whole process may have slept.
        """
        now, turns = time.monotonic(), self._turns
        self._unmoved = 0.0 if turns != self._seen_turns else self._unmoved + min(now - self._seen_at, TURN_SECONDS)
        self._seen_at, self._seen_turns = now, turns
        return self._unmoved > STUCK_SECONDS

    def give_up_unbegun(self) -> list[Claim]:
        """Forget what was not begun; answers its claims, which nobody lets go of but the caller."""
        with self._lock:
            unbegun = [delivery.claim for delivery in self._unbegun]
            self._unbegun.clear()
            self._unfinished -= len(unbegun)
        self._in_hand -= len(unbegun)
        return unbegun

    def close(self) -> None:
        """Wait for what is begun, unless it is stuck; `at_the_end` is the last that runs on the loop."""
        self.give_up_unbegun()
        while self:
            self.settle(wait_for=TURN_SECONDS)
            if self.are_stuck():
                return
        self._loop.call_soon_threadsafe(self._leave)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._turn()
        self._loop.run_forever()
        self._loop.close()

    def _turn(self) -> None:
        self._turns += 1
        self._loop.call_later(TURN_SECONDS, self._turn)

    def _begin(self) -> None:
        while len(self._busy) < self._concurrency and (delivery := self._next()):
            self._busy.add(delivery.claim.id)
            task = self._loop.create_task(self._one(delivery))
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)

    def _next(self) -> Delivery | None:
        with self._lock:
            return self._unbegun.popleft() if self._unbegun else None

    async def _one(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery, partial(self._free, delivery))
        finally:
            self._free(delivery)
            self._finished.append(delivery)
            with self._lock:
                self._unfinished -= 1
                left = self._unfinished
            if left in (self._few, 0):
                self._news.set()

    def _free(self, delivery: Delivery) -> None:
        if delivery.claim.id in self._busy:
            self._busy.remove(delivery.claim.id)
            self._loop.call_soon(self._begin)

    def _leave(self) -> None:
        try:
            self._at_the_end()
        finally:
            # One more turn, in which connections are let go of.
            self._loop.call_soon(self._loop.call_soon, self._loop.stop)
