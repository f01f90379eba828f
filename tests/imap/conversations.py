"""Conversations in a watched mailbox: delivered, snoozed as a list does it, and looked at."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from flask.testing import FlaskClient

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.entering import enter, snooze_target
from snoozer.mailboxes.read.mailbox import Row
from snoozer.queue.promise import ReminderTime
from snoozer.web import create_app
from snoozer.web.mailboxes.mail.opening import close_connections
from tests.acting import snooze
from tests.factories import an_original, now
from tests.imap.watched import Place, returned

FLAGS = ("", r"\Seen", r"\Flagged \Seen", r"\Answered \Seen", r"$Label1", r"\Seen important")
PENDING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL OR moving_to IS NOT NULL OR wanted <> place"
UNMOVED = "SELECT 1 FROM messages WHERE moving_to IS NOT NULL OR wanted <> place"
RETURNED = "SELECT 1 FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'"

Shown = tuple[bytes, str, frozenset[str]]


def started(place: Place) -> None:
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))


@contextmanager
def pages(place: Place) -> Iterator[FlaskClient]:
    """The pages, as Ann uses them."""
    app = create_app(engine=place.engine, settings=place.settings)
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", place.person.session)
    try:
        yield client
    finally:
        close_connections(app)


def id_of(name: str, number: int) -> str:
    return f"<{name}.{number}@mail.example>"


def a_message(name: str, number: int, **headers: str) -> bytes:
    """The message of this number in a conversation: a reply to the one before."""
    before = [id_of(name, each) for each in range(number)]
    fields = {"In-Reply-To": before[-1], "References": " ".join(before[-20:])} if before else {}
    subject = name if number == 0 else f"Re: {name}"
    original = an_original(subject=subject, message_id=id_of(name, number))
    lines = "".join(f"{field}: {value}\r\n" for field, value in (fields | headers).items())
    return lines.encode() + original


def deliver(place: Place, name: str, count: int) -> None:
    for number in range(count):
        place.program.deliver(a_message(name, number), flags=FLAGS[number % len(FLAGS)])


def a_time(days: float = 1, **options: Any) -> ReminderTime:
    return ReminderTime(remind_at=now() + timedelta(days=days), zone="UTC", **options)


def snoozed(
    place: Place, mailbox: ConnectedMailbox, key: str, *, time: ReminderTime | None = None, only: bool = False
) -> int:
    """Snooze as the route does."""
    target = snooze_target(mailbox, key, alone=True) if only else snooze_target(mailbox, key, whole=True)
    with place.engine.begin() as connection:
        message = vars(target.message)
        id, _ = snooze(connection, user_email=place.person.email, reminder_time=time or a_time(), **message)
        assert enter(connection, target, snooze_id=id)
    return id


def row_of(mailbox: ConnectedMailbox, subject: str) -> Row:
    [row] = [row for row in mailbox.page(None).rows if row.subject in (subject, f"Re: {subject}")]
    return row


def asleep_rows(mailbox: ConnectedMailbox) -> list[Row]:
    folder = next(each.key for each in mailbox.folders() if each.role == "snoozed")
    return mailbox.page(folder).rows


def put_away(place: Place, count: int) -> None:
    place.eventually(lambda: place.program.count(place.snoozed) == count and not place.rows(UNMOVED))


def back(place: Place) -> None:
    place.eventually(lambda: not place.rows(PENDING) and not place.program.uids(place.snoozed))


def as_returned(before: Sequence[Shown]) -> list[Shown]:
    """The newest comes back unread; the others keep all their flags."""
    return [*before[:-1], *returned(before[-1:])]
