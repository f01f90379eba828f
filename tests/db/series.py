"""Snoozes that repeat or lie in a mailbox, and what their owner does to them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Engine, insert, text

from snoozer.db import health_checks
from snoozer.db.models import MailboxMessage
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import acts
from snoozer.snoozes.acts import Act, By, Result
from snoozer.timephrase.recurrence import Recurrence
from tests import acting
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


def do(engine: Engine, what: Act, id: int) -> Result:
    with engine.begin() as connection:
        result = acting.act(connection, id, what)
    assert result.left is None, result.left
    return result


def refused(engine: Engine, what: Act, id: int) -> str:
    """Why the snooze was left; nothing about it has changed."""
    before = the_row(engine, id)
    with engine.begin() as connection:
        left = acting.act(connection, id, what).left
    assert left is not None
    assert the_row(engine, id) == before
    return left.code


def undo(engine: Engine, id: int, done: Result) -> Result:
    [result] = _undone(engine, id, done.event)
    assert result.left is None, result.left
    return result


def not_undone(engine: Engine, id: int, event: int | None) -> str:
    """Why the act was not undone; nothing about the snooze has changed."""
    before = the_row(engine, id)
    [result] = _undone(engine, id, event)
    assert result.left is not None
    assert the_row(engine, id) == before
    return result.left.code


def _undone(engine: Engine, id: int, event: int | None) -> list[Result]:
    assert event is not None
    with engine.begin() as connection:
        return acts.undo(connection, [id], By(ANN, "web"), done=[event])


def promise(done: Result) -> datetime:
    """The promise after an act."""
    assert done.terms is not None
    return done.terms.remind_at


def a_time(at: datetime, **values: Any) -> ReminderTime:
    return ReminderTime(remind_at=at, **values)


def kept(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT folder, unread, returned, returns_at FROM messages")).one()


def a_kept_snooze(engine: Engine, **columns: Any) -> int:
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, **({"message_id": MESSAGE, "remind_at": now() + DAY} | columns))
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed', unread = FALSE"))
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
        connection.execute(insert(MailboxMessage).values(**values))
    return id


def there(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT wanted, returns_at FROM messages")).one()
