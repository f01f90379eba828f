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

from snoozer.postgres.engine import is_away

Wish = TypeVar("Wish")
Answer = TypeVar("Answer")

LINGER_SECONDS = 0.005


class Together(Generic[Wish, Answer]):
    """Calls with one wish each, on one event loop; `act` gets many and answers each, in their order, or raises for all.

    `act` runs in a thread of its own, one call at a time. What fails for many says nothing of each: they are tried one
    by one. A database that is away is away for all.
    """

    def __init__(self, act: Callable[[Sequence[Wish]], Sequence[Answer]], *, name: str) -> None:
        self._act = act
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: list[tuple[Wish, asyncio.Future[Answer]]] = []
        self._coming = 0
        self._gathered: asyncio.Future[None] | None = None
        self._acting: asyncio.Task[None] | None = None

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Somebody is on the way to a wish, or to finding that there is none; left before the wish is made."""
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1
            if not self._coming:
                self._end_of_gathering()

    async def __call__(self, wish: Wish) -> Answer:
        """The answer to this wish. Raises what `act` raised for it."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((wish, answer))
        if self._acting is None:
            self._acting = asyncio.create_task(self._act_on())
        return await answer

    async def _act_on(self) -> None:
        try:
            while self._waiting:
                await self._gather()
                taken, self._waiting = self._waiting, []
                await self._do(taken)
        finally:
            self._acting = asyncio.create_task(self._act_on()) if self._waiting else None

    async def _gather(self) -> None:
        """Wait for those who are on their way, and also for who is about to make the wish it came with."""
        await asyncio.sleep(0)
        if self._coming:
            loop = asyncio.get_running_loop()
            self._gathered = loop.create_future()
            alarm = loop.call_later(LINGER_SECONDS, self._end_of_gathering)
            await self._gathered
            alarm.cancel()
            self._gathered = None

    def _end_of_gathering(self) -> None:
        if self._gathered is not None and not self._gathered.done():
            self._gathered.set_result(None)

    async def _do(self, taken: "Sequence[tuple[Wish, asyncio.Future[Answer]]]") -> None:
        """Every wish that is taken gets its answer, or what was raised."""
        try:
            if len(taken) > 1:
                await self._all_at_once(taken)
            for wish, future in taken:
                if not future.done():
                    await self._alone(wish, future)
        except BaseException as broken:
            for _, future in taken:
                if not future.done():
                    future.set_exception(broken)
            raise

    async def _all_at_once(self, taken: "Sequence[tuple[Wish, asyncio.Future[Answer]]]") -> None:
        try:
            answers = await self._in_thread([wish for wish, _ in taken])
        except Exception as error:
            if isinstance(error, SQLAlchemyError) and is_away(error):
                for _, future in taken:
                    if not future.done():
                        future.set_exception(error)
            return
        for (_, future), answer in zip(taken, answers, strict=True):
            # Whoever was cancelled meanwhile waits for no answer.
            if not future.done():
                future.set_result(answer)

    async def _alone(self, wish: Wish, future: "asyncio.Future[Answer]") -> None:
        try:
            [answer] = await self._in_thread([wish])
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(answer)

    async def _in_thread(self, wishes: Sequence[Wish]) -> Sequence[Answer]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._act, wishes)
