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

from snoozer.postgres.engine import may_pass

Wish = TypeVar("Wish")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 200
LINGER_SECONDS = 0.005


class Together(Generic[Wish, Answer]):
    """Calls with one wish each, from any thread; `act` gets many and answers each, in their order, or raises for all.

    A statement that fails for many says nothing of each: they are tried one by one. A database that is away is away
    for all of them.
    """

    def __init__(self, act: Callable[[Sequence[Wish]], Sequence[Answer]]) -> None:
        self._act = act
        self._waiting: list[tuple[Wish, Future[Answer]]] = []
        self._coming = 0
        self._listed = Condition()
        self._turn = Lock()

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Somebody is on the way to a wish, or to finding that there is none; left before the wish is made."""
        with self._listed:
            self._coming += 1
        try:
            yield
        finally:
            with self._listed:
                self._coming -= 1
                self._listed.notify_all()

    def __call__(self, wish: Wish) -> Answer:
        """The answer to this wish. Raises what `act` raised for it alone."""
        answer = self.wish(wish)
        while not answer.done():
            with self._turn:
                if not answer.done():
                    self.take_turn()
        return answer.result()

    def wish(self, wish: Wish) -> Future[Answer]:
        """Put it on the list; the answer comes with somebody's turn."""
        answer: Future[Answer] = Future()
        with self._listed:
            self._waiting.append((wish, answer))
            self._listed.notify_all()
        return answer

    def take_turn(self) -> None:
        """Do what waits."""
        with self._listed:
            self._listed.wait_for(lambda: not self._coming, timeout=LINGER_SECONDS)
            taken, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        if len(taken) > 1:
            self._all_at_once(taken)
        for wish, future in taken:
            if not future.done():
                self._alone(wish, future)

    def _all_at_once(self, taken: Sequence[tuple[Wish, Future[Answer]]]) -> None:
        try:
            answers = self._act([wish for wish, _ in taken])
        except SQLAlchemyError as error:
            if may_pass(error):
                for _, future in taken:
                    future.set_exception(error)
            return
        for (_, future), answer in zip(taken, answers, strict=True):
            future.set_result(answer)

    def _alone(self, wish: Wish, future: Future[Answer]) -> None:
        try:
            [answer] = self._act([wish])
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(answer)
