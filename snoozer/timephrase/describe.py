"""Sentences a person can check: "Friday 6 March, 08:00 (in 22 hours), America/New_York", and every flag explained."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import resolve_wall_time, zone_of

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_MONTH, _YEAR = 30.44 * DAY, 365.25 * DAY


@dataclass(frozen=True, kw_only=True)
class SpanStyle:
    """How exactly a span is worded.

    Below `two_units_below`: its two largest units. Else one rounded unit: the first of `units` (name, size, limit)
    whose limit is above the span, or years. `seconds`: below a minute, seconds."""

    two_units_below: timedelta
    units: tuple[tuple[str, timedelta, timedelta], ...]
    seconds: bool = False


# 45 seconds, 1 hour 20 minutes, 22 hours, 40 days: the limits are where a rounded 36 hours, 60 days, 24 months begin.
ROUNDED = SpanStyle(
    two_units_below=2 * HOUR,
    units=(("hour", HOUR, 35.5 * HOUR), ("day", DAY, 59.5 * DAY), ("month", _MONTH, 23.5 * _MONTH)),
    seconds=True,
)
# 2 hours 30 minutes, 22 hours, 5 days, 6 weeks: what a person plans with.
_AHEAD = SpanStyle(
    two_units_below=6 * HOUR,
    units=(("hour", HOUR, 2 * DAY), ("day", DAY, 28 * DAY), ("week", 7 * DAY, 120 * DAY), ("month", _MONTH, 730 * DAY)),
)


def span_in_words(span: timedelta, style: SpanStyle = ROUNDED) -> str:
    """A span of at least zero in words: 45 seconds, 1 hour 20 minutes, 22 hours."""
    if style.seconds and span < MINUTE:
        return counted(round(span.total_seconds()), "second")
    minutes = round(span / MINUTE)
    if minutes < style.two_units_below / MINUTE:
        units = ((minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute"))
        return " ".join([counted(number, unit) for number, unit in units if number][:2]) or "0 minutes"
    unit, size = next(((unit, size) for unit, size, limit in style.units if span < limit), ("year", _YEAR))
    return counted(round(span / size), unit)


def distance(span: timedelta) -> str:
    """How far ahead: in 40 minutes, in 2 hours 30 minutes, in 22 hours, in 5 days."""
    return f"in {span_in_words(span, _AHEAD)}"


def counted(number: int, unit: str) -> str:
    """1 hour, 2 hours."""
    return f"{number} {unit}{'' if number == 1 else 's'}"


def date_in_words(when: datetime, *, now: datetime) -> str:
    """Friday 6 March, and the year when it is not this one."""
    year = "" if when.year == now.year else f" {when.year}"
    return f"{WEEKDAY_NAMES[when.weekday()]} {when.day} {MONTH_NAMES[when.month - 1]}{year}"


def time_in_words(when: datetime) -> str:
    return f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"


def _clear_time(at: datetime, zone: str) -> str:
    """01:30, and 01:30 UTC-05:00 where the clock of the zone shows it twice."""
    _, changed = resolve_wall_time(at.replace(tzinfo=None), zone_of(zone))
    return time_in_words(at) + (f" UTC{at.isoformat()[-6:]}" if "dst_overlap" in changed else "")


def describe(
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
    following: datetime | None = None,
) -> str:
    """The whole sentence. `at`, `now`, `alternative` have the person's offset; `wall` is the clock in `wall_zone`."""
    when = f"{date_in_words(at, now=now)}, {_clear_time(at, zone)} ({distance(at - now)}), {zone}"
    if wall_zone != zone:
        when += f", which is {date_in_words(wall, now=now)}, {time_in_words(wall)} in {wall_zone}"
    if condition:
        when = f"If no one replies by then: {when}"
    if recurrence:
        then = f", then {date_in_words(following, now=now)}" if following else ", and not again"
        when = f"{describe_recurrence(recurrence)}: first {when}{then}"
    notes = [explain_flag(flag, wall=wall, now=now, alternative=alternative, recurrence=recurrence) for flag in flags]
    return " ".join([f"{when}.", *notes])


def explain_flag(
    flag: str,
    *,
    wall: datetime,
    now: datetime,
    alternative: datetime | None = None,
    recurrence: Recurrence | None = None,
) -> str:
    """What a flag means, as a sentence."""
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


def describe_recurrence(recurrence: Recurrence, *, at: str | None = None) -> str:
    """Every Monday at 09:00; every 2 weeks on Tuesday at 14:00, until 1 June 2026. `at` is the hour in other words."""
    unit = recurrence.unit
    parts = [f"Every {unit}" if recurrence.interval == 1 else f"Every {recurrence.interval} {unit}s"]
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
    if until := recurrence.until:
        parts.append(f"until {until.day} {MONTH_NAMES[until.month - 1]} {until.year}")
    if recurrence.times is not None:
        parts.append("once" if recurrence.times == 1 else f"{recurrence.times} times")
    if recurrence.weekend_rule != "none":
        parts.append(f"(on the working day {recurrence.weekend_rule} when that is a weekend)")
    return " ".join(parts)


def _listed(names: Iterable[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
