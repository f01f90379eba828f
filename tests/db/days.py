"""People whose day has a shape, relative to now: `resting(engine)` is in the middle of quiet hours."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, text

from snoozer.delivery.claiming import Delivery, DeliveryConfig, claim_mails, no_failpoint
from snoozer.delivery.settling import Ending, settle
from snoozer.queue import queue
from snoozer.queue.reminder import UncertainPolicy
from snoozer.snoozes import chosen_shape
from snoozer.timephrase.day_shape import DayShape
from tests.factories import ANN, HOUR, now

UTC_CLOCK = ZoneInfo("UTC")
MINUTE = timedelta(minutes=1)
CONFIG = DeliveryConfig(
    worker="w", domain="x.example", lease=HOUR, uncertainty=UncertainPolicy(hold=HOUR), first_delay=HOUR, deadline=60
)


def choose(engine: Engine, shape: DayShape, *, email: str = ANN) -> None:
    """As the page does, by which the account is made first."""
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO accounts (email, zone, verified_at) VALUES (:e, 'UTC', now()) ON CONFLICT DO NOTHING"),
            {"e": email},
        )
        id = connection.execute(text("SELECT id FROM accounts WHERE email = :e"), {"e": email}).scalar_one()
        chosen_shape.choose(connection, account_id=id, shape=shape)


def quiet(*, since: timedelta = HOUR, for_: timedelta = 2 * HOUR, **more: Any) -> DayShape:
    """Quiet hours that began an hour ago, by the clock of UTC."""
    start = now() - since
    return DayShape(quiet_from=wall(start), quiet_until=wall(start + for_), **more)


def wall(at: datetime) -> Any:
    return at.astimezone(UTC_CLOCK).time().replace(second=0, microsecond=0)


def resting(engine: Engine, *, email: str = ANN) -> datetime:
    """Puts the person into quiet hours; returns their end."""
    choose(engine, quiet(), email=email)
    with engine.connect() as connection:
        end: datetime = connection.execute(
            text("SELECT rest_until FROM day_shapes JOIN accounts ON id = account_id WHERE email = :e"), {"e": email}
        ).scalar_one()
    return end


def pass_rest(engine: Engine) -> None:
    """As if every rest and what it deferred had been two hours earlier."""
    with engine.begin() as connection:
        for statement in (
            "UPDATE day_shapes SET rest_from = rest_from - INTERVAL '2 hours', "
            "rest_until = rest_until - INTERVAL '2 hours'",
            "UPDATE email_snoozes SET remind_at = remind_at - INTERVAL '2 hours', "
            "deferred_until = deferred_until - INTERVAL '2 hours' "
            "WHERE deferred_until IS NOT NULL AND snooze_keeps('promise')",
            "UPDATE messages SET deferred_until = deferred_until - INTERVAL '2 hours'",
        ):
            connection.execute(text(statement))


def take(engine: Engine) -> list[Delivery]:
    """What a worker claims and reserves."""
    claim = partial(queue.claim, worker=CONFIG.worker, batch_size=99, lease=HOUR)
    return claim_mails(engine, config=CONFIG, claim=claim, failpoint=no_failpoint)


def turn(engine: Engine) -> list[Delivery]:
    """What a worker can send; what it cannot is settled."""
    deliveries = take(engine)
    with engine.begin() as connection:
        endings = [Ending(claim=one.claim, outcome=None) for one in deliveries if one.send is None]
        settle(connection, endings, config=CONFIG)
    return [one for one in deliveries if one.send is not None]


def deferral(engine: Engine, id: int, promise: datetime) -> Any:
    """Why a rest defers what is promised for this time, if it does."""
    asked = text("SELECT reason FROM snooze_deferral(:person, :id, :promise)")
    with engine.connect() as connection:
        return connection.execute(asked, {"person": ANN, "id": id, "promise": promise}).scalar_one()
