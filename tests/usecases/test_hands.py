"""What a worker has in hand is let go of once, when it is done; what was not begun can be given up."""

from datetime import UTC, datetime
from threading import Event
from uuid import uuid4

from snoozer.domain.reminder import Claim, Verdict
from snoozer.reminding import Delivery
from snoozer.worker.hands import Hands

LONG_ENOUGH = 20


def a_delivery(id: int) -> Delivery:
    now = datetime.now(UTC)
    claim = Claim(
        id=id,
        claim_token=uuid4(),
        user_email="ann@snoozer.example",
        message_id=f"<{id}@mail.example>",
        remind_at=now,
        scheduled_for=now,
        attempts=0,
        max_attempts=5,
        crash_count=0,
        lease_expires_at=now,
        recurrence=None,
        zone=None,
        traceparent=None,
    )
    return Delivery(claim=claim, send=None)


def test_what_is_done_is_let_go_of_and_what_was_not_begun_is_given_up() -> None:
    begun, go_on = Event(), Event()
    let_go: list[int] = []

    def deliver(_: Delivery) -> Verdict:
        begun.set()
        go_on.wait(LONG_ENOUGH)
        return Verdict.SENT

    hands = Hands(concurrency=1, deliver=deliver, let_go=lambda claim: let_go.append(claim.id))
    for id in range(1, 4):
        hands.take(a_delivery(id))
    begun.wait(LONG_ENOUGH)
    assert [claim.id for claim in hands.give_up_unbegun()] == [2, 3]
    assert len(hands) == 1
    go_on.set()
    while hands:
        hands.settle(wait_for=LONG_ENOUGH)
    assert let_go == [1]
    hands.close()


def test_a_wait_ends_when_somebody_wakes_it() -> None:
    hands = Hands(concurrency=1, deliver=lambda _: Verdict.SENT, let_go=lambda _: None)
    hands.wake()
    hands.settle(wait_for=10_000)
    hands.close()
