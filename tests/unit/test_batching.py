"""Requests of many deliveries run in few batches; a batch that fails is tried again one request at a time."""

import asyncio
from collections.abc import Callable, Sequence
from threading import Event

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy.exc import DataError, OperationalError

from snoozer.delivery.executor import BatchExecutor
from tests import loops

Execute = Callable[[Sequence[int]], list[int]]


def results(execute: Execute, *, requests: int) -> list[int | BaseException]:
    """The results or errors of requests that are made at the same moment."""

    async def request_all() -> list[int | BaseException]:
        batches = BatchExecutor(execute, name="test")
        return await asyncio.gather(*(batches(number) for number in range(requests)), return_exceptions=True)

    return loops.run(request_all())


def test_requests_made_during_one_batch_run_in_the_next() -> None:
    batches_run: list[list[int]] = []
    started, go_on = Event(), Event()

    def double(requests: Sequence[int]) -> list[int]:
        batches_run.append(list(requests))
        started.set()
        go_on.wait(10)
        return [2 * request for request in requests]

    async def request_some() -> list[int]:
        batches = BatchExecutor(double, name="test")
        first = asyncio.create_task(batches(0))
        await asyncio.to_thread(started.wait, 10)
        others = [asyncio.create_task(batches(number)) for number in range(1, 9)]
        await asyncio.sleep(0)
        go_on.set()
        return [await first, *[await other for other in others]]

    assert loops.run(request_some()) == [2 * number for number in range(9)]
    assert batches_run == [[0], list(range(1, 9))]


def test_a_batch_waits_for_expected_requests() -> None:
    batches_run: list[list[int]] = []

    def execute(requests: Sequence[int]) -> list[int]:
        batches_run.append(list(requests))
        return list(requests)

    async def request_some() -> None:
        batches = BatchExecutor(execute, name="test", linger=60)

        async def come_later() -> int:
            with batches.expecting():
                for _ in range(5):
                    await asyncio.sleep(0)
            return await batches(1)

        await asyncio.gather(come_later(), batches(0))

    loops.run(request_some())
    assert sorted(batches_run[0]) == [0, 1]


def test_one_bad_request_fails_no_other() -> None:
    def execute(requests: Sequence[int]) -> list[int]:
        if 3 in requests:
            raise DataError("", {}, ValueError())
        return list(requests)

    found = results(execute, requests=5)
    assert found[:3] + found[4:] == [0, 1, 2, 4]
    assert isinstance(found[3], DataError)


def test_a_batch_that_fails_without_the_database_is_tried_one_by_one() -> None:
    def execute(requests: Sequence[int]) -> list[int]:
        if 0 in requests:
            raise ZeroDivisionError
        return list(requests)

    found = results(execute, requests=3)
    assert isinstance(found[0], ZeroDivisionError)
    assert found[1:] == [1, 2]


def test_no_request_waits_for_ever_for_a_batch_that_was_cancelled() -> None:
    def execute(requests: Sequence[int]) -> list[int]:
        raise asyncio.CancelledError

    assert all(isinstance(result, asyncio.CancelledError) for result in results(execute, requests=3))


def test_a_request_that_waits_for_a_lock_is_tried_alone() -> None:
    def execute(requests: Sequence[int]) -> list[int]:
        if 2 in requests:
            raise OperationalError("", {}, LockNotAvailable())
        return list(requests)

    found = results(execute, requests=4)
    assert found[:2] + found[3:] == [0, 1, 3]


def test_an_unavailable_database_fails_the_whole_batch_at_once() -> None:
    asked: list[int] = []

    def execute(requests: Sequence[int]) -> list[int]:
        asked.append(len(requests))
        raise OperationalError("", {}, ConnectionRefusedError())

    found = results(execute, requests=5)
    assert asked == [5]
    assert all(isinstance(result, OperationalError) for result in found)


@pytest.mark.parametrize("requests", [1, 2])
def test_a_second_request_after_the_first_was_executed_is_executed_too(requests: int) -> None:
    async def request_some() -> list[int]:
        batches: BatchExecutor[int, int] = BatchExecutor(list, name="test")
        return [await batches(number) for number in range(requests)]

    assert loops.run(request_some()) == list(range(requests))


def test_a_cancelled_request_takes_nothing_from_the_others() -> None:
    """One that was cancelled while the batch ran made the others fail, though it was executed for them."""
    started, go_on = Event(), Event()

    def execute(requests: Sequence[int]) -> list[int]:
        started.set()
        go_on.wait(10)
        return list(requests)

    async def request_some() -> list[int | BaseException]:
        batches = BatchExecutor(execute, name="test")
        requests = [asyncio.create_task(batches(number)) for number in range(3)]
        await asyncio.to_thread(started.wait, 10)
        requests[1].cancel()
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.gather(*requests, return_exceptions=True)

    first, cancelled, last = loops.run(request_some())
    assert (first, last) == (0, 2)
    assert isinstance(cancelled, asyncio.CancelledError)
