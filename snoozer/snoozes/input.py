"""Reads the input for a snooze: the phrase, the time that it means, the note, the message."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.queue.limits import MAX_NOTE_LENGTH
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import ReplyPolicy
from snoozer.timephrase.context import OwnDays, usual_days
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.timephrase.zones import zone_of
from snoozer.translations import gettext

# In octets: a line of a mail (RFC 5322). The database refuses more.
MAX_MESSAGE_ID_OCTETS = 998
_POLICIES: dict[str, ReplyPolicy] = {"no_reply": "cancel_on_reply", "until_reply": "until_reply"}


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


def parse_phrase(phrase: str, *, now: datetime, zone: str, locale: str, own: OwnDays = usual_days) -> ParsedTime:
    """Parse a typed phrase as one time, also one until which a reply is waited for, or a recurrence. Raises SnoozeError
    for anything else."""
    try:
        reading = parse(phrase, now=now, zone=zone, locale=locale, own=own)
    except ParseError as error:
        raise SnoozeError(error.code, error.message, tuple(error.suggestions)) from None
    if reading.at is None:
        raise SnoozeError(
            "condition",
            gettext("That waits for a reply that may never come. When should it come back without one?"),
            Locale.named(locale).language.data.hints["until_reply"],
        )
    return reading


def parse_preset(phrase: str, *, now: datetime, zone: str, locale: str, own: OwnDays = usual_days) -> ParsedTime | None:
    """Parse a preset's phrase; None when it is invalid now and valid at another hour of the week, such as "this
    evening" late at night, or as soon as a vacation is set. Raises SnoozeError when it is never valid."""
    try:
        return parse_phrase(phrase, now=now, zone=zone, locale=locale, own=own)
    except SnoozeError as error:
        if error.code == "no_vacation":
            return None
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
    reading: ParsedTime, *, now: datetime, note: str | None = None, alternative: bool = False
) -> ReminderTime:
    """The reminder time of a parsed phrase, or of its alternative, with the reply policy that the phrase names. Raises
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
        reply_policy=_POLICIES.get(reading.condition or ""),
    )


def reminder_time_at(at: datetime, *, now: datetime, zone: str, note: str | None = None) -> ReminderTime:
    """The reminder time for an exact instant, as programs send it. Raises SnoozeError when it is past or too far."""
    if at <= now:
        raise SnoozeError("past", gettext("That time has passed. Give one that lies ahead."))
    if at > now + timedelta(days=3653):
        raise SnoozeError("too_far", gettext("That is more than ten years away. Give a time within ten years."))
    return ReminderTime(remind_at=at, duration_hours=_hours(at - now), note=clean_note(note), zone=zone)


def ended_recurrence(recurrence: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any] | None:
    """The recurrence that a new one, or none, ends; None when there was none, or it continues with another start."""
    continues = recurrence is not None and recurrence | {"start": None} == (new or {}) | {"start": None}
    return None if continues else recurrence


def event_detail(
    reading: ParsedTime | None, reminder_time: ReminderTime, ended: dict[str, Any] | None
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
            gettext("The note has %(length)s characters; the limit is %(max)s.", length=len(note), max=MAX_NOTE_LENGTH),
        )
    return note or None


def valid_message_id(message_id: str) -> str:
    """The Message-ID. Raises SnoozeError if it cannot be stored."""
    octets, most = len(message_id.encode("utf-8", "surrogatepass")), MAX_MESSAGE_ID_OCTETS
    if not message_id.strip() or octets > most or "\x00" in message_id:
        sentence = f"message_id must be a text of 1 to {most} octets in UTF-8 that names the message; it has {octets}."
        raise SnoozeError("bad_message_id", sentence)
    return message_id
