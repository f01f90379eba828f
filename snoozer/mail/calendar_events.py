"""The events of a calendar part (RFC 5545): what, when and where, for people; never raises."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from snoozer.mail.headers import sanitize_line
from snoozer.mail.html_to_text import clean_text
from snoozer.timephrase.zones import canonical
from snoozer.translations import gettext as _

CALENDAR_TYPES = frozenset({"text/calendar", "application/ics", "text/x-vcalendar", "text/ics"})
FILE_NAME = "invite.ics"
# An attached calendar with more events is not an invitation.
MAX_EVENTS = 5
_MAX_LENGTH = 200_000
_MAX_LINES = 20_000
_MAX_DESCRIPTION = 20_000
_FOLD = re.compile(r"\r?\n[ \t]")
_PROPERTY = re.compile(r"([A-Za-z0-9-]{1,60})((?:;[^:;\"]*(?:\"[^\"]*\"[^:;\"]*)*)*):(.*)", re.DOTALL)
_PARAMETER = re.compile(r';([A-Za-z-]+)=("[^"]*"|[^;]*)')
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z?))?", re.ASCII)
_DURATION = re.compile(
    r"\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?)?", re.ASCII
)
_ESCAPE = re.compile(r"\\([\\;,nN])")
# A time at either end of Python's calendar could not be shown in another zone.
_YEARS = range(2, 9999)

# A day, an instant (UTC), or a time of a clock (naive).
Moment = date | datetime


@dataclass(frozen=True, kw_only=True)
class CalendarEvent:
    """`start` and `end` are dates of whole days (the end is the last day), instants in UTC, or naive times by the clock
    of `zone`, a name that only the sender defines; without `zone` they are in the zone of the reader."""

    what: str
    where: str
    description: str
    start: Moment | None
    end: Moment | None
    zone: str | None
    repeats: bool
    cancelled: bool


def events_in(content: str) -> list[CalendarEvent]:
    """The events of a calendar; none if it has more than `MAX_EVENTS`, or nothing that can be read."""
    found: list[CalendarEvent] = []
    method = ""
    for kind, fields in _components(content[:_MAX_LENGTH]):
        if kind == "VCALENDAR":
            method = fields.get("METHOD", ("", ""))[1].strip().upper()
        elif event := _event(fields, method=method):
            found.append(event)
    distinct = list(dict.fromkeys(found))
    return distinct if len(distinct) <= MAX_EVENTS else []


def in_words(events: Sequence[CalendarEvent]) -> str:
    """The events as text in the language that is spoken now, without their times: the zone of the reader is not known
    here."""
    return "\n\n".join(filter(None, map(_in_words, events)))


def _in_words(event: CalendarEvent) -> str:
    what = _("Cancelled: %(what)s", what=event.what) if event.cancelled else event.what
    lines = [what, event.where and _("Where: %(place)s", place=event.where)]
    return "\n".join(filter(None, lines)) + (f"\n\n{event.description}" if event.description else "")


def _components(content: str) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """VCALENDAR with its properties up to the first component, and each VEVENT: names, parameters and values."""
    open_names: list[str] = []
    fields: dict[str, tuple[str, str]] = {}
    for line in _FOLD.sub("", content).splitlines()[:_MAX_LINES]:
        found = _PROPERTY.fullmatch(line.strip())
        if found is None:
            continue
        name, parameters, value = found[1].upper(), found[2], found[3]
        word = value.strip().upper()
        if name == "BEGIN":
            if open_names == ["VCALENDAR"]:
                yield "VCALENDAR", fields
            if word in ("VCALENDAR", "VEVENT"):
                fields = {}
            open_names.append(word)
        elif name == "END":
            if open_names[-1:] == ["VEVENT"]:
                yield "VEVENT", fields
            if word in open_names:
                del open_names[open_names.index(word) :]
        elif open_names[-1:] in (["VCALENDAR"], ["VEVENT"]):
            fields.setdefault(name, (parameters, value))


def _event(fields: dict[str, tuple[str, str]], *, method: str) -> CalendarEvent | None:
    def text(name: str) -> str:
        return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], fields.get(name, ("", ""))[1])

    start, zone = _read(*fields.get("DTSTART", ("", "")))
    end, _zone = _read(*fields.get("DTEND", ("", "")))
    if end is None and start is not None:
        end = _after(start, fields.get("DURATION", ("", ""))[1].strip())
    if type(end) is date:
        # The end of whole days is the day after the last (RFC 5545, 3.6.1).
        end -= timedelta(days=1)
    if type(start) is not type(end) or (start is not None and end is not None and _is_before(end, start)):
        end = None
    what, where = sanitize_line(text("SUMMARY")), sanitize_line(text("LOCATION"))
    if not (what or start):
        return None
    return CalendarEvent(
        what=what,
        where=where,
        description=clean_text(text("DESCRIPTION")[:_MAX_DESCRIPTION]),
        start=start,
        end=end,
        zone=zone,
        repeats="RRULE" in fields,
        cancelled=method == "CANCEL" or text("STATUS").strip().upper() == "CANCELLED",
    )


def _is_before(end: Moment, start: Moment) -> bool:
    if isinstance(end, datetime) and isinstance(start, datetime):
        return (end.tzinfo is None) == (start.tzinfo is None) and end < start
    return not isinstance(end, datetime) and not isinstance(start, datetime) and end < start


def _read(parameters: str, value: str) -> tuple[Moment | None, str | None]:
    """The moment, and the name of its zone if it is unknown here."""
    found = _DATE.fullmatch(value.strip())
    if found is None:
        return None, None
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
        if day.year not in _YEARS:
            return None, None
        if found[4] is None:
            return day, None
        wall = datetime(day.year, day.month, day.day, int(found[4]), int(found[5]), min(int(found[6]), 59), tzinfo=UTC)
    except ValueError:
        return None, None
    if found[7]:
        return wall, None
    named = {name.upper(): text.strip('"') for name, text in _PARAMETER.findall(parameters)}.get("TZID", "")
    # Imported here, because only processes that meet a calendar need it.
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    zone = canonical(WINDOWS_TO_OLSON.get(named, named.lstrip("/"))) if named else None
    if zone is None:
        return wall.replace(tzinfo=None), sanitize_line(named) or None
    return wall.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC), None


def _after(start: Moment, duration: str) -> Moment | None:
    found = _DURATION.fullmatch(duration)
    if found is None or not any(found.groups()):
        return None
    weeks, days, hours, minutes, seconds = (int(number or 0) for number in found.groups())
    try:
        end = start + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None
    return end if end.year in _YEARS else None
