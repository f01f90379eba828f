"""USE CASE of the reader: put a message away, change the time, change one's mind, undo."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from snoozer.domain import times
from snoozer.postgres import events, kept, queue
from snoozer.postgres.queue import Appointment

LONGEST_NOTE = 2000


class CannotSnooze(ValueError):
    """The request makes no snooze. `code` is for programs, the text for people."""

    def __init__(self, code: str, message: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestions = suggestions


@dataclass(frozen=True, kw_only=True)
class Message:
    """What a snooze is about. Only `message_id` is needed; it is any text that names the message for its owner."""

    message_id: str
    subject: str | None = None
    sender_email: str | None = None


def now(connection: Connection) -> datetime:
    """The database's clock, which is the only one that counts."""
    clock: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return clock


def read(phrase: str, *, now: datetime, zone: str, locale: str) -> times.Reading:
    """What a typed phrase means for this person. Raises CannotSnooze for a phrase that is no instant."""
    try:
        reading = times.read(phrase, now=now, zone=zone, locale=locale)
    except times.Refused as refused:
        raise CannotSnooze(refused.code, refused.message, tuple(refused.suggestions)) from None
    if reading.kind != "instant" or reading.at is None:
        raise CannotSnooze(
            "not_an_instant",
            "Snoozes that repeat or wait for a reply are not there yet. Name one time.",
            ("tomorrow 8am", "in 3 days", "next monday"),
        )
    return reading


def appoint(reading: times.Reading, *, now: datetime, note: str | None = None) -> Appointment:
    """The appointment that a reading makes."""
    if reading.at is None:
        raise CannotSnooze("not_an_instant", "That names no time. Name one, such as tomorrow 8am.")
    return Appointment(
        remind_at=reading.at,
        duration_hours=_hours(reading.at - now),
        note=_note(note),
        wall_time=reading.wall,
        zone=reading.zone,
        time_kind=reading.time_kind,
    )


def appoint_instant(at: datetime, *, now: datetime, zone: str, note: str | None = None) -> Appointment:
    """The appointment for an exact instant, as programs give it. Raises CannotSnooze when it is not ahead."""
    if at <= now:
        raise CannotSnooze("past", "That time has passed. Give one that lies ahead.")
    if at > now + timedelta(days=3653):
        raise CannotSnooze("too_far", "That is more than ten years away. Give a time within ten years.")
    return Appointment(remind_at=at, duration_hours=_hours(at - now), note=_note(note), zone=zone)


def snooze(
    connection: Connection,
    *,
    user_email: str,
    message: Message,
    appointment: Appointment,
    route: str,
    traceparent: str | None = None,
) -> tuple[int, bool]:
    """Put a message away; answers the snooze's id and whether it is new.

    Snoozing a message that is already away changes its time. A kept message leaves the inbox.
    """
    id, created = queue.enqueue(
        connection,
        user_email=user_email,
        message_id=_named(message.message_id),
        subject=message.subject,
        sender_email=message.sender_email,
        appointment=appointment,
        traceparent=traceparent,
    )
    kept.put_away(connection, user_email=user_email, message_id=message.message_id)
    if not created:
        events.append(connection, snooze_id=id, kind="edited", actor="user", route=route)
    return id, created


def change(connection: Connection, *, id: int, user_email: str, appointment: Appointment, route: str) -> bool:
    """A new time or note for a living snooze; False when it is over or not this person's."""
    if not queue.reschedule(connection, id=id, user_email=user_email, appointment=appointment):
        return False
    events.append(connection, snooze_id=id, kind="edited", actor="user", route=route)
    return True


def cancel(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """No reminder after all; the kept message lies in the inbox again. False when the snooze is over."""
    if not queue.cancel(connection, id=id, user_email=user_email):
        return False
    kept.take_back(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="cancelled", actor="user", route=route)
    return True


def undo(connection: Connection, *, id: int, user_email: str, message_id: str, route: str) -> bool:
    """Undo a cancellation; False when there is nothing to undo or the message was put away anew since."""
    if not queue.restore(connection, id=id, user_email=user_email):
        return False
    kept.put_away(connection, user_email=user_email, message_id=message_id)
    events.append(connection, snooze_id=id, kind="undone", actor="user", route=route)
    return True


def _hours(span: timedelta) -> int:
    return max(0, round(span / timedelta(hours=1)))


def _note(note: str | None) -> str | None:
    note = (note or "").replace("\x00", "").strip()
    if len(note) > LONGEST_NOTE:
        raise CannotSnooze("note_too_long", f"The note has {len(note)} characters. Keep it under {LONGEST_NOTE}.")
    return note or None


def _named(message_id: str) -> str:
    if not message_id.strip() or len(message_id) > 998 or "\x00" in message_id:
        raise CannotSnooze("bad_message_id", "message_id must be a text of 1 to 998 characters that names the message.")
    return message_id
