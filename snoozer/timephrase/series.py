"""Edits of a series: take one occurrence out, move every occurrence, give it an end.

A promise is an occurrence of its series, or an occurrence that was moved by itself: then the series is the rest,
without that occurrence. Functions return None if no occurrence is left, and raise OverflowError at the end of the
calendar.
"""

from dataclasses import replace
from datetime import date, datetime, timedelta

from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import wall_time
from snoozer.translations import gettext as _

MAX_TIMES = 1000
_DAY = timedelta(days=1)
_WEEK = 7
_INSTANT = timedelta(microseconds=1)


class SeriesError(ValueError):
    """The series cannot be edited like that; the text says why, for people."""


def is_occurrence(series: Recurrence, promise: datetime, zone: str) -> bool:
    """Whether the series itself falls on that instant."""
    return next_occurrence(series, after=promise - _INSTANT, zone=zone) == promise


def rest(series: Recurrence, promise: datetime, zone: str) -> Recurrence | None:
    """The series without the promised occurrence and those before it. Nothing is left of someday: it comes now."""
    if series.kind == "someday":
        return None
    if not is_occurrence(series, promise, zone):
        return series
    return series.after(wall_time(promise, zone).date())


def present(series: Recurrence, promise: datetime, zone: str) -> Recurrence | None:
    """The series from the promised occurrence on."""
    if not is_occurrence(series, promise, zone):
        return series
    return series.after(wall_time(promise, zone).date() - _DAY)


def moved(series: Recurrence, promise: datetime, zone: str, *, wall: datetime) -> Recurrence:
    """The series from the promised occurrence on, with every occurrence moved like this one: to the hour of `wall` and,
    if it falls on a day of the week, month or year, to that day. Raises SeriesError if the series ends before."""
    if series.until is not None and wall.date() > series.until:
        raise SeriesError(_("The repetition ends before that. Change its end first."))
    is_moved = not is_occurrence(series, promise, zone)
    times = series.times
    if times is not None:
        left = present(series, promise, zone)
        times = min(MAX_TIMES, (left.times or 0 if left else 0) + is_moved)
    day = wall.date()
    at_hour = replace(series, start=day, at=wall.time(), times=times)
    placed = _on_day(at_hour, day, old=wall_time(promise, zone).date())
    # The requested day holds, even if the weekend rule would move it.
    return replace(placed, weekend_rule="none") if day.weekday() in placed.rest else placed


def ending(
    series: Recurrence, promise: datetime, zone: str, *, until: date | None = None, times: int | None = None
) -> Recurrence | None:
    """The series with its last day, or the number of occurrences including the promised one; with neither it has no
    end. None if the promised one is the last. Raises SeriesError for an end before it."""
    if until is not None and wall_time(promise, zone).date() > until:
        raise SeriesError(_("The next time is later than that. To end it now, cancel it."))
    is_moved = not is_occurrence(series, promise, zone)
    left = present(replace(series, until=None, times=None), promise, zone)
    if left is None or (times == 1 and is_moved):
        return None
    limited = replace(left, until=until, times=None if times is None else times - is_moved)
    if until is not None and next(limited.dates(), None) is None:
        return None
    return limited


def _on_day(series: Recurrence, day: date, *, old: date) -> Recurrence:
    if series.unit == "week":
        others = set(series.weekdays) - ({old.weekday()} if len(series.weekdays) > 1 else set(series.weekdays))
        return replace(series, weekdays=tuple(sorted({*others, day.weekday()})))
    if series.unit == "day":
        return series
    month = day.month if series.unit == "year" or series.month is not None else None
    is_last_week = (day + _WEEK * _DAY).month != day.month
    if series.nth is not None:
        nth = (day.day - 1) // _WEEK + 1
        return replace(
            series, month=month, nth=-1 if nth > 4 or (series.nth == -1 and is_last_week) else nth,
            weekdays=(day.weekday(),),
        )  # fmt: skip
    if series.day == -1 and (day + _DAY).month != day.month:
        return replace(series, month=month)
    return replace(series, month=month, day=day.day)
