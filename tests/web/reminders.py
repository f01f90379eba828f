"""Sent reminders, and the links in them."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine, insert

from snoozer.db.models import Send
from snoozer.mail import links
from snoozer.settings import Settings
from tests.factories import a_snooze, now, the_row

MINUTE = timedelta(minutes=1)


def a_sent_reminder(
    engine: Engine, *, promised: datetime | None = None, late: timedelta = timedelta(0), **columns: Any
) -> int:
    """Adds a snooze whose reminder was sent, on time by default; returns the snooze's id."""
    promised = promised or now() - MINUTE
    mailed = promised + late
    id = a_snooze(
        engine,
        remind_at=promised,
        scheduled_for=promised,
        inactive=True,
        outcome="sent",
        finished_at=mailed + timedelta(seconds=1),
        **columns,
    )
    row = the_row(engine, id)
    send = {
        "snooze_id": id,
        "user_email": row.user_email,
        "message_id": row.message_id,
        "scheduled_for": promised,
        "bucket": row.bucket,
        "reminder_message_id": f"<{uuid4()}@snoozer.example>",
        "state": "sent",
        "claim_token": uuid4(),
        "subject": row.subject,
        "sender_email": row.sender_email,
        "note": row.note,
        "zone": "Europe/Berlin",
        "bytes_sha256": "0" * 64,
        "reserved_at": mailed,
        "late_from": max(promised, row.deferred_until or promised),
        "dot_authorised_at": mailed,
        "sent_at": mailed + timedelta(seconds=1),
        "smtp_code": 250,
    }
    with engine.begin() as connection:
        connection.execute(insert(Send).values(**send))
    return id


def a_link(engine: Engine, settings: Settings, id: int) -> str:
    """Returns the path of the reminder of that snooze; that of a button has an act behind it."""
    return an_old_link(engine, settings, id, act="see")


def an_old_link(engine: Engine, settings: Settings, id: int, *, act: links.Action, phrase: str | None = None) -> str:
    """Returns the path of a button in a mail from before there were acts in paths."""
    link = links.Link(snooze_id=id, scheduled_for=the_row(engine, id).scheduled_for, action=act, phrase=phrase)
    return f"/r/{links.sign(link, keys=settings.keys)}"
