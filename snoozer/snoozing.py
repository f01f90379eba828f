"""USE CASE of the reader: put a message away, change the time, change one's mind, undo."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from snoozer.domain import times
from snoozer.domain.reminder import LONGEST_NOTE
from snoozer.domain.times.zones import zone_of
from snoozer.postgres import events, kept, queue
from snoozer.postgres.appointment import Appointment
from snoozer.postgres.clock import now as now
from snoozer.postgres.models import Snooze

# In octets: a line of a mail (RFC 5322). The database refuses more.
LONGEST_MESSAGE_ID = 998

# Refusals that another hour of the week may lift.
_FOR_NOW = frozenset({"past", "too_soon", "no_later_today"})


class CannotSnooze(ValueError):
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


class Snoozed(NamedTuple):
    """The snooze of a message that was put away: whether it is new, and the repetition that this put an end to."""

    id: int
    new: bool
    ended: dict[str, Any] | None


def read(phrase: str, *, now: datetime, zone: str, locale: str) -> times.Reading:
    """What a typed phrase means for this person: one time, or a repetition. Raises CannotSnooze for anything else."""
    try:
        reading = times.read(phrase, now=now, zone=zone, locale=locale)
    except times.Refused as refused:
        raise CannotSnooze(refused.code, refused.message, tuple(refused.suggestions)) from None
    if reading.kind == "condition" or reading.at is None:
        raise CannotSnooze(
            "condition",
            "Waiting for a reply needs a connected mailbox, which is not there yet. Name a time, or a repetition.",
            ("tomorrow 8am", "in 3 days", "every monday 9am"),
        )
    return reading


def read_preset(phrase: str, *, now: datetime, zone: str, locale: str) -> times.Reading | None:
    """What a preset's phrase means now; None when it means nothing now and does at another hour of the week, as
    "this evening" late at night. Raises CannotSnooze for what can be no preset."""
    try:
        return read(phrase, now=now, zone=zone, locale=locale)
    except CannotSnooze as refusal:
        if refusal.code not in _FOR_NOW:
            raise
        for hours in range(3, 7 * 24, 3):
            try:
                read(phrase, now=now + timedelta(hours=hours), zone=zone, locale=locale)
            except CannotSnooze:
                continue
            return None
        raise


def appoint(
    reading: times.Reading, *, now: datetime, note: str | None = None, alternative: bool = False
) -> Appointment:
    """The appointment that a reading makes, or its alternative."""
    at, wall = reading.at, reading.wall
    if alternative and reading.alternative is not None:
        at = reading.alternative
        wall = at.astimezone(zone_of(reading.zone)).replace(tzinfo=None)
    if at is None:
        raise CannotSnooze("not_an_instant", "That names no time. Name one, such as tomorrow 8am.")
    return Appointment(
        remind_at=at,
        duration_hours=_hours(at - now),
        note=_note(note),
        wall_time=wall,
        zone=reading.zone,
        time_kind=reading.time_kind,
        recurrence=None if reading.recurrence is None else reading.recurrence.as_json(),
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
    reading: times.Reading | None = None,
    traceparent: str | None = None,
) -> Snoozed:
    """Put a message away.

    Snoozing a message that is already away changes its time. A kept message leaves the inbox. What was said, with its
    flags and its alternative, stands in the paper trail, so that it can be checked later.
    """
    name = _named(message.message_id)
    repeated = _repetition(connection, Snooze.user_email == user_email, Snooze.message_id == name, ~Snooze.inactive)
    id, created = queue.enqueue(
        connection,
        user_email=user_email,
        message_id=name,
        subject=message.subject,
        sender_email=message.sender_email,
        appointment=appointment,
        traceparent=traceparent,
    )
    kept.put_away(connection, user_email=user_email, message_id=name)
    over = ended(repeated, appointment)
    if reading is not None or not created:
        kind = "asked" if created else "edited"
        said = _said(reading, appointment, over)
        events.append(connection, snooze_id=id, kind=kind, actor="user", route=route, **said)
    return Snoozed(id=id, new=created, ended=over)


def change(
    connection: Connection,
    *,
    id: int,
    user_email: str,
    appointment: Appointment,
    route: str,
    reading: times.Reading | None = None,
) -> bool:
    """A new time or note for a living snooze; False when it is over or not this person's."""
    repeated = _repetition(connection, Snooze.id == id, Snooze.user_email == user_email)
    if not queue.reschedule(connection, id=id, user_email=user_email, appointment=appointment):
        return False
    said = _said(reading, appointment, ended(repeated, appointment))
    events.append(connection, snooze_id=id, kind="edited", actor="user", route=route, **said)
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


def ended(repeated: dict[str, Any] | None, appointment: Appointment) -> dict[str, Any] | None:
    """The repetition that an appointment puts an end to; None when there was none, or it goes on in the same rhythm."""
    if repeated is None or repeated | {"start": None} == (appointment.recurrence or {}) | {"start": None}:
        return None
    return repeated


def _repetition(connection: Connection, *where: ColumnElement[bool]) -> dict[str, Any] | None:
    """The repetition of a row that is about to be edited; nobody edits it before this transaction ends."""
    sought = select(Snooze.recurrence).where(*where).with_for_update(key_share=True)
    return connection.execute(sought).scalar_one_or_none()


def _said(reading: times.Reading | None, appointment: Appointment, over: dict[str, Any] | None) -> dict[str, object]:
    """The words behind an appointment, what there is to say about them unless the other meaning was taken, and the
    repetition that is over."""
    said: dict[str, object] = {} if over is None else {"ended": over}
    if reading is None:
        return said
    said |= {"phrase": tidy(reading.phrase), "at": appointment.remind_at.isoformat()}
    if appointment.remind_at == reading.at and reading.flags:
        said["flags"] = list(reading.flags)
        said["alternative"] = reading.alternative.isoformat() if reading.alternative else None
    return said


def tidy(phrase: str) -> str:
    """The phrase as it is kept: single spaces, nothing invisible."""
    return "".join(sign for sign in " ".join(phrase.split()) if sign.isprintable())


def _hours(span: timedelta) -> int:
    return max(0, round(span / timedelta(hours=1)))


def _note(note: str | None) -> str | None:
    note = (note or "").replace("\x00", "").strip()
    if len(note) > LONGEST_NOTE:
        raise CannotSnooze("note_too_long", f"The note has {len(note)} characters; {LONGEST_NOTE} is the most.")
    return note or None


def _named(message_id: str) -> str:
    octets = len(message_id.encode("utf-8", "surrogatepass"))
    if not message_id.strip() or octets > LONGEST_MESSAGE_ID or "\x00" in message_id:
        raise CannotSnooze(
            "bad_message_id",
            f"message_id must be a text of 1 to {LONGEST_MESSAGE_ID} octets in UTF-8 that names the message; "
            f"it has {octets}.",
        )
    return message_id
