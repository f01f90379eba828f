"""What a worker has in hand is let go of once, when it is done; what was not begun can be given up."""

import asyncio
from collections.abc import Callable
from threading import Event

import pytest

from snoozer.delivery import executor as module
from snoozer.delivery.claiming import Delivery
from snoozer.delivery.executor import DeliveryExecutor
from snoozer.domain.reminder import DeliveryOutcome
from tests.factories import a_claim

LONG_ENOUGH = 20


def a_delivery(id: int) -> Delivery:
    return Delivery(claim=a_claim(id), send=None)


def test_what_is_done_is_let_go_of_and_what_was_not_begun_is_given_up() -> None:
    begun, go_on = Event(), asyncio.Event()
    let_go: list[int] = []

    async def deliver(_: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        begun.set()
        await go_on.wait()
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(
        concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda claim: let_go.append(claim.id)
    )
    hands.submit([a_delivery(id) for id in range(1, 4)])
    begun.wait(LONG_ENOUGH)
    assert [claim.id for claim in hands.cancel_pending()] == [2, 3]
    assert len(hands) == 1
    hands._loop.call_soon_threadsafe(go_on.set)
    while hands:
        hands.reap(timeout=LONG_ENOUGH)
    assert let_go == [1]
    hands.close()


async def at_once(_: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
    return DeliveryOutcome.SENT


def test_what_breaks_is_let_go_of_and_makes_room_for_the_next() -> None:
    let_go: list[int] = []

    async def deliver(delivery: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        if delivery.claim.id == 1:
            raise ZeroDivisionError
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(
        concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda claim: let_go.append(claim.id)
    )
    hands.submit([a_delivery(1), a_delivery(2)])
    while hands:
        hands.reap(timeout=LONG_ENOUGH)
    assert let_go == [1, 2]
    hands.close()


def test_a_delivery_whose_hand_is_free_keeps_nobody_waiting() -> None:
    go_on, second = asyncio.Event(), Event()

    async def deliver(delivery: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        answered()
        if delivery.claim.id == 1:
            await go_on.wait()
        else:
            second.set()
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None)
    hands.submit([a_delivery(1), a_delivery(2)])
    assert second.wait(LONG_ENOUGH)
    hands._loop.call_soon_threadsafe(go_on.set)
    hands.close()


def test_the_end_waits_for_what_is_begun() -> None:
    said: list[str] = []

    async def deliver(_: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        await asyncio.sleep(0.01)
        said.append("delivered")
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(
        concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None, on_close=lambda: said.append("goodbye")
    )
    hands.submit([a_delivery(1)])
    while not hands._tasks:
        pass
    hands.close()
    assert said == ["delivered", "goodbye"]


def test_a_delivery_that_does_not_let_go_is_noticed_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.01)
    begun, go_on = Event(), Event()

    async def deliver(_: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        begun.set()
        go_on.wait()
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=deliver, on_done=lambda _: None)
    hands.submit([a_delivery(1)])
    begun.wait(LONG_ENOUGH)
    while not hands.is_stalled():
        pass
    hands.close()
    assert len(hands) == 1
    monkeypatch.undo()
    go_on.set()
    hands.close()
    assert not hands


def test_time_in_which_nobody_looked_counts_little() -> None:
    hands = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=at_once, on_done=lambda _: None)
    hands._seen_at = float("-inf")
    assert not hands.is_stalled()
    assert hands._stalled_for <= module.TICK_SECONDS
    hands.close()


def test_a_wait_ends_when_few_are_left() -> None:
    go_on = asyncio.Event()

    async def deliver(delivery: Delivery, answered: Callable[[], None]) -> DeliveryOutcome:
        if delivery.claim.id == 3:
            await go_on.wait()
        return DeliveryOutcome.SENT

    hands = DeliveryExecutor(concurrency=3, low_watermark=1, deliver=deliver, on_done=lambda _: None)
    hands.submit([a_delivery(id) for id in range(1, 4)])
    hands.reap(timeout=LONG_ENOUGH)
    assert len(hands) == 1
    hands._loop.call_soon_threadsafe(go_on.set)
    hands.close()


def test_a_wait_ends_when_somebody_wakes_it() -> None:
    hands = DeliveryExecutor(concurrency=1, low_watermark=0, deliver=at_once, on_done=lambda _: None)
    hands.wake()
    hands.reap(timeout=10_000)
    hands.close()
