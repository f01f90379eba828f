"""The VTIMEZONE of a calendar feed has every change of clocks, for every zone, until 2037 at the least."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import icalendar
import pytest
from dateutil.rrule import rrulestr

from snoozer.notify.feeds.calendar import EXPORTED, as_calendar

HOUR = timedelta(hours=1)
END = datetime(2037, 12, 31, tzinfo=UTC)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def _every_zone() -> list[str]:
    """One zone for each sequence of offsets."""
    found: dict[object, str] = {}
    for name in sorted(available_timezones() - {"localtime", "Factory"}):
        place = ZoneInfo(name)
        days = ((BEGIN + timedelta(days=day)).astimezone(place) for day in range(0, 4_380, 7))
        found.setdefault(tuple(day.utcoffset() for day in days), name)
    return list(found.values())


def _offset_at(rules: Any, at: datetime) -> timedelta:
    """The offset at an instant, by the observance that began last (RFC 5545, 3.6.5)."""
    begun: list[tuple[datetime, timedelta]] = []
    for observance in rules.subcomponents:
        start, before = observance["DTSTART"].dt, observance["TZOFFSETFROM"].td
        onsets = [start]
        if "RRULE" in observance:
            rule = rrulestr(observance["RRULE"].to_ical().decode(), dtstart=start)
            onsets = rule.between(start, datetime(2038, 12, 31), inc=True)  # noqa: DTZ001 - local times of a zone
        elif "RDATE" in observance:
            onsets += [date.dt for date in observance["RDATE"].dts]
        instants = ((onset - before).replace(tzinfo=UTC) for onset in onsets)
        begun += [(instant, observance["TZOFFSETTO"].td) for instant in instants if instant <= at]
    return max(begun)[1]


@pytest.mark.parametrize("name", ["Africa/Casablanca", "Africa/El_Aaiun", *_every_zone()])
def test_no_span_of_a_zone_is_left_out_of_a_feed(name: str) -> None:
    """Each change is found by the zone itself, a second before and after it."""
    rules: Any
    feed = b"".join(as_calendar([], zones=[name], year=2026, shown=EXPORTED, refreshed_after=None))
    [rules] = icalendar.Calendar.from_ical(feed).walk("VTIMEZONE")
    place, at = ZoneInfo(name), BEGIN
    while at < END:
        following = at + 24 * HOUR
        if at.astimezone(place).utcoffset() != following.astimezone(place).utcoffset():
            for hour in range(25):
                moment = at + hour * HOUR
                assert _offset_at(rules, moment) == moment.astimezone(place).utcoffset(), moment
        at = following
    assert _offset_at(rules, BEGIN) == BEGIN.astimezone(place).utcoffset()
