"""USE CASE of snoozing: read a phrase, snooze a message, change its time, cancel, undo."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, select

from snoozer import timephrase
from snoozer.db import events, mailbox_store, queue, queue_options
from snoozer.db.models import Event, MailboxMessage, Snooze, SnoozedMessage
from snoozer.db.queue import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.domain.reminder import MAX_NOTE_LENGTH
from snoozer.timephrase.zones import zone_of
from snoozer.translations import gettext

# In octets: a line of a mail (RFC 5322). The database refuses more.
MAX_MESSAGE_ID_OCTETS = 998


class SnoozeError(ValueError):
    """The request is invalid. `code` is for programs, `message` for people."""

    def __init__(self, code: str, message: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestions = suggestions


@dataclass(frozen=True, kw_only=True)
class Message:
    """The message of a snooze. Only `message_id` is required: any text of at most 998 octets that identifies the
    message for its owner."""

    message_id: str
    subject: str | None = None
    sender_email: str | None = None


class SnoozeResult(NamedTuple):
    """The row's id, whether it is new, and the recurrence that this snooze ended, as JSON."""

    id: int
    new: bool
    ended: dict[str, Any] | None


def parse_phrase(phrase: str, *, now: datetime, zone: str, locale: str) -> timephrase.ParsedTime:
    """Parse a typed phrase as one time, also one until which a reply is waited for, or a recurrence. Raises SnoozeError
    for anything else."""
    try:
        reading = timephrase.parse(phrase, now=now, zone=zone, locale=locale)
    except timephrase.ParseError as error:
        raise SnoozeError(error.code, error.message, tuple(error.suggestions)) from None
    if reading.at is None:
        raise SnoozeError(
            "condition",
            gettext("That waits for a reply that may never come. Name a time at which it comes back without one."),
            ("3 days if no reply", "next week if no reply", "in 2 weeks"),
        )
    return reading


def parse_preset(phrase: str, *, now: datetime, zone: str, locale: str) -> timephrase.ParsedTime | None:
    """Parse a preset's phrase; None when it is invalid now and valid at another hour of the week, such as "this
    evening" late at night. Raises SnoozeError when it is never valid."""
    try:
        return parse_phrase(phrase, now=now, zone=zone, locale=locale)
    except SnoozeError as error:
        if error.code not in {"past", "too_soon", "no_later_today"}:
            raise
        for hours in range(3, 7 * 24, 3):
            try:
                parse_phrase(phrase, now=now + timedelta(hours=hours), zone=zone, locale=locale)
            except SnoozeError:
                continue
            return None
        raise


def reminder_time_of(
    reading: timephrase.ParsedTime, *, now: datetime, note: str | None = None, alternative: bool = False
) -> ReminderTime:
    """The reminder time of a parsed phrase, or of its alternative; "if no reply" has a reply end the snooze. Raises
    SnoozeError."""
    at, wall = reading.at, reading.wall
    if alternative and reading.alternative is not None:
        at = reading.alternative
        wall = at.astimezone(zone_of(reading.zone)).replace(tzinfo=None)
    if at is None:
        raise SnoozeError("not_an_instant", gettext("That names no time. Name one, such as tomorrow 8am."))
    return ReminderTime(
        remind_at=at,
        duration_hours=_hours(at - now),
        note=clean_note(note),
        wall_time=wall,
        zone=reading.zone,
        time_kind=reading.time_kind,
        recurrence=None if reading.recurrence is None else reading.recurrence.as_json(),
        reply_policy="cancel_on_reply" if reading.condition == "no_reply" else None,
    )


def reminder_time_at(at: datetime, *, now: datetime, zone: str, note: str | None = None) -> ReminderTime:
    """The reminder time for an exact instant, as programs send it. Raises SnoozeError when it is past or too far."""
    if at <= now:
        raise SnoozeError("past", gettext("That time has passed. Give one that lies ahead."))
    if at > now + timedelta(days=3653):
        raise SnoozeError("too_far", gettext("That is more than ten years away. Give a time within ten years."))
    return ReminderTime(remind_at=at, duration_hours=_hours(at - now), note=clean_note(note), zone=zone)


def snooze(
    connection: Connection,
    *,
    user_email: str,
    message: Message,
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None = None,
    traceparent: str | None = None,
    options: EnqueueOptions = DEFAULT_OPTIONS,
) -> SnoozeResult:
    """Snooze a message, or change the time of its live snooze; a kept message leaves the inbox.

    The phrase with its flags and alternative is kept in an event. Raises SnoozeError for an invalid message_id.
    """
    message_id = _valid_message_id(message.message_id)
    same_message = and_(Snooze.user_email == user_email, Snooze.message_id == message_id)
    recurrence = _lock_recurrence(connection, same_message, ~Snooze.inactive)
    mailbox_store.lock_message(connection, user_email=user_email, message_id=message_id)
    id, created = queue.enqueue(
        connection,
        user_email=user_email,
        message_id=message_id,
        subject=message.subject,
        sender_email=message.sender_email,
        reminder_time=reminder_time,
        traceparent=traceparent,
        options=options,
    )
    mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=message_id)
    ended = ended_recurrence(recurrence, reminder_time)
    if reading is not None or not created:
        kind = "asked" if created else "edited"
        detail = event_detail(reading, reminder_time, ended)
        events.append(connection, snooze_id=id, kind=kind, actor="user", route=route, **detail)
    return SnoozeResult(id=id, new=created, ended=ended)


def change(
    connection: Connection,
    *,
    id: int,
    user_email: str,
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None = None,
) -> bool:
    """Change the time or note of a live snooze. Returns False when it is over or another person's.

    A message that is back, while its reminder is not sent yet, leaves the inbox for a new time.
    """
    recurrence = _lock_recurrence(connection, Snooze.id == id, Snooze.user_email == user_email)
    if not reschedule(connection, id=id, user_email=user_email, reminder_time=reminder_time):
        return False
    detail = event_detail(reading, reminder_time, ended_recurrence(recurrence, reminder_time))
    events.append(connection, snooze_id=id, kind="edited", actor="user", route=route, **detail)
    return True


def reschedule(connection: Connection, *, id: int, user_email: str, reminder_time: ReminderTime) -> bool:
    """What `change` does to the snooze and its message, without an event."""
    returned = _lock_returned(connection, id=id)
    if not queue.reschedule(connection, id=id, user_email=user_email, reminder_time=reminder_time):
        return False
    if returned is not None:
        mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=returned)
    return True


def change_options(
    connection: Connection, *, id: int, user_email: str, options: EnqueueOptions, keeps_key: bool, route: str
) -> bool:
    """Change how workers treat a snooze, and nothing about its promise. Returns False when it is over, or is being
    sent."""
    if not queue_options.set_options(connection, id=id, user_email=user_email, options=options, keeps_key=keeps_key):
        return False
    events.append(connection, snooze_id=id, kind="edited", actor="user", route=route)
    return True


def change_note(
    connection: Connection, *, id: int, user_email: str, note: str | None, before: str | None, route: str
) -> int | None:
    """Change the note of a snooze and nothing else. Returns the id of the event, which keeps the note `before` for
    `note_before`, or None when it is over. Raises SnoozeError for a note that is too long."""
    if not queue.set_note(connection, id=id, user_email=user_email, note=clean_note(note)):
        return None
    return events.append(connection, snooze_id=id, kind="noted", actor="user", route=route, note=before)


def note_before(connection: Connection, *, id: int, event: int) -> str | None:
    """The note that this change of it replaced. Raises SnoozeError where that is not known."""
    change = select(Event.detail).where(Event.id == event, Event.snooze_id == id, Event.kind == "noted")
    detail = connection.execute(change).scalar_one_or_none()
    if detail is None or "note" not in detail:
        raise SnoozeError("changed", gettext("There is nothing to undo."))
    note: str | None = detail["note"]
    return note


def cancel(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """Cancel a snooze; its kept message returns to the inbox. Returns False when it is over."""
    if not queue.cancel(connection, id=id, user_email=user_email):
        return False
    mailbox_store.move_to_inbox(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="cancelled", actor="user", route=route)
    return True


def undo(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """Undo a cancellation. Returns False when there is none, or the message was snoozed again since."""
    _lock_recurrence(connection, Snooze.id == id, Snooze.user_email == user_email)
    mailbox_store.lock_message(connection, user_email=user_email, message_id=message_id)
    if not queue.restore(connection, id=id, user_email=user_email):
        return False
    mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="undone", actor="user", route=route)
    return True


def ended_recurrence(recurrence: dict[str, Any] | None, new: ReminderTime) -> dict[str, Any] | None:
    """The recurrence that a new reminder time ends; None when there was none, or it continues with another start."""
    continues = recurrence is not None and recurrence | {"start": None} == (new.recurrence or {}) | {"start": None}
    return None if continues else recurrence


def _lock_recurrence(connection: Connection, *where: ColumnElement[bool]) -> dict[str, Any] | None:
    """The recurrence of a row that is about to be edited, locked until the transaction ends."""
    row = select(Snooze.recurrence).where(*where).with_for_update(key_share=True)
    return connection.execute(row).scalar_one_or_none()


def _lock_returned(connection: Connection, *, id: int) -> str | None:
    """The Message-ID of the message, here or in a connected mailbox, whose row is locked, where it has returned for the
    present promise."""
    for model in (MailboxMessage, SnoozedMessage):
        its_message = and_(model.user_email == Snooze.user_email, model.message_id == Snooze.message_id)
        message = select(model.message_id, model.returns_at).join(Snooze, its_message).where(Snooze.id == id)
        row = connection.execute(message.with_for_update(key_share=True, of=model)).first()
        if row is not None and row.returns_at is None:
            return str(row.message_id)
    return None


def event_detail(
    reading: timephrase.ParsedTime | None, reminder_time: ReminderTime, ended: dict[str, Any] | None
) -> dict[str, object]:
    """The phrase with its time, its flags and alternative unless the alternative was chosen, and the recurrence that
    was ended."""
    detail: dict[str, object] = {} if ended is None else {"ended": ended}
    if reading is None:
        return detail
    detail |= {"phrase": clean_phrase(reading.phrase), "at": reminder_time.remind_at.isoformat()}
    if reminder_time.remind_at == reading.at and reading.flags:
        detail["flags"] = list(reading.flags)
        detail["alternative"] = reading.alternative.isoformat() if reading.alternative else None
    return detail


def clean_phrase(phrase: str) -> str:
    """The phrase with single spaces and without unprintable characters."""
    return "".join(char for char in " ".join(phrase.split()) if char.isprintable())


def _hours(span: timedelta) -> int:
    return max(0, round(span / timedelta(hours=1)))


def clean_note(note: str | None) -> str | None:
    """The note without a frame of spaces, None for an empty one. Raises SnoozeError when it is too long."""
    note = (note or "").replace("\x00", "").strip()
    if len(note) > MAX_NOTE_LENGTH:
        raise SnoozeError(
            "note_too_long",
            gettext("The note has %(length)s characters; %(max)s is the most.", length=len(note), max=MAX_NOTE_LENGTH),
        )
    return note or None


def _valid_message_id(message_id: str) -> str:
    octets, most = len(message_id.encode("utf-8", "surrogatepass")), MAX_MESSAGE_ID_OCTETS
    if not message_id.strip() or octets > most or "\x00" in message_id:
        sentence = f"message_id must be a text of 1 to {most} octets in UTF-8 that names the message; it has {octets}."
        raise SnoozeError("bad_message_id", sentence)
    return message_id
