"""People who get a digest: `deferred(engine, 4)` are reminders of a rest that is over, one more than come singly."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, text

from snoozer.delivery.claiming import Delivery
from snoozer.delivery.settling import Ending, settle
from snoozer.queue.reminder import DeliveryOutcome, Failure, Send
from tests.db.days import CONFIG, MINUTE, choose, pass_rest, quiet, turn
from tests.db.transitions import a_fact, authorise
from tests.factories import a_snooze, now, the_row
from tests.next_try import SECOND, set_next_try

OVER = 3


def change(engine: Engine, act: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(act), values)


def deferred(engine: Engine, count: int, **columns: Any) -> list[int]:
    """Snoozes that a rest deferred which is over now, of a person who wants at most OVER single mails."""
    choose(engine, quiet(gathers_over=OVER))
    change(engine, "UPDATE day_shapes SET gathered_until = now() - INTERVAL '1 hour'")
    ids = [a_snooze(engine, remind_at=now() - (count - number) * MINUTE / 60, **columns) for number in range(count)]
    assert turn(engine) == []
    pass_rest(engine)
    change(engine, "UPDATE email_snoozes SET deferred_until = now() - INTERVAL '1 second'")
    return ids


def wake(engine: Engine) -> None:
    """As if the moments had passed for which members wait."""
    set_next_try(engine, -SECOND, "claimed_at IS NULL")


def accept(engine: Engine, deliveries: Sequence[Delivery]) -> None:
    answer(engine, [one for one in deliveries if one.send is not None and authorise(engine, one.send)])


def answer(engine: Engine, deliveries: Sequence[Delivery]) -> None:
    """The mail server takes these, whose dots were authorised."""
    endings = [
        Ending(claim=one.claim, outcome=DeliveryOutcome.SENT, fact=a_fact(one.send))
        for one in deliveries
        if one.send is not None
    ]
    with engine.begin() as connection:
        settle(connection, endings, config=CONFIG)


def gathered(engine: Engine) -> Delivery:
    """What a worker sends once it has looked: one mail, and nothing else."""
    assert turn(engine) == []
    wake(engine)
    [delivery] = turn(engine)
    assert delivery.send is not None
    return delivery


def listed(send: Send | None) -> list[int]:
    assert send is not None
    return [send.snooze_id, *(one.snooze_id for one in send.members)]


def outcomes(engine: Engine, ids: Sequence[int]) -> list[str | None]:
    return [the_row(engine, id).outcome for id in ids]


def silent(engine: Engine, delivery: Delivery) -> None:
    """No reply came after the dot."""
    assert delivery.send is not None
    assert authorise(engine, delivery.send)
    failure = Failure(
        id=delivery.claim.id, claim_token=delivery.claim.claim_token, error="x", attempts_used=0, delay=MINUTE
    )
    ending = Ending(
        claim=delivery.claim,
        outcome=DeliveryOutcome.UNCERTAIN,
        silence=(delivery.send, "no reply"),
        failure=failure,
    )
    with engine.begin() as connection:
        settle(connection, [ending], config=CONFIG)
