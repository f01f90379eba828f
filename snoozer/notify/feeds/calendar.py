"""Snoozes that have not returned yet as a calendar (RFC 5545): an event for each snooze, with a recurrence rule if the
calendar has an equivalent one. The export and the feed are made of these."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from icalendar import Alarm, Calendar, Event, Timezone

from snoozer.db.queries import Found
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import canonical, resolve_wall_time, zone_of
from snoozer.translations import gettext as _

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCY = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_MOMENT = timedelta(microseconds=1)
# The rules of zones are written for this many years.
_YEARS_OF_RULES = 20


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The parts of a snooze that its event shows. `pages` is the base URL of the snoozes' pages, None for no link."""

    texts: bool = True
    sender: bool = True
    alarm: bool = False
    pages: str | None = None


EXPORTED = Shown()


def as_calendar(
    rows: Iterable[Found], *, zones: Iterable[str | None], year: int, shown: Shown, refreshed_after: timedelta | None
) -> Iterator[bytes]:
    """The calendar of these snoozes in pieces; `zones` are theirs, `year` is the current one. A program that subscribes
    to it reads it again after `refreshed_after`."""
    calendar = Calendar()
    calendar.add("prodid", "-//Snoozer//Snoozer//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", "Snoozer")
    if refreshed_after is not None:
        calendar.add("refresh-interval", refreshed_after, parameters={"VALUE": "DURATION"})
        calendar.add("x-published-ttl", refreshed_after, parameters={"VALUE": "DURATION"})
    head, end = calendar.to_ical().split(b"END:VCALENDAR")
    yield head
    for name in sorted({name for name in zones if name and _is_zone(name)}):
        yield _rules(name, year)
    for row in rows:
        yield _event(row, shown).to_ical()
    yield b"END:VCALENDAR" + end


@lru_cache(maxsize=64)
def _rules(name: str, year: int) -> bytes:
    """The clock changes of a zone."""
    span = date(year - 1, 1, 1), date(year + _YEARS_OF_RULES, 1, 1)
    zone = Timezone.from_tzid(name, first_date=span[0], last_date=span[1])
    zone.pop("comment", None)
    for observance in zone.subcomponents:
        # A change is given in the offset before it (RFC 5545, 3.6.5); if clocks are set forward, the library writes
        # it in the offset after it.
        early = max(observance.TZOFFSETTO - observance.TZOFFSETFROM, timedelta(0))
        changes = [change - early for change in (observance.DTSTART, *(date for date, *_end in observance.rdates))]
        observance.DTSTART = changes[0]
        if observance.pop("RDATE", None) is None:
            continue
        rule = _yearly(changes, until=span[1].year - 1)
        if rule is not None:
            observance.add("rrule", rule)
        else:
            observance.add("rdate", changes[1:])
    written: bytes = zone.to_ical()
    return written


def _yearly(changes: Sequence[datetime], *, until: int) -> dict[str, Any] | None:
    """The rule of changes on the same day of each year, such as the last Sunday of March, at one hour; None if they
    follow no such rule, or end before `until`. Some programs read no list of dates there (RFC 5545, 3.6.5)."""
    if [change.year for change in changes] != list(range(until - len(changes) + 1, until + 1)):
        return None
    days = {(change.month, change.weekday(), change.time()) for change in changes}
    weeks = {(change.day + 6) // 7 for change in changes}
    if all(change.day + 7 > monthrange(change.year, change.month)[1] for change in changes):
        weeks = {-1}
    if len(days) > 1 or len(weeks) > 1:
        return None
    [(month, weekday, _hour)], [week] = days, weeks
    return {"freq": "YEARLY", "bymonth": month, "byday": [f"{week}{_DAYS[weekday]}"]}


def rule_of(recurrence: Recurrence, *, promise: datetime, zone: str) -> dict[str, Any] | None:
    """The rule (RRULE) of a recurrence from `promise` on; None if a calendar would compute other days, because weekends
    move it, or the promise is not an occurrence of it."""
    here = promise.astimezone(zone_of(zone))
    left = recurrence.after(here.date() - timedelta(days=1))
    following = next_occurrence(recurrence, after=promise - _MOMENT, zone=zone)
    if recurrence.weekend_rule != "none" or left is None or following != promise:
        return None
    rule: dict[str, Any] = {"freq": _FREQUENCY[left.unit], "interval": left.interval}
    if left.unit == "week":
        rule |= {"byday": [_DAYS[day] for day in left.weekdays], "wkst": _DAYS[left.week_start]}
    elif left.unit in {"month", "year"}:
        rule |= _month_rule(left, here)
    if left.times is not None:
        rule["count"] = left.times
    elif left.until is not None:
        last, _ = resolve_wall_time(datetime.combine(left.until, left.at), zone_of(zone))
        rule["until"] = last.astimezone(UTC)
    return rule


def _month_rule(recurrence: Recurrence, here: datetime) -> dict[str, Any]:
    months = {"bymonth": here.month} if recurrence.unit == "year" else {}
    if recurrence.nth is not None:
        return months | {"byday": [f"{recurrence.nth}{_DAYS[recurrence.weekdays[0]]}"]}
    day = recurrence.day or 1
    if day in {-1, 31}:
        return months | {"bymonthday": -1}
    # In a month without that day, use its last day: the last of these days that exists.
    return months | ({"bymonthday": list(range(28, day + 1)), "bysetpos": -1} if day > 28 else {"bymonthday": day})


def _event(row: Found, shown: Shown) -> Event:
    event = Event()
    # The same in every calendar of this snooze, here and after an import.
    event.add("uid", str(uuid5(NAMESPACE_URL, f"snoozer:{row.message_id} {row.created_at.astimezone(UTC)}")))
    event.add("dtstamp", row.updated_at.astimezone(UTC))
    event.add("created", row.created_at.astimezone(UTC))
    rule = _stored_rule(row)
    by_the_clock = row.zone is not None and (row.time_kind == "wall" or rule is not None) and _is_zone(row.zone)
    event.add("dtstart", row.promise.astimezone(zone_of(row.zone) if by_the_clock else UTC))
    summary = (one_line(row.subject) or _("No subject")) if shown.texts else _("A message comes back")
    event.add("summary", summary)
    event.add("description", _description(row, shown))
    event.add("transp", "TRANSPARENT")
    event.add("categories", ["Snoozer"])
    if shown.pages is not None:
        event.add("url", f"{shown.pages}/{row.id}")
    if rule is not None:
        event.add("rrule", rule)
    if shown.alarm:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("trigger", timedelta(0))
        alarm.add("description", summary)
        event.add_component(alarm)
    return event


def _description(row: Found, shown: Shown) -> str:
    note = row.note if shown.texts else None
    sender = _("From %(sender)s", sender=one_line(row.sender_email)) if shown.sender and row.sender_email else None
    return "\n".join(printable(line) for line in (note, sender) if line) or _("Snoozed")


def _stored_rule(row: Found) -> dict[str, Any] | None:
    """The rule of a row, whose recurrence any program may have written."""
    if row.recurrence is None or row.zone is None or not _is_zone(row.zone):
        return None
    try:
        return rule_of(Recurrence.from_json(row.recurrence), promise=row.promise, zone=row.zone)
    except (ValueError, OverflowError):
        return None


def _is_zone(name: str) -> bool:
    return name != "UTC" and canonical(name) == name


def printable(text: str) -> str:
    """The text without control characters except line breaks and tabs."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def one_line(text: str | None) -> str:
    """The text in one line, without control characters."""
    return " ".join(printable(text or "").split())
