"""`on_done` is called once for each delivery that has ended; what was not started can be dropped."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

import pytest

from snoozer.delivery import executor as module
from snoozer.delivery.claiming import Delivery
from snoozer.delivery.executor import DeliveryExecutor
from snoozer.domain.reminder import DeliveryOutcome
from tests.factories import a_claim

TIMEOUT = 20


def a_delivery(id: int) -> Delivery:
    return Delivery(claim=a_claim(id), send=None)


def test_on_done_is_called_for_what_ran_and_not_for_what_was_dropped() -> None:
    started, go_on = Event(), asyncio.Event()
    done: list[int] = []

    async def deliver(_: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        started.set()
        await go_on.wait()
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(
        concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda claim: done.append(claim.id)
    )
    executor.submit([a_delivery(id) for id in range(1, 4)])
    started.wait(TIMEOUT)
    assert [claim.id for claim in executor.cancel_pending()] == [2, 3]
    assert len(executor) == 1
    executor.call_on_loop(go_on.set)
    while executor:
        executor.reap(timeout=TIMEOUT)
    assert done == [1]
    executor.close()


async def at_once(_: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
    return DeliveryOutcome.SENT


def test_a_delivery_that_raises_frees_its_slot() -> None:
    done: list[int] = []

    async def deliver(delivery: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        if delivery.claim.id == 1:
            raise ZeroDivisionError
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(
        concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda claim: done.append(claim.id)
    )
    executor.submit([a_delivery(1), a_delivery(2)])
    while executor:
        executor.reap(timeout=TIMEOUT)
    assert done == [1, 2]
    executor.close()


def test_an_accepted_mail_frees_its_slot_before_the_delivery_ends() -> None:
    go_on, second = asyncio.Event(), Event()

    async def deliver(delivery: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        on_accepted()
        if delivery.claim.id == 1:
            await go_on.wait()
        else:
            second.set()
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None)
    executor.submit([a_delivery(1), a_delivery(2)])
    assert second.wait(TIMEOUT)
    executor.call_on_loop(go_on.set)
    executor.close()


def test_close_waits_for_what_was_started() -> None:
    events: list[str] = []
    started = Event()

    async def deliver(_: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        started.set()
        await asyncio.sleep(0.01)
        events.append("delivered")
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(
        concurrency=1,
        low_watermark=0,
        deliver=deliver,
        on_done=lambda _: None,
        on_close=lambda: events.append("closed"),
    )
    executor.submit([a_delivery(1)])
    assert started.wait(TIMEOUT)
    executor.close()
    assert events == ["delivered", "closed"]


def test_a_delivery_that_blocks_the_loop_is_noticed_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.01)
    started, go_on = Event(), Event()

    async def deliver(_: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        started.set()
        go_on.wait()
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None)
    executor.submit([a_delivery(1)])
    started.wait(TIMEOUT)
    while not executor.is_stalled():
        pass
    executor.close()
    assert len(executor) == 1
    monkeypatch.undo()
    go_on.set()
    executor.close()
    assert not executor


@dataclass
class Clock:
    """A clock that the test sets."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_between_two_looks_counts_little() -> None:
    """A machine that had slept for an hour took every worker for stalled."""
    started, go_on, clock = Event(), Event(), Clock()

    async def deliver(_: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        started.set()
        go_on.wait()
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None, clock=clock)
    executor.submit([a_delivery(1)])
    started.wait(TIMEOUT)
    assert not executor.is_stalled()
    looks = 0
    while not executor.is_stalled():
        clock.now += 3600
        looks += 1
    assert looks > module.STALL_SECONDS / module.TICK_SECONDS
    go_on.set()
    executor.close()


def test_a_wait_ends_when_few_are_left() -> None:
    go_on = asyncio.Event()

    async def deliver(delivery: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        if delivery.claim.id == 3:
            await go_on.wait()
        return DeliveryOutcome.SENT

    executor = DeliveryExecutor(concurrency=3, low_watermark=1, deliver=deliver, on_done=lambda _: None)
    executor.submit([a_delivery(id) for id in range(1, 4)])
    executor.reap(timeout=TIMEOUT)
    assert len(executor) == 1
    executor.call_on_loop(go_on.set)
    executor.close()


def test_a_wait_ends_at_a_wake() -> None:
    executor = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=at_once, on_done=lambda _: None)
    executor.wake()
    executor.reap(timeout=10_000)
    executor.close()
