"""Many requests in one call: what gathers on the event loop is executed together, in a thread of its own."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")


class BatchExecutor(Generic[Request, Result]):
    """`execute` is called in a thread with all requests that gathered; `on_result` then on the loop, with each of them.

    While one batch runs, the next one gathers: until there are `full` requests, or for `linger` seconds. A batch that
    raises is halved until what raises is one request, whose result is the exception; where `is_hopeless` of the
    exception, all have it at once. `on_result` must not raise. For one event loop.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Request]], Sequence[Result]],
        *,
        name: str,
        on_result: Callable[[Request, Result | Exception], None],
        is_hopeless: Callable[[Exception], bool],
        full: Callable[[], int],
        linger: float,
    ) -> None:
        self._execute = execute
        self._on_result = on_result
        self._is_hopeless = is_hopeless
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
        """Execute it with others, or `at_once` where none is to be expected."""
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
            # No request stays without a result, whatever ended it.
            problem = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            if len(batch) == 1 or self._is_hopeless(problem):
                return [problem] * len(batch)
        middle = len(batch) // 2
        return [*self._results(batch[:middle]), *self._results(batch[middle:])]
