"""What many deliveries want of the database at about the same moment, in one statement and one commit.

While one act is under way the next wishes gather. Who knows that others are on their way waits for them, for a few
milliseconds at the most; who is alone waits for nobody.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.errors import is_unavailable

Request = TypeVar("Request")
Result = TypeVar("Result")

LINGER_SECONDS = 0.005


class BatchExecutor(Generic[Request, Result]):
    """Calls with one wish each, on one event loop; `act` gets many and answers each, in their order, or raises for all.

    `act` runs in a thread of its own, one call at a time. What fails for many says nothing of each: they are tried one
    by one. A database that is away is away for all.
    """

    def __init__(self, act: Callable[[Sequence[Request]], Sequence[Result]], *, name: str) -> None:
        self._act = act
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: list[tuple[Request, asyncio.Future[Result]]] = []
        self._expected = 0
        self._lingering: asyncio.Future[None] | None = None
        self._running: asyncio.Task[None] | None = None

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Somebody is on the way to a wish, or to finding that there is none; left before the wish is made."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1
            if not self._expected:
                self._end_linger()

    async def __call__(self, wish: Request) -> Result:
        """The answer to this wish. Raises what `act` raised for it."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((wish, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._linger()
                taken, self._waiting = self._waiting, []
                await self._execute(taken)
        finally:
            self._running = asyncio.create_task(self._run()) if self._waiting else None

    async def _linger(self) -> None:
        """Wait for those who are on their way, and also for who is about to make the wish it came with."""
        await asyncio.sleep(0)
        if self._expected:
            loop = asyncio.get_running_loop()
            self._lingering = loop.create_future()
            alarm = loop.call_later(LINGER_SECONDS, self._end_linger)
            await self._lingering
            alarm.cancel()
            self._lingering = None

    def _end_linger(self) -> None:
        if self._lingering is not None and not self._lingering.done():
            self._lingering.set_result(None)

    async def _execute(self, taken: "Sequence[tuple[Request, asyncio.Future[Result]]]") -> None:
        """Every wish that is taken gets its answer, or what was raised."""
        try:
            if len(taken) > 1:
                await self._execute_together(taken)
            for wish, future in taken:
                if not future.done():
                    await self._execute_one(wish, future)
        except BaseException as broken:
            for _, future in taken:
                if not future.done():
                    future.set_exception(broken)
            raise

    async def _execute_together(self, taken: "Sequence[tuple[Request, asyncio.Future[Result]]]") -> None:
        try:
            answers = await self._in_thread([wish for wish, _ in taken])
        except Exception as error:
            if isinstance(error, SQLAlchemyError) and is_unavailable(error):
                for _, future in taken:
                    if not future.done():
                        future.set_exception(error)
            return
        for (_, future), answer in zip(taken, answers, strict=True):
            # Whoever was cancelled meanwhile waits for no answer.
            if not future.done():
                future.set_result(answer)

    async def _execute_one(self, wish: Request, future: "asyncio.Future[Result]") -> None:
        try:
            [answer] = await self._in_thread([wish])
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(answer)

    async def _in_thread(self, wishes: Sequence[Request]) -> Sequence[Result]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._act, wishes)
