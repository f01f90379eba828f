"""Sentences a person can check: "Friday 6 March, 08:00 (in 22 hours), America/New_York", and every flag explained."""

from collections.abc import Iterable
from datetime import datetime

from snoozer.timephrase.day import MONTH_NAMES, WEEKDAY_NAMES
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import settle, zone_of

_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_FAR = (
    ("hour", _HOUR, 2 * _DAY),
    ("day", _DAY, 28 * _DAY),
    ("week", 7 * _DAY, 120 * _DAY),
    ("month", 30.44 * _DAY, 730 * _DAY),
)


def date_in_words(when: datetime, *, now: datetime) -> str:
    """Friday 6 March, and the year when it is not this one."""
    year = "" if when.year == now.year else f" {when.year}"
    return f"{WEEKDAY_NAMES[when.weekday()]} {when.day} {MONTH_NAMES[when.month - 1]}{year}"


def time_in_words(when: datetime) -> str:
    return f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"


def _clear_time(at: datetime, zone: str) -> str:
    """01:30, and 01:30 UTC-05:00 where the clock of the zone shows it twice."""
    _, changed = settle(at.replace(tzinfo=None), zone_of(zone))
    return time_in_words(at) + (f" UTC{at.isoformat()[-6:]}" if "dst_overlap" in changed else "")


def distance(seconds: float) -> str:
    """How far away, in the unit a person would use: in 40 minutes, in 2 hours 30 minutes, in 22 hours, in 5 days."""
    minutes = round(seconds / _MINUTE)
    if minutes < 60:
        return "in " + _number(minutes, "minute")
    if minutes < 6 * 60:
        hours, minutes = divmod(minutes, 60)
        return "in " + _number(hours, "hour") + (" " + _number(minutes, "minute") if minutes else "")
    for unit, size, below in _FAR:
        if seconds < below:
            return "in " + _number(round(seconds / size), unit)
    return "in " + _number(round(seconds / (365.25 * _DAY)), "year")


def _number(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def sentence(
    at: datetime,
    *,
    now: datetime,
    zone: str,
    wall: datetime,
    wall_zone: str,
    flags: Iterable[str],
    alternative: datetime | None,
    condition: str | None = None,
    recurrence: Recurrence | None = None,
    then: datetime | None = None,
) -> str:
    """All of it. `at`, `now` and `alternative` have the person's offset; `wall` is the clock in `wall_zone`."""
    when = f"{date_in_words(at, now=now)}, {_clear_time(at, zone)} ({distance((at - now).total_seconds())}), {zone}"
    if wall_zone != zone:
        when += f", which is {date_in_words(wall, now=now)}, {time_in_words(wall)} in {wall_zone}"
    if condition:
        when = f"If nobody replies by then: {when}"
    if recurrence:
        following = f", then {date_in_words(then, now=now)}" if then else ", and not again"
        when = f"{rhythm(recurrence)}: first {when}{following}"
    doubts = [explained(flag, wall=wall, now=now, alternative=alternative, recurrence=recurrence) for flag in flags]
    return " ".join([f"{when}.", *doubts])


def explained(
    flag: str,
    *,
    wall: datetime,
    now: datetime,
    alternative: datetime | None = None,
    recurrence: Recurrence | None = None,
) -> str:
    """What a flag of a reading means, as a sentence."""
    if flag == "ambiguous" and alternative:
        return f"It could also mean {date_in_words(alternative, now=now)}, {time_in_words(alternative)}."
    if flag == "clamped" and recurrence:
        return "In a month without that day it comes on the last day of the month."
    return {
        "ambiguous": "It could also mean another time.",
        "assumed_meridiem": f"No am or pm was given, so {time_in_words(wall)} was assumed.",
        "clamped": "The month has no such day, so its last day was taken.",
        "dst_gap": "The clocks go forward then and skip the time that was asked for, so it is later by what they skip.",
        "dst_overlap": "The clocks go back then and this time comes twice; it is the first of the two.",
        "next_year": f"The date does not come again this year, so it is in {wall.year}.",
    }[flag]


def rhythm(recurrence: Recurrence, *, at: str | None = None) -> str:
    """Every Monday at 09:00; every 2 weeks on Tuesday at 14:00, until 1 June 2026. `at` is the hour in other words."""
    unit = recurrence.unit
    every = f"Every {unit}" if recurrence.interval == 1 else f"Every {recurrence.interval} {unit}s"
    parts = [every]
    if unit == "week":
        days = _listed(WEEKDAY_NAMES[day] for day in recurrence.weekdays)
        if recurrence.interval > 1:
            parts.append(f"on {days}")
        else:
            parts = ["Every weekday" if recurrence.weekdays == _MONDAY_TO_FRIDAY else f"Every {days}"]
    elif recurrence.nth is not None:
        parts.append(f"on the {_NTH[recurrence.nth]} {WEEKDAY_NAMES[recurrence.weekdays[0]]}")
    elif recurrence.day is not None:
        parts.append("on the last day" if recurrence.day < 0 else f"on day {recurrence.day}")
    if recurrence.month is not None:
        parts.append(f"of {MONTH_NAMES[recurrence.month - 1]}")
    parts.append(f"at {at or time_in_words(datetime.combine(recurrence.start, recurrence.at))}")
    if recurrence.until:
        until = recurrence.until
        parts.append(f"until {until.day} {MONTH_NAMES[until.month - 1]} {until.year}")
    if recurrence.times is not None:
        parts.append("once" if recurrence.times == 1 else f"{recurrence.times} times")
    if recurrence.weekend_rule != "none":
        parts.append(f"(on the working day {recurrence.weekend_rule} when that is a weekend)")
    return " ".join(parts)


def _listed(names: Iterable[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
