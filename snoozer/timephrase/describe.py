"""Sentences a person can check: "Friday 6 March, 08:00 (in 22 hours), America/New_York", and every flag explained."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from snoozer.timephrase.date_format import MONTH_NAMES, WEEKDAY_NAMES, DateFormat
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import resolve_wall_time, zone_in_words, zone_of
from snoozer.translations import N_, ngettext, npgettext
from snoozer.translations import gettext as _

_NTH = {1: N_("first"), 2: N_("second"), 3: N_("third"), 4: N_("fourth"), 5: N_("fifth"), -1: N_("last")}
_MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_MONTH, _YEAR = 30.44 * DAY, 365.25 * DAY
_MONTHS = 12
# The first unit whose limit is above the span: weeks from 4 on, months from 2 on, years from 12 rounded months on.
_UNITS = (
    ("hour", HOUR, 23.5 * HOUR), ("day", DAY, 28 * DAY), ("week", 7 * DAY, 60 * DAY), ("month", _MONTH, 11.5 * _MONTH),
)  # fmt: skip


def span_in_words(span: timedelta, *, after: bool = False) -> str:
    """A span of at least zero in words: 45 seconds, 2 hours 30 minutes, 22 hours, 5 days, 3 months, 1 year 6 months.
    `after` words it for use within a sentence, behind in, for, since or ago."""
    if span < MINUTE:
        return counted(int(span.total_seconds()), "second", after=after)
    units: tuple[tuple[int, str], ...]
    minutes, months = round(span / MINUTE), round(span / _MONTH)
    if minutes < 6 * 60:
        units = ((minutes // 60, "hour"), (minutes % 60, "minute"))
    elif _MONTHS <= months < 2 * _MONTHS:
        units = ((1, "year"), (months - _MONTHS, "month"))
    else:
        unit, size = next(((unit, size) for unit, size, limit in _UNITS if span < limit), ("year", _YEAR))
        units = ((round(span / size), unit),)
    return " ".join(counted(number, unit, after=after) for number, unit in units if number)


def distance(span: timedelta) -> str:
    """How far ahead, in minutes at least: in 40 minutes, in 2 hours 30 minutes, in 22 hours, in 5 days."""
    return _("in %(span)s", span=span_in_words(max(span, MINUTE), after=True))


def distance_back(span: timedelta) -> str:
    """How long ago: 40 minutes ago."""
    return _("%(span)s ago", span=span_in_words(max(span, MINUTE), after=True))


def counted(number: int, unit: str, *, after: bool = False) -> str:
    """1 hour, 2 hours."""
    if after and unit in {"day", "month", "year"}:
        return {
            "day": npgettext("after in, for, since, ago", "%(num)s day", "%(num)s days", number),
            "month": npgettext("after in, for, since, ago", "%(num)s month", "%(num)s months", number),
            "year": npgettext("after in, for, since, ago", "%(num)s year", "%(num)s years", number),
        }[unit]
    return {
        "byte": ngettext("%(num)s byte", "%(num)s bytes", number),
        "second": ngettext("%(num)s second", "%(num)s seconds", number),
        "minute": ngettext("%(num)s minute", "%(num)s minutes", number),
        "hour": ngettext("%(num)s hour", "%(num)s hours", number),
        "day": ngettext("%(num)s day", "%(num)s days", number),
        "week": ngettext("%(num)s week", "%(num)s weeks", number),
        "month": ngettext("%(num)s month", "%(num)s months", number),
        "year": ngettext("%(num)s year", "%(num)s years", number),
    }[unit]


def _clear_time(at: datetime, zone: str, dates: DateFormat) -> str:
    """01:30, or 01:30 UTC-05:00 if the clock of the zone shows it twice."""
    changed = resolve_wall_time(at.replace(tzinfo=None), zone_of(zone))[1]
    return dates.clear_hour(at) + (f" UTC{at.isoformat()[-6:]}" if "dst_overlap" in changed else "")


def describe(
    at: datetime,
    *,
    now: datetime,
    zone: str,
    wall: datetime,
    wall_zone: str,
    flags: Iterable[str],
    alternative: datetime | None,
    dates: DateFormat,
    condition: str | None = None,
    recurrence: Recurrence | None = None,
    following: datetime | None = None,
) -> str:
    """The whole sentence. `at`, `now`, `alternative` have the person's offset; `wall` is the clock in `wall_zone`."""
    day = partial(dates.day_from, today=now)
    when = f"{day(at)}, {_clear_time(at, zone, dates)} ({distance(at - now)}), {zone_in_words(zone)}"
    if wall_zone != zone:
        there = f"{day(wall)}, {dates.clear_hour(wall)}"
        when = _("%(when)s, which is %(there)s in %(zone)s", when=when, there=there, zone=zone_in_words(wall_zone))
    if condition == "no_reply" and recurrence is None:
        when = _("If no one replies by then: %(when)s", when=when)
    if condition == "until_reply":
        when = _("As soon as someone replies, or else: %(when)s", when=when)
    if recurrence and recurrence.kind == "someday":
        when = _("%(repeats)s; the next time %(when)s", repeats=describe_recurrence(recurrence, dates=dates), when=when)
    elif recurrence and recurrence.kind == "ladder":
        again = describe_recurrence(recurrence, dates=dates)
        when = _("%(when)s, then %(repeats)s", when=when, repeats=again[:1].lower() + again[1:])
        when = _("%(when)s. A reply ends it", when=when) if condition == "no_reply" else when
    elif recurrence:
        repeats = describe_recurrence(recurrence, dates=dates)
        if following:
            then = day(following)
            when = _("%(repeats)s: first %(when)s, then %(then)s", repeats=repeats, when=when, then=then)
        else:
            when = _("%(repeats)s: first %(when)s, and not again", repeats=repeats, when=when)
    notes = [
        explain_flag(flag, wall=wall, now=now, alternative=alternative, recurrence=recurrence, dates=dates)
        for flag in flags
    ]
    return " ".join([f"{when}.", *notes])


def explain_flag(
    flag: str,
    *,
    wall: datetime,
    now: datetime,
    dates: DateFormat,
    alternative: datetime | None = None,
    recurrence: Recurrence | None = None,
) -> str:
    """The meaning of a flag, as a sentence."""
    if flag == "ambiguous" and alternative:
        other = f"{dates.day_from(alternative, today=now)}, {dates.clear_hour(alternative)}"
        return _("It could also mean %(when)s.", when=other)
    if flag == "clamped" and recurrence:
        return _("In a month without that day it comes on the last day of the month.")
    return _(_FLAGS[flag], time=dates.clear_hour(wall), year=wall.year)


_FLAGS = {
    "ambiguous": N_("It could also mean another time."),
    "assumed_meridiem": N_("No am or pm was given, so %(time)s was assumed."),
    "clamped": N_("The month has no such day, so its last day was taken."),
    "dst_gap": N_("The clocks go forward then and skip the time that was asked for, so it is later by what they skip."),
    "dst_overlap": N_("The clocks go back then and this time comes twice; it is the first of the two."),
    "next_year": N_("The date does not come again this year, so it is in %(year)s."),
}


def describe_recurrence(recurrence: Recurrence, *, dates: DateFormat) -> str:
    """Every Monday at 09:00; every 2 weeks on Tuesday at 14:00, until 1 June 2026; once more on Sunday 8 March 2026 at
    10:20, unless it is done; someday, reviewed every Friday at 09:00."""
    if recurrence.kind == "ladder" and recurrence.times == 1:
        day, at = dates.day(recurrence.start), dates.clear_hour(recurrence.at)
        return _("Once more on %(day)s at %(time)s, unless it is done", day=day, time=at)
    repeats = _describe_dates(recurrence, dates=dates)
    if recurrence.kind == "ladder":
        return _("%(repeats)s, unless it is done", repeats=repeats)
    if recurrence.kind == "someday":
        return _("Someday, reviewed %(repeats)s", repeats=repeats[:1].lower() + repeats[1:])
    return repeats


def _describe_dates(recurrence: Recurrence, *, dates: DateFormat) -> str:
    unit, number = recurrence.unit, recurrence.interval
    parts = [
        {
            "day": ngettext("Every day", "Every %(num)s days", number),
            "week": ngettext("Every week", "Every %(num)s weeks", number),
            "month": ngettext("Every month", "Every %(num)s months", number),
            "year": ngettext("Every year", "Every %(num)s years", number),
        }[unit]
    ]
    month = None if recurrence.month is None else _(MONTH_NAMES[recurrence.month - 1])
    if unit == "week":
        days = _listed([_(WEEKDAY_NAMES[day]) for day in recurrence.weekdays])
        if number > 1:
            parts.append(_("on %(days)s", days=days))
        elif recurrence.weekdays == _MONDAY_TO_FRIDAY:
            parts = [_("Every weekday")]
        else:
            parts = [_("Every %(days)s", days=days)]
    elif recurrence.nth is not None:
        nth, weekday = _(_NTH[recurrence.nth]), _(WEEKDAY_NAMES[recurrence.weekdays[0]])
        parts.append(_("on the %(nth)s %(weekday)s", nth=nth, weekday=weekday))
        parts += [_("of %(month)s", month=month)] if month else []
    elif recurrence.day is not None and recurrence.day < 0:
        parts.append(_("on the last day"))
        parts += [_("of %(month)s", month=month)] if month else []
    elif recurrence.day is not None and month:
        parts.append(_("on day %(day)s of %(month)s", day=recurrence.day, month=month))
    elif recurrence.day is not None:
        parts.append(_("on day %(day)s", day=recurrence.day))
    parts.append(_("at %(time)s", time=dates.clear_hour(recurrence.at)))
    if until := recurrence.until:
        parts.append(_("until %(date)s", date=dates.day(until, weekday=False)))
    if recurrence.times is not None:
        parts.append(ngettext("once", "%(num)s times", recurrence.times))
    if recurrence.weekend_rule == "before":
        parts.append(_("(on the working day before when that is a weekend)"))
    elif recurrence.weekend_rule == "after":
        parts.append(_("(on the working day after when that is a weekend)"))
    return " ".join(parts)


def _listed(names: Sequence[str]) -> str:
    *rest, last = names
    return _("%(names)s and %(last)s", names=", ".join(rest), last=last) if rest else last
