"""What many threads want of the database at about the same moment, in one statement and one commit.

While one act is under way the next wishes gather, and whoever comes next takes them all. Who knows that others are on
their way waits for them, for a few milliseconds at the most; who is alone waits for nobody.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from snoozer.postgres.engine import is_away

Wish = TypeVar("Wish")
Answer = TypeVar("Answer")

LINGER_SECONDS = 0.005


class Together(Generic[Wish, Answer]):
    """Calls with one wish each, from any thread; `act` gets many and answers each, in their order, or raises for all.

    What fails for many says nothing of each: they are tried one by one. A database that is away is away for all.
    """

    def __init__(self, act: Callable[[Sequence[Wish]], Sequence[Answer]]) -> None:
        self._act = act
        self._waiting: list[tuple[Wish, Future[Answer]]] = []
        self._coming = 0
        self._busy = False
        lock = Lock()
        self._gathered = Condition(lock)
        self._over = Condition(lock)

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Somebody is on the way to a wish, or to finding that there is none; left before the wish is made."""
        with self._gathered:
            self._coming += 1
        try:
            yield
        finally:
            with self._gathered:
                self._coming -= 1
                self._gathered.notify()

    def __call__(self, wish: Wish) -> Answer:
        """The answer to this wish. Raises what `act` raised for it."""
        answer = self.wish(wish)
        while True:
            with self._over:
                self._over.wait_for(lambda: answer.done() or not self._busy)
                if answer.done():
                    return answer.result()
                self._busy = True
            try:
                self.take_turn()
            finally:
                with self._over:
                    self._busy = False
                    self._over.notify_all()

    def wish(self, wish: Wish) -> Future[Answer]:
        """Put it on the list; the answer comes with somebody's turn."""
        answer: Future[Answer] = Future()
        with self._gathered:
            self._waiting.append((wish, answer))
            self._gathered.notify()
        return answer

    def take_turn(self) -> None:
        """Do what waits. Every wish that is taken gets its answer, or what was raised."""
        with self._gathered:
            self._gathered.wait_for(lambda: not self._coming, timeout=LINGER_SECONDS)
            taken, self._waiting = self._waiting, []
        try:
            if len(taken) > 1:
                self._all_at_once(taken)
            for wish, future in taken:
                if not future.done():
                    self._alone(wish, future)
        except BaseException as broken:
            for _, future in taken:
                if not future.done():
                    future.set_exception(broken)
            raise

    def _all_at_once(self, taken: Sequence[tuple[Wish, Future[Answer]]]) -> None:
        try:
            answers = self._act([wish for wish, _ in taken])
        except Exception as error:
            if isinstance(error, SQLAlchemyError) and is_away(error):
                for _, future in taken:
                    future.set_exception(error)
            return
        for (_, future), answer in zip(taken, answers, strict=True):
            future.set_result(answer)

    def _alone(self, wish: Wish, future: Future[Answer]) -> None:
        try:
            [answer] = self._act([wish])
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(answer)
