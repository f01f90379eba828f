"""What many deliveries want at once is done in few acts, and what fails for many is tried for each."""

import asyncio
from collections.abc import Callable, Sequence
from threading import Event

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy.exc import DataError, OperationalError

from snoozer.delivery.batching import BatchExecutor
from tests import loops

Act = Callable[[Sequence[int]], list[int]]


def outcomes(act: Act, *, wishes: int) -> list[int | BaseException]:
    """What comes of wishes that are made in the same moment."""

    async def wish_all() -> list[int | BaseException]:
        together = BatchExecutor(act, name="test")
        return await asyncio.gather(*(together(number) for number in range(wishes)), return_exceptions=True)

    return loops.run(wish_all())


def test_what_gathers_during_one_act_is_done_by_the_next() -> None:
    acts: list[list[int]] = []
    begun, go_on = Event(), Event()

    def double(wishes: Sequence[int]) -> list[int]:
        acts.append(list(wishes))
        begun.set()
        go_on.wait(10)
        return [2 * wish for wish in wishes]

    async def wish() -> list[int]:
        together = BatchExecutor(double, name="test")
        first = asyncio.create_task(together(0))
        await asyncio.to_thread(begun.wait, 10)
        others = [asyncio.create_task(together(number)) for number in range(1, 9)]
        await asyncio.sleep(0)
        go_on.set()
        return [await first, *[await other for other in others]]

    assert loops.run(wish()) == [2 * number for number in range(9)]
    assert acts == [[0], list(range(1, 9))]


def test_who_is_on_the_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoozer.delivery.batching.LINGER_SECONDS", 60)
    acts: list[list[int]] = []

    def act(wishes: Sequence[int]) -> list[int]:
        acts.append(list(wishes))
        return list(wishes)

    async def wish() -> None:
        together = BatchExecutor(act, name="test")

        async def come_later() -> int:
            with together.expecting():
                for _ in range(5):
                    await asyncio.sleep(0)
            return await together(1)

        await asyncio.gather(come_later(), together(0))

    loops.run(wish())
    assert sorted(acts[0]) == [0, 1]


def test_one_bad_wish_spoils_no_other() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 3 in wishes:
            raise DataError("", {}, ValueError())
        return list(wishes)

    answers = outcomes(act, wishes=5)
    assert answers[:3] + answers[4:] == [0, 1, 2, 4]
    assert isinstance(answers[3], DataError)


def test_what_breaks_for_many_without_the_database_is_tried_for_each() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 0 in wishes:
            raise ZeroDivisionError
        return list(wishes)

    answers = outcomes(act, wishes=3)
    assert isinstance(answers[0], ZeroDivisionError)
    assert answers[1:] == [1, 2]


def test_nobody_waits_for_ever_for_an_act_that_was_torn_down() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        raise asyncio.CancelledError

    assert all(isinstance(answer, asyncio.CancelledError) for answer in outcomes(act, wishes=3))


def test_whoever_waits_for_a_lock_is_tried_alone() -> None:
    def act(wishes: Sequence[int]) -> list[int]:
        if 2 in wishes:
            raise OperationalError("", {}, LockNotAvailable())
        return list(wishes)

    answers = outcomes(act, wishes=4)
    assert answers[:2] + answers[3:] == [0, 1, 3]


def test_a_database_that_is_away_is_asked_once_for_all() -> None:
    asked: list[int] = []

    def act(wishes: Sequence[int]) -> list[int]:
        asked.append(len(wishes))
        raise OperationalError("", {}, ConnectionRefusedError())

    answers = outcomes(act, wishes=5)
    assert asked == [5]
    assert all(isinstance(answer, OperationalError) for answer in answers)


@pytest.mark.parametrize("wishes", [1, 2])
def test_a_second_wish_after_the_first_was_granted_is_granted_too(wishes: int) -> None:
    async def wish() -> list[int]:
        together: BatchExecutor[int, int] = BatchExecutor(list, name="test")
        return [await together(number) for number in range(wishes)]

    assert loops.run(wish()) == list(range(wishes))


def test_who_gave_up_waiting_takes_nothing_from_the_others() -> None:
    """One that was cancelled while the act was under way made the others fail, though it was done for them."""
    begun, go_on = Event(), Event()

    def act(wishes: Sequence[int]) -> list[int]:
        begun.set()
        go_on.wait(10)
        return list(wishes)

    async def wish() -> list[int | BaseException]:
        together = BatchExecutor(act, name="test")
        wishes = [asyncio.create_task(together(number)) for number in range(3)]
        await asyncio.to_thread(begun.wait, 10)
        wishes[1].cancel()
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.gather(*wishes, return_exceptions=True)

    first, cancelled, last = loops.run(wish())
    assert (first, last) == (0, 2)
    assert isinstance(cancelled, asyncio.CancelledError)
