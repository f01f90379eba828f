"""USE CASE of the reader: put a message away, change the time, change one's mind, undo."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from snoozer import timephrase
from snoozer.db import events, mailbox_store, queue
from snoozer.db.models import Snooze
from snoozer.db.queue import ReminderTime
from snoozer.domain.reminder import MAX_NOTE_LENGTH
from snoozer.timephrase.zones import zone_of

# In octets: a line of a mail (RFC 5322). The database refuses more.
MAX_MESSAGE_ID_OCTETS = 998

# Refusals that another hour of the week may lift.
_FOR_NOW = frozenset({"past", "too_soon", "no_later_today"})


class SnoozeError(ValueError):
    """The request makes no snooze. `code` is for programs, the text for people."""

    def __init__(self, code: str, message: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestions = suggestions


@dataclass(frozen=True, kw_only=True)
class Message:
    """What a snooze is about. Only `message_id` is needed; it is any text that names the message for its owner, of 998
    octets at most."""

    message_id: str
    subject: str | None = None
    sender_email: str | None = None


class SnoozeResult(NamedTuple):
    """The snooze of a message that was put away: whether it is new, and the repetition that this put an end to."""

    id: int
    new: bool
    ended: dict[str, Any] | None


def parse_phrase(phrase: str, *, now: datetime, zone: str, locale: str) -> timephrase.ParsedTime:
    """What a typed phrase means for this person: one time, or a repetition. Raises CannotSnooze for anything else."""
    try:
        reading = timephrase.parse(phrase, now=now, zone=zone, locale=locale)
    except timephrase.ParseError as refused:
        raise SnoozeError(refused.code, refused.message, tuple(refused.suggestions)) from None
    if reading.kind == "condition" or reading.at is None:
        raise SnoozeError(
            "condition",
            "Waiting for a reply needs a connected mailbox, which is not there yet. Name a time, or a repetition.",
            ("tomorrow 8am", "in 3 days", "every monday 9am"),
        )
    return reading


def parse_preset(phrase: str, *, now: datetime, zone: str, locale: str) -> timephrase.ParsedTime | None:
    """What a preset's phrase means now; None when it means nothing now and does at another hour of the week, as
    "this evening" late at night. Raises CannotSnooze for what can be no preset."""
    try:
        return parse_phrase(phrase, now=now, zone=zone, locale=locale)
    except SnoozeError as refusal:
        if refusal.code not in _FOR_NOW:
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
    """The appointment that a reading makes, or its alternative."""
    at, wall = reading.at, reading.wall
    if alternative and reading.alternative is not None:
        at = reading.alternative
        wall = at.astimezone(zone_of(reading.zone)).replace(tzinfo=None)
    if at is None:
        raise SnoozeError("not_an_instant", "That names no time. Name one, such as tomorrow 8am.")
    return ReminderTime(
        remind_at=at,
        duration_hours=_hours(at - now),
        note=_note(note),
        wall_time=wall,
        zone=reading.zone,
        time_kind=reading.time_kind,
        recurrence=None if reading.recurrence is None else reading.recurrence.as_json(),
    )


def reminder_time_at(at: datetime, *, now: datetime, zone: str, note: str | None = None) -> ReminderTime:
    """The appointment for an exact instant, as programs give it. Raises CannotSnooze when it is not ahead."""
    if at <= now:
        raise SnoozeError("past", "That time has passed. Give one that lies ahead.")
    if at > now + timedelta(days=3653):
        raise SnoozeError("too_far", "That is more than ten years away. Give a time within ten years.")
    return ReminderTime(remind_at=at, duration_hours=_hours(at - now), note=_note(note), zone=zone)


def snooze(
    connection: Connection,
    *,
    user_email: str,
    message: Message,
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None = None,
    traceparent: str | None = None,
) -> SnoozeResult:
    """Put a message away.

    Snoozing a message that is already away changes its time. A kept message leaves the inbox. What was said, with its
    flags and its alternative, stands in the paper trail, so that it can be checked later.
    """
    name = _valid_message_id(message.message_id)
    repeated = _repetition(connection, Snooze.user_email == user_email, Snooze.message_id == name, ~Snooze.inactive)
    id, created = queue.enqueue(
        connection,
        user_email=user_email,
        message_id=name,
        subject=message.subject,
        sender_email=message.sender_email,
        reminder_time=reminder_time,
        traceparent=traceparent,
    )
    mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=name)
    over = ended_recurrence(repeated, reminder_time)
    if reading is not None or not created:
        kind = "asked" if created else "edited"
        said = _event_detail(reading, reminder_time, over)
        events.append(connection, snooze_id=id, kind=kind, actor="user", route=route, **said)
    return SnoozeResult(id=id, new=created, ended=over)


def change(
    connection: Connection,
    *,
    id: int,
    user_email: str,
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None = None,
) -> bool:
    """A new time or note for a living snooze; False when it is over or not this person's."""
    repeated = _repetition(connection, Snooze.id == id, Snooze.user_email == user_email)
    if not queue.reschedule(connection, id=id, user_email=user_email, reminder_time=reminder_time):
        return False
    said = _event_detail(reading, reminder_time, ended_recurrence(repeated, reminder_time))
    events.append(connection, snooze_id=id, kind="edited", actor="user", route=route, **said)
    return True


def cancel(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """No reminder after all; the kept message lies in the inbox again. False when the snooze is over."""
    if not queue.cancel(connection, id=id, user_email=user_email):
        return False
    mailbox_store.move_to_inbox(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="cancelled", actor="user", route=route)
    return True


def undo(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """Undo a cancellation; False when there is nothing to undo or the message was put away anew since."""
    if not queue.restore(connection, id=id, user_email=user_email):
        return False
    mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="undone", actor="user", route=route)
    return True


def ended_recurrence(repeated: dict[str, Any] | None, appointment: ReminderTime) -> dict[str, Any] | None:
    """The repetition that an appointment puts an end to; None when there was none, or it goes on in the same rhythm."""
    if repeated is None or repeated | {"start": None} == (appointment.recurrence or {}) | {"start": None}:
        return None
    return repeated


def _repetition(connection: Connection, *where: ColumnElement[bool]) -> dict[str, Any] | None:
    """The repetition of a row that is about to be edited; nobody edits it before this transaction ends."""
    sought = select(Snooze.recurrence).where(*where).with_for_update(key_share=True)
    return connection.execute(sought).scalar_one_or_none()


def _event_detail(
    reading: timephrase.ParsedTime | None, appointment: ReminderTime, over: dict[str, Any] | None
) -> dict[str, object]:
    """The words behind an appointment, what there is to say about them unless the other meaning was taken, and the
    repetition that is over."""
    said: dict[str, object] = {} if over is None else {"ended": over}
    if reading is None:
        return said
    said |= {"phrase": clean_phrase(reading.phrase), "at": appointment.remind_at.isoformat()}
    if appointment.remind_at == reading.at and reading.flags:
        said["flags"] = list(reading.flags)
        said["alternative"] = reading.alternative.isoformat() if reading.alternative else None
    return said


def clean_phrase(phrase: str) -> str:
    """The phrase as it is kept: single spaces, nothing invisible."""
    return "".join(sign for sign in " ".join(phrase.split()) if sign.isprintable())


def _hours(span: timedelta) -> int:
    return max(0, round(span / timedelta(hours=1)))


def _note(note: str | None) -> str | None:
    note = (note or "").replace("\x00", "").strip()
    if len(note) > MAX_NOTE_LENGTH:
        raise SnoozeError("note_too_long", f"The note has {len(note)} characters; {MAX_NOTE_LENGTH} is the most.")
    return note or None


def _valid_message_id(message_id: str) -> str:
    octets = len(message_id.encode("utf-8", "surrogatepass"))
    if not message_id.strip() or octets > MAX_MESSAGE_ID_OCTETS or "\x00" in message_id:
        raise SnoozeError(
            "bad_message_id",
            f"message_id must be a text of 1 to {MAX_MESSAGE_ID_OCTETS} octets in UTF-8 that names the message; "
            f"it has {octets}.",
        )
    return message_id
