"""Snoozes that repeat or lie in a mailbox, and what their owner does to them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, insert, text

from snoozer import occurrences
from snoozer.db import health_checks
from snoozer.db.models import SnoozedMessage
from snoozer.db.queue import ReminderTime
from snoozer.occurrences import Change
from snoozer.snoozing import SnoozeError
from snoozer.timephrase import Recurrence
from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, now, the_row

DAY = 24 * HOUR
MESSAGE = "<m@mail.example>"


# One for the whole run: a test that passes a full hour must not compare with another one.
FIRST = (now() + 12 * HOUR).replace(minute=0, second=0, microsecond=0)


def soon(days: int = 1) -> datetime:
    """A time of the clock that is never near the hour at which a test runs."""
    return FIRST + (days - 1) * DAY


def daily(**limits: Any) -> dict[str, Any]:
    first = soon()
    return Recurrence(unit="day", interval=1, start=first.date(), at=first.time(), **limits).as_json()


def a_daily(engine: Engine, *, promise: datetime | None = None, limits: Any = None, **columns: Any) -> int:
    values = {"remind_at": promise or soon(), "recurrence": daily(**(limits or {})), "time_kind": "wall"}
    return a_snooze(engine, **(values | {"message_id": MESSAGE} | columns))


def do(engine: Engine, act: Callable[..., Change], id: int, **values: Any) -> Change:
    with engine.begin() as connection:
        return act(connection, id=id, user_email=ANN, route="web", **values)


def refused(engine: Engine, act: Callable[..., Change], id: int, **values: Any) -> str:
    before = the_row(engine, id)
    with pytest.raises(SnoozeError) as error:
        do(engine, act, id, **values)
    assert the_row(engine, id) == before
    return error.value.code


def undo(engine: Engine, id: int, change: Change) -> Change:
    return do(engine, occurrences.undo, id, event=change.event)


def a_time(at: datetime, **values: Any) -> ReminderTime:
    return ReminderTime(remind_at=at, **values)


def kept(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT folder, unread, returned, returns_at FROM kept_messages")).one()


def a_kept_snooze(engine: Engine, **columns: Any) -> int:
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, **({"message_id": MESSAGE, "remind_at": now() + DAY} | columns))
    with engine.begin() as connection:
        connection.execute(text("UPDATE kept_messages SET folder = 'snoozed', unread = FALSE"))
    return id


def assert_sound(engine: Engine) -> None:
    with engine.connect() as connection:
        for name in ("one_send_per_promise", "sent_stays_sent", "finished_has_its_send", "no_second_dot"):
            assert health_checks.violations(connection, name) == []


def in_a_mailbox(engine: Engine, people: People, **columns: Any) -> int:
    """A snooze whose message lies in the folder of what is snoozed in a connected mailbox."""
    mailbox = a_mailbox(engine, account_id=people.ann().id)
    id = a_snooze(engine, **({"message_id": MESSAGE, "remind_at": soon()} | columns))
    values = {
        "mailbox_id": mailbox, "user_email": ANN, "message_id": MESSAGE, "fingerprint": "f", "size": 1, "home": "INBOX",
        "internal_date": now(), "place": "snoozed", "wanted": "snoozed", "folder": "Snoozed",
        "uidvalidity": 1, "uid": 1,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(SnoozedMessage).values(**values))
    return id


def there(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT wanted, returns_at FROM mailbox_messages")).one()
