"""Links in reminders of one-time and recurring snoozes: made, found, acted on."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, text

from snoozer.delivery.settling import finish
from snoozer.mail.links import Link
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import Claim, Send
from snoozer.snoozes import reminder_links
from snoozer.snoozes.reminder_links import Occurrence
from tests.db.transitions import a_held_mail, authorise, mark_uncertain_one, record, release_one
from tests.factories import HOUR, a_kept_message, now

MESSAGE = "<m@mail.example>"
# Never near the hour at which a test runs.
DAILY = {
    "unit": "day",
    "interval": 1,
    "start": "2026-01-05",
    "at": f"{now() + 12 * HOUR:%H}:00:00",
    "until": None,
    "weekdays": [],
    "rest": [],
}
HOLD = timedelta(minutes=10)


def found(engine: Engine, link: Link) -> Occurrence:
    with engine.begin() as connection:
        occurrence = reminder_links.find(connection, link=link)
    assert occurrence is not None
    return occurrence


def act(engine: Engine, link: Link, what: str, *, hours: int = 1) -> bool:
    with engine.begin() as connection:
        occurrence = reminder_links.find(connection, link=link, acting=True)
        assert occurrence is not None
        if what == "again":
            later = ReminderTime(remind_at=now() + hours * HOUR)
            return reminder_links.snooze_again(connection, occurrence=occurrence, reminder_time=later, route="mail")
        return bool(getattr(reminder_links, what)(connection, occurrence=occurrence, route="mail"))


def folder(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(text("SELECT folder FROM messages")).scalar_one())


def living(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one())


def in_flight(engine: Engine, **columns: Any) -> tuple[Claim, Send]:
    """A send after the dot, without a reply yet."""
    a_kept_message(engine, message_id=MESSAGE)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed'"))
    held, send = a_held_mail(engine, **{"message_id": MESSAGE, "recurrence": DAILY} | columns)
    authorise(engine, send)
    return held, send


def uncertain(engine: Engine, **columns: Any) -> tuple[Claim, Send]:
    """A send whose connection was lost after the dot; the row waits out the hold."""
    held, send = in_flight(engine, **columns)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        release_one(connection, held, error="?", attempts_used=0, delay=HOLD)
    return held, send


def before_the_end(engine: Engine) -> tuple[Claim, Send]:
    """A send whose 250 is recorded, before its snooze is finalized."""
    held, send = in_flight(engine)
    record(engine, send)
    return held, send


def link_in(send: Send) -> Link:
    return Link(snooze_id=send.snooze_id, scheduled_for=send.scheduled_for, action="done")


def sent_and_gone_on(engine: Engine) -> Send:
    """A send whose 250 is recorded, and whose snooze is promised anew."""
    held, send = before_the_end(engine)
    with engine.begin() as connection:
        assert finish(connection, [held])
    return send
