"""Snoozes that have not returned yet as a calendar (RFC 5545): an event for each snooze, with a recurrence rule if the
calendar has an equivalent one. The export and the feed are made of these."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from icalendar import Alarm, Calendar, Event, Timezone, TimezoneDaylight, TimezoneStandard

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
    place, until = zone_of(name), year + _YEARS_OF_RULES
    begin = datetime(year - 1, 1, 1, tzinfo=place)
    observances: dict[tuple[timedelta, _Clock], list[datetime]] = {}
    before = _Clock.at(begin)
    observances[before.offset, before] = [begin.replace(tzinfo=None)]
    for instant in _clock_changes(place, begin, datetime(until, 1, 1, tzinfo=place)):
        after = _Clock.at(instant.astimezone(place))
        # A change is given in the offset before it (RFC 5545, 3.6.5).
        observances.setdefault((before.offset, after), []).append((instant + before.offset).replace(tzinfo=None))
        before = after
    zone = Timezone()
    zone.add("tzid", name)
    for (offset, clock), changes in observances.items():
        zone.add_component(_observance(offset, clock, changes, until=until - 1))
    written: bytes = zone.to_ical()
    return written


@dataclass(frozen=True)
class _Clock:
    """The offset of a zone from UTC, its name, and whether it is daylight saving time."""

    offset: timedelta
    name: str
    saves_daylight: bool

    @classmethod
    def at(cls, here: datetime) -> "_Clock":
        return cls(here.utcoffset() or timedelta(), here.tzname() or "", bool(here.dst()))


def _clock_changes(place: tzinfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Every instant (UTC) from `begin` to `end` at which the clock of a zone changes. No two lie within a day."""
    at, last, day = begin.astimezone(UTC), end.astimezone(UTC), timedelta(days=1)
    clock = _Clock.at(at.astimezone(place))
    while at < last:
        following = at + day
        if _Clock.at(following.astimezone(place)) != clock:
            early, late = at, following
            while late - early > timedelta(seconds=1):
                middle = early + (late - early) // 2
                if _Clock.at(middle.astimezone(place)) == clock:
                    early = middle
                else:
                    late = middle
            yield late.replace(microsecond=0)
            clock = _Clock.at(following.astimezone(place))
        at = following


def _observance(
    offset: timedelta, clock: _Clock, changes: Sequence[datetime], *, until: int
) -> TimezoneStandard | TimezoneDaylight:
    """The changes from an offset to a clock: as a yearly rule, or else each by its date."""
    observance = TimezoneDaylight() if clock.saves_daylight else TimezoneStandard()
    observance.TZOFFSETFROM, observance.TZOFFSETTO = offset, clock.offset
    observance.add("tzname", clock.name)
    observance.DTSTART = changes[0]
    rule = _yearly(changes, until=until) if len(changes) > 1 else None
    if rule is not None:
        observance.add("rrule", rule)
    elif len(changes) > 1:
        observance.add("rdate", list(changes[1:]))
    return observance


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
