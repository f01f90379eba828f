"""What many threads want of the database at the same moment, in one statement and one commit.

Nobody waits for a timer: while one act is under way the next wishes gather, and whoever comes next takes them all.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from snoozer.postgres.engine import may_pass

Wish = TypeVar("Wish")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 200


class Together(Generic[Wish, Answer]):
    """Calls with one wish each, from any thread; `act` gets many and answers each, in their order, or raises for all.

    A statement that fails for many says nothing of each: they are tried one by one. A database that is away is away
    for all of them.
    """

    def __init__(self, act: Callable[[Sequence[Wish]], Sequence[Answer]]) -> None:
        self._act = act
        self._waiting: list[tuple[Wish, Future[Answer]]] = []
        self._listed = Lock()
        self._turn = Lock()

    def __call__(self, wish: Wish) -> Answer:
        """The answer to this wish. Raises what `act` raised for it alone."""
        answer = self.wish(wish)
        while not answer.done():
            with self._turn:
                self.take_turn()
        return answer.result()

    def wish(self, wish: Wish) -> Future[Answer]:
        """Put it on the list; the answer comes with somebody's turn."""
        answer: Future[Answer] = Future()
        with self._listed:
            self._waiting.append((wish, answer))
        return answer

    def take_turn(self) -> None:
        """Do what waits."""
        with self._listed:
            taken, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        if len(taken) > 1:
            try:
                answers = self._act([wish for wish, _ in taken])
            except SQLAlchemyError as error:
                if may_pass(error):
                    for _, future in taken:
                        future.set_exception(error)
                answers = ()
            for (_, future), answer in zip(taken, answers, strict=False):
                future.set_result(answer)
        for wish, future in taken:
            if not future.done():
                self._alone(wish, future)

    def _alone(self, wish: Wish, future: Future[Answer]) -> None:
        try:
            [answer] = self._act([wish])
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(answer)
