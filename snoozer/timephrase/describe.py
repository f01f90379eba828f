"""Sentences a person can check: "Friday 6 March, 08:00 (in 22 hours), America/New_York", and every flag explained."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import resolve_wall_time, zone_of
from snoozer.translations import N_, ngettext, npgettext
from snoozer.translations import gettext as _

MONTH_NAMES = (
    N_("January"), N_("February"), N_("March"), N_("April"), N_("May"), N_("June"),
    N_("July"), N_("August"), N_("September"), N_("October"), N_("November"), N_("December"),
)  # fmt: skip
WEEKDAY_NAMES = (
    N_("Monday"), N_("Tuesday"), N_("Wednesday"), N_("Thursday"), N_("Friday"), N_("Saturday"), N_("Sunday"),
)  # fmt: skip
_NTH = {1: N_("first"), 2: N_("second"), 3: N_("third"), 4: N_("fourth"), 5: N_("fifth"), -1: N_("last")}
_MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_MONTH, _YEAR = 30.44 * DAY, 365.25 * DAY


@dataclass(frozen=True, kw_only=True)
class SpanStyle:
    """How precisely a span is worded.

    Below `two_units_below`: its two largest units. Otherwise one rounded unit: the first of `units` (name, size, limit)
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
# 2 hours 30 minutes, 22 hours, 5 days, 6 weeks: the units in which people plan.
_AHEAD = SpanStyle(
    two_units_below=6 * HOUR,
    units=(("hour", HOUR, 2 * DAY), ("day", DAY, 28 * DAY), ("week", 7 * DAY, 120 * DAY), ("month", _MONTH, 730 * DAY)),
)


def span_in_words(span: timedelta, style: SpanStyle = ROUNDED, *, after: bool = False) -> str:
    """A span of at least zero in words: 45 seconds, 1 hour 20 minutes, 22 hours. `after` words it for use within a
    sentence, behind in, for, since or ago."""
    if style.seconds and span < MINUTE:
        return counted(round(span.total_seconds()), "second", after=after)
    minutes = round(span / MINUTE)
    if minutes < style.two_units_below / MINUTE:
        units = ((minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute"))
        return " ".join([counted(number, unit, after=after) for number, unit in units if number][:2]) or counted(
            0, "minute"
        )
    unit, size = next(((unit, size) for unit, size, limit in style.units if span < limit), ("year", _YEAR))
    return counted(round(span / size), unit, after=after)


def distance(span: timedelta) -> str:
    """How far ahead: in 40 minutes, in 2 hours 30 minutes, in 22 hours, in 5 days."""
    return _("in %(span)s", span=span_ahead(span))


def distance_back(span: timedelta) -> str:
    """How long ago: 40 minutes ago."""
    return _("%(span)s ago", span=span_ahead(span))


def span_ahead(span: timedelta, *, after: bool = True) -> str:
    """A span as `distance` rounds it: 22 hours, 5 days, 6 weeks."""
    return span_in_words(span, _AHEAD, after=after)


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


def full_date(day: date) -> str:
    """6 March 2026."""
    return _("%(day)s %(month)s %(year)s", day=day.day, month=_(MONTH_NAMES[day.month - 1]), year=day.year)


def date_in_words(when: datetime, *, now: datetime, month_first: bool = False) -> str:
    """Friday 6 March, or Friday, March 6; with the year if it is not this one."""
    year = "" if when.year == now.year else f" {when.year}"
    weekday, month = _(WEEKDAY_NAMES[when.weekday()]), _(MONTH_NAMES[when.month - 1])
    if month_first:
        return f"{weekday}, {month} {when.day}{',' if year else ''}{year}"
    return _("%(weekday)s %(day)s %(month)s", weekday=weekday, day=when.day, month=month) + year


def clock(when: datetime, *, twelve_hour: bool) -> str:
    """08:00, or 8:00 am."""
    return f"{when.hour % 12 or 12}:{when:%M} {'am' if when.hour < 12 else 'pm'}" if twelve_hour else f"{when:%H:%M}"


def time_in_words(when: datetime) -> str:
    return f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"


def _clear_time(at: datetime, zone: str) -> str:
    """01:30, or 01:30 UTC-05:00 if the clock of the zone shows it twice."""
    changed = resolve_wall_time(at.replace(tzinfo=None), zone_of(zone))[1]
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
    month_first: bool = False,
    condition: str | None = None,
    recurrence: Recurrence | None = None,
    following: datetime | None = None,
) -> str:
    """The whole sentence. `at`, `now`, `alternative` have the person's offset; `wall` is the clock in `wall_zone`."""
    day = partial(date_in_words, now=now, month_first=month_first)
    when = f"{day(at)}, {_clear_time(at, zone)} ({distance(at - now)}), {zone}"
    if wall_zone != zone:
        there = f"{day(wall)}, {time_in_words(wall)}"
        when = _("%(when)s, which is %(there)s in %(zone)s", when=when, there=there, zone=wall_zone)
    if condition:
        when = _("If no one replies by then: %(when)s", when=when)
    if recurrence:
        repeats = describe_recurrence(recurrence)
        if following:
            then = day(following)
            when = _("%(repeats)s: first %(when)s, then %(then)s", repeats=repeats, when=when, then=then)
        else:
            when = _("%(repeats)s: first %(when)s, and not again", repeats=repeats, when=when)
    notes = [
        explain_flag(flag, wall=wall, now=now, alternative=alternative, recurrence=recurrence, month_first=month_first)
        for flag in flags
    ]
    return " ".join([f"{when}.", *notes])


def explain_flag(
    flag: str,
    *,
    wall: datetime,
    now: datetime,
    alternative: datetime | None = None,
    recurrence: Recurrence | None = None,
    month_first: bool = False,
) -> str:
    """The meaning of a flag, as a sentence."""
    if flag == "ambiguous" and alternative:
        other = f"{date_in_words(alternative, now=now, month_first=month_first)}, {time_in_words(alternative)}"
        return _("It could also mean %(when)s.", when=other)
    if flag == "clamped" and recurrence:
        return _("In a month without that day it comes on the last day of the month.")
    return _(_FLAGS[flag], time=time_in_words(wall), year=wall.year)


_FLAGS = {
    "ambiguous": N_("It could also mean another time."),
    "assumed_meridiem": N_("No am or pm was given, so %(time)s was assumed."),
    "clamped": N_("The month has no such day, so its last day was taken."),
    "dst_gap": N_("The clocks go forward then and skip the time that was asked for, so it is later by what they skip."),
    "dst_overlap": N_("The clocks go back then and this time comes twice; it is the first of the two."),
    "next_year": N_("The date does not come again this year, so it is in %(year)s."),
}


def describe_recurrence(recurrence: Recurrence, *, at: str | None = None) -> str:
    """Every Monday at 09:00; every 2 weeks on Tuesday at 14:00, until 1 June 2026. `at` words the hour differently."""
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
    parts.append(_("at %(time)s", time=at or time_in_words(datetime.combine(recurrence.start, recurrence.at))))
    if until := recurrence.until:
        parts.append(_("until %(date)s", date=full_date(until)))
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
