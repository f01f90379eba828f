"""What many threads want at once is done in few acts, and what fails for many is tried for each."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy.exc import DataError, OperationalError

from snoozer.reminding.together import Together


def test_what_gathers_during_one_act_is_done_by_the_next() -> None:
    acts: list[list[int]] = []
    begun, go_on = Event(), Event()

    def double(wishes: Sequence[int]) -> list[int]:
        acts.append(list(wishes))
        begun.set()
        go_on.wait(10)
        return [2 * wish for wish in wishes]

    together = Together(double)
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(together, 0)
        begun.wait(10)
        others = [threads.submit(together, number) for number in range(1, 9)]
        while len(together._waiting) < len(others):
            pass
        go_on.set()
        assert [first.result(), *(other.result() for other in others)] == [2 * number for number in range(9)]
    assert [sorted(act) for act in acts] == [[0], list(range(1, 9))]


def test_one_bad_wish_spoils_no_other() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 3 in wishes:
            raise DataError("", {}, ValueError())
        return list(wishes)

    together = Together(act)
    futures = [together.wish(number) for number in range(5)]
    together.take_turn()
    assert [future.result() for future in futures if not future.exception()] == [0, 1, 2, 4]
    assert isinstance(futures[3].exception(), DataError)


def test_what_breaks_for_many_without_the_database_is_tried_for_each() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 0 in wishes:
            raise ZeroDivisionError
        return list(wishes)

    together = Together(act)
    futures = [together.wish(number) for number in range(3)]
    together.take_turn()
    assert isinstance(futures[0].exception(), ZeroDivisionError)
    assert [future.result() for future in futures[1:]] == [1, 2]


def test_nobody_waits_for_ever_for_a_turn_that_was_torn_down() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        raise SystemExit

    together = Together(act)
    futures = [together.wish(number) for number in range(3)]
    with pytest.raises(SystemExit):
        together.take_turn()
    assert all(isinstance(future.exception(), SystemExit) for future in futures)


def test_whoever_waits_for_a_lock_is_tried_alone() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 2 in wishes:
            raise OperationalError("", {}, LockNotAvailable())
        return list(wishes)

    together = Together(act)
    futures = [together.wish(number) for number in range(4)]
    together.take_turn()
    assert [future.result() for future in futures if not future.exception()] == [0, 1, 3]


def test_a_database_that_is_away_is_asked_once_for_all() -> None:
    asked: list[int] = []

    def act(wishes: Sequence[int]) -> list[int]:
        asked.append(len(wishes))
        raise OperationalError("", {}, ConnectionRefusedError())

    together = Together(act)
    futures = [together.wish(number) for number in range(5)]
    together.take_turn()
    assert asked == [5]
    for future in futures:
        with pytest.raises(OperationalError):
            future.result()
