"""The deliveries that a worker has in hand: each in a thread, let go of when it is done."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from snoozer.domain.reminder import Claim, Verdict
from snoozer.reminding import Delivery


class Hands:
    """`deliver` runs in up to `concurrency` threads at once; `let_go` hears of each claim that is done with."""

    def __init__(
        self, *, concurrency: int, deliver: Callable[[Delivery], Verdict], let_go: Callable[[Claim], None]
    ) -> None:
        self._deliver = deliver
        self._let_go = let_go
        self._pending: dict[Future[Verdict], Delivery] = {}
        self._finished: SimpleQueue[Future[Verdict] | None] = SimpleQueue()
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="delivery")

    def __len__(self) -> int:
        """How many are begun or wait for a thread."""
        return len(self._pending)

    def take(self, delivery: Delivery) -> None:
        """Begin it as soon as a thread is free."""
        future = self._threads.submit(self._deliver, delivery)
        self._pending[future] = delivery
        future.add_done_callback(self._finished.put)

    def settle(self, *, wait_for: float) -> None:
        """Let go of what is done; wait so many seconds for the first of it, or until woken."""
        try:
            self._settled(self._finished.get(timeout=wait_for))
            while True:
                self._settled(self._finished.get_nowait())
        except Empty:
            return

    def wake(self) -> None:
        """End the wait in `settle`. From any thread."""
        self._finished.put(None)

    def give_up_unbegun(self) -> list[Claim]:
        """Forget what no thread has begun with; answers its claims, which nobody lets go of but the caller."""
        unbegun = [(future, delivery.claim) for future, delivery in self._pending.items() if future.cancel()]
        for future, _ in unbegun:
            del self._pending[future]
        return [claim for _, claim in unbegun]

    def close(self) -> None:
        """Wait for what is begun."""
        self._threads.shutdown(wait=True)

    def _settled(self, future: Future[Verdict] | None) -> None:
        delivery = self._pending.pop(future, None) if future else None
        if delivery is not None:
            self._let_go(delivery.claim)
