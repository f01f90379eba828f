"""Messages that are back, and a sender of pushes without threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from threading import Event
from typing import Any

from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.delivery.chores.returns import return_due
from snoozer.notify.push_channel import PushChannel, PushSender
from snoozer.notify.services import SERVICES
from tests.db.transitions import authorise, claim, record, sendable
from tests.factories import ANN, a_kept_message, a_snooze, now
from tests.push_service import KEYS, Subscription, subscribe


def comes_back(engine: Engine, *, user_email: str = ANN, **columns: Any) -> int:
    """A kept message of a snooze that is due returns; returns the snooze."""
    message_id = f"<{now().timestamp()}@kept.example>"
    a_kept_message(engine, user_email=user_email, message_id=message_id)
    id = a_snooze(engine, user_email=user_email, message_id=message_id, **columns)
    with engine.begin() as connection:
        assert mailbox_store.move(connection, user_email=user_email, message_id=message_id, folder="snoozed")
    assert id in return_due(engine)
    return id


def reminder_is_sent(engine: Engine) -> None:
    """Of the one snooze that is due."""
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert authorise(engine, entry)
    record(engine, entry)


def devices(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM push_devices ORDER BY id")).all())


def a_pushed_device(engine: Engine, *, account_id: int, url: str) -> None:
    """A device to which something was pushed."""
    device = subscribe(engine, Subscription(url), account_id=account_id)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO push_sends "
                "(device_id, account_id, snooze_id, scheduled_for, state, try_at, expires_at, finished_at) "
                "VALUES (:device, :account, 1, now(), 'sent', now(), now(), now())"
            ),
            {"device": device, "account": account_id},
        )


def the_sender(
    engine: Engine,
    *,
    kind: type[PushChannel] = PushChannel,
    seconds: float = 10.0,
    keys: Any = KEYS,
    allowed: Any = tuple(SERVICES),
    **changes: Any,
) -> PushSender:
    channel = kind(
        keys=keys,
        rng=Random(1),
        contact="mailto:ops@snoozer.example",
        base_url="https://snoozer.example",
        allowed=allowed,
        seconds=seconds,
    )
    given: dict[str, Any] = {
        "engine": engine,
        "allow_private": True,
        "failpoint": lambda step, device: None,
        "stopping": Event(),
    } | changes
    return PushSender(channel=channel, **given)


def sooner(engine: Engine, *, by: timedelta = timedelta(hours=1)) -> None:
    """As if so much time had passed for pushes and devices; what is to end after hours does not end by that."""
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE push_sends SET try_at = try_at - :by, claimed_until = claimed_until - :by"), {"by": by}
        )
        connection.execute(text("UPDATE push_devices SET quiet_until = quiet_until - :by"), {"by": by})


@contextmanager
def without_trigger(engine: Engine, name: str) -> Iterator[None]:
    with engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE reminder_sends DISABLE TRIGGER {name}"))
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE reminder_sends ENABLE TRIGGER {name}"))
