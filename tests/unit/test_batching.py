"""Requests of many deliveries run in few batches; a batch that fails is halved until one request is left."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.util import await_only

from snoozer.delivery.settling import BatchExecutor
from tests.loops import on_a_loop

Execute = Callable[[Sequence[int]], Sequence[int]]
TIMEOUT = 60
# Seconds that no test waits for.
NEVER = 600


class Batches:
    """A batch executor, the batches that it executed, and the results in the order in which they came."""

    def __init__(self, execute: Execute = list, *, full: int = 1, linger: float = NEVER) -> None:
        self.executed: list[list[int]] = []
        self.results: list[tuple[int, int | Exception]] = []
        self.full = full
        self._call = execute
        self._came = asyncio.Event()
        self.executor: BatchExecutor[int, int] = BatchExecutor(
            self._execute,
            on_result=self._on_result,
            full=lambda: self.full,
            linger=linger,
        )

    def add(self, *requests: int) -> None:
        for request in requests:
            self.executor.add(request)

    async def found(self, count: int) -> list[tuple[int, int | Exception]]:
        """The results, once there are so many."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.results) < count:
                self._came.clear()
                await self._came.wait()
        return self.results

    def _execute(self, requests: Sequence[int]) -> Sequence[int]:
        self.executed.append(list(requests))
        return self._call(requests)

    def _on_result(self, request: int, result: int | Exception) -> None:
        self.results.append((request, result))
        self._came.set()


class Gate:
    """A batch waits for it as for the database."""

    def __init__(self) -> None:
        self._started, self._opened = asyncio.Event(), asyncio.Event()

    def __call__(self, requests: Sequence[int]) -> Sequence[int]:
        self._started.set()
        await_only(self._opened.wait())
        return list(requests)

    async def started(self) -> None:
        async with asyncio.timeout(TIMEOUT):
            await self._started.wait()

    def open(self) -> None:
        self._opened.set()


def raising(error: BaseException, *, at: int) -> Execute:
    def execute(requests: Sequence[int]) -> Sequence[int]:
        if at in requests:
            raise error
        return list(requests)

    return execute


@on_a_loop
async def test_requests_made_during_one_batch_run_in_the_next() -> None:
    batches = Batches(gate := Gate())
    batches.add(0)
    await gate.started()
    batches.add(*range(1, 9))
    assert len(batches.executor) == 8
    gate.open()
    assert await batches.found(9) == [(number, number) for number in range(9)]
    assert batches.executed == [[0], list(range(1, 9))]
    assert len(batches.executor) == 0


@on_a_loop
async def test_a_batch_waits_until_it_is_full() -> None:
    batches = Batches(full=3)
    batches.add(0, 1)
    for _ in range(5):
        await asyncio.sleep(0)
    assert batches.executed == []
    batches.add(2)
    await batches.found(3)
    assert batches.executed == [[0, 1, 2]]


@on_a_loop
async def test_a_batch_that_does_not_fill_waits_no_longer_than_it_may() -> None:
    batches = Batches(full=3, linger=0.01)
    batches.add(0)
    await batches.found(1)
    batches.add(1)
    await batches.found(2)
    assert batches.executed == [[0], [1]]


@on_a_loop
async def test_what_gathered_during_a_batch_waits_no_longer_than_it_may() -> None:
    batches = Batches(gate := Gate(), full=2, linger=0.01)
    batches.add(0, 1)
    await gate.started()
    batches.add(2)
    gate.open()
    await batches.found(3)
    assert batches.executed == [[0, 1], [2]]


@on_a_loop
async def test_a_full_batch_leaves_no_timer_for_the_next() -> None:
    """The next would have been cut short, again and again."""
    batches = Batches(full=2, linger=0.05)
    batches.add(0, 1)
    await batches.found(2)
    batches.full = 100
    started = asyncio.get_running_loop().time()
    batches.add(2)
    await batches.found(3)
    assert asyncio.get_running_loop().time() - started >= 0.04


@on_a_loop
async def test_one_bad_request_fails_no_other() -> None:
    error = DataError("", {}, ValueError())
    batches = Batches(raising(error, at=3), full=5)
    batches.add(*range(5))
    assert await batches.found(5) == [(0, 0), (1, 1), (2, 2), (3, error), (4, 4)]


@on_a_loop
async def test_a_bad_request_among_hundreds_is_found_by_halving() -> None:
    """One at a time would be hundreds of transactions."""
    error = DataError("", {}, ValueError())
    batches = Batches(raising(error, at=77), full=256)
    batches.add(*range(256))
    found = dict(await batches.found(256))
    assert found.pop(77) is error
    assert all(found[number] == number for number in found)
    assert len(batches.executed) == 1 + 2 * 8


@on_a_loop
async def test_a_batch_that_fails_without_the_database_is_halved_too() -> None:
    error = ZeroDivisionError()
    batches = Batches(raising(error, at=0), full=3)
    batches.add(*range(3))
    assert await batches.found(3) == [(0, error), (1, 1), (2, 2)]


@on_a_loop
async def test_no_request_waits_for_ever_for_a_batch_that_was_cancelled() -> None:
    batches = Batches(raising(asyncio.CancelledError(), at=1), full=3)
    batches.add(*range(3))
    (_, first), (_, cancelled), (_, last) = await batches.found(3)
    assert (first, last) == (0, 2)
    assert isinstance(cancelled, RuntimeError)
    batches.full = 1
    batches.add(4)
    assert (await batches.found(4))[3] == (4, 4)


@on_a_loop
async def test_a_request_that_waits_for_a_lock_delays_no_other_for_longer_than_a_try() -> None:
    error = OperationalError("", {}, LockNotAvailable())
    batches = Batches(raising(error, at=2), full=4)
    batches.add(*range(4))
    assert await batches.found(4) == [(0, 0), (1, 1), (2, error), (3, 3)]


@on_a_loop
async def test_an_unavailable_database_fails_the_whole_batch_at_once() -> None:
    error = OperationalError("", {}, ConnectionRefusedError())
    batches = Batches(raising(error, at=0), full=5)
    batches.add(*range(5))
    assert await batches.found(5) == [(number, error) for number in range(5)]
    assert len(batches.executed) == 1


@pytest.mark.parametrize("requests", [1, 2, 3])
@on_a_loop
async def test_a_second_request_after_the_first_was_executed_is_executed_too(requests: int) -> None:
    batches = Batches()
    for number in range(requests):
        batches.add(number)
        assert (await batches.found(number + 1))[-1] == (number, number)
