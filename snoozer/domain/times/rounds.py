"""From a repetition as written to its Recurrence, counted from the first date it falls on."""

from dataclasses import replace
from datetime import date, time, timedelta

from snoozer.domain.times.day import Day, length_of, no_such_day, plus_months
from snoozer.domain.times.durations import Span
from snoozer.domain.times.reading import Refused
from snoozer.domain.times.recurrence import Recurrence
from snoozer.domain.times.repeats import Repeat
from snoozer.domain.times.vantage import Vantage

LEAST_LEAD = timedelta(seconds=60)
_MOST_TIMES = 1000
_LEAP_YEAR = 2000


def recurrence_of(repeat: Repeat, vantage: Vantage, at: time) -> tuple[Recurrence, frozenset[str]]:
    """The recurrence, beginning with the first occurrence that is at least a minute ahead, and what is to be said of
    the day it starts on. Refused when there is none, or when the repetition has no such day."""
    _check(repeat)
    earliest, flags = _start_date(repeat.starting, vantage, at) if repeat.starting else (vantage.today, frozenset())
    base = Recurrence(
        unit=repeat.unit,
        interval=repeat.interval,
        start=earliest,
        at=at,
        weekdays=_weekdays(repeat, vantage),
        day=repeat.day,
        nth=repeat.nth,
        month=repeat.month,
        times=repeat.times,
        weekend_rule=repeat.weekend_rule,
        rest=tuple(day for day in range(7) if day not in vantage.habits.workdays),
        week_start=vantage.habits.week_start,
    )
    first = _first(_placed(base, repeat), vantage, in_step=repeat.starting is not None)
    ending = replace(first, until=_until(repeat, vantage, first.start))
    if next(ending.dates(), None) is None:
        raise Refused("past", "The end date comes before the first time; choose a later end date.")
    return ending, flags


def is_clamped(recurrence: Recurrence) -> bool:
    """Whether some of its months lack the day."""
    if recurrence.day is None or recurrence.day < 29:
        return False
    return recurrence.unit == "month" or (recurrence.month or recurrence.start.month) == 2


def _check(repeat: Repeat) -> None:
    if repeat.unclear:
        raise Refused("unrecognised", "That could count weeks or days of a month; say which.")
    if repeat.interval < 1 or repeat.times == 0:
        raise Refused("unrecognised", "A repetition needs a number of at least 1.")
    if repeat.interval > {"day": 3660, "week": 520, "month": 120, "year": 10}[repeat.unit]:
        raise Refused("too_far", "That is more than ten years from one time to the next; choose a shorter rhythm.")
    if (repeat.times or 0) > _MOST_TIMES:
        raise Refused("too_far", f"Something can repeat at most {_MOST_TIMES} times; give a smaller number or none.")
    if repeat.day is None or repeat.day == -1:
        return
    if repeat.month is None and not 1 <= repeat.day <= 31:
        raise Refused("invalid_date", f"No month has a day {repeat.day}; the last one is the 31st.")
    if repeat.month is not None and not 1 <= repeat.day <= length_of(_LEAP_YEAR, repeat.month):
        raise no_such_day(repeat.day, repeat.month)


def _weekdays(repeat: Repeat, vantage: Vantage) -> tuple[int, ...]:
    if repeat.workdays:
        return vantage.habits.workdays
    return (vantage.habits.weekend,) if repeat.weekend else repeat.weekdays


def _placed(base: Recurrence, repeat: Repeat) -> Recurrence:
    """With a day to fall on. "every 2 weeks" and the like begin one whole step from today, or on the day they start."""
    if repeat.unit == "day" and repeat.interval == 1:
        return base
    if base.weekdays or base.day is not None:
        return base
    start = base.start
    step = timedelta(0) if repeat.starting else _step(base)
    if base.unit == "week":
        return replace(base, start=start + step, weekdays=(start.weekday(),))
    if base.unit == "day":
        return replace(base, start=start + step)
    months = 0 if repeat.starting else base.interval * (12 if base.unit == "year" else 1)
    month = start.month if base.unit == "year" else None
    return replace(base, start=plus_months(start, months)[0], day=start.day, month=month)


def _step(base: Recurrence) -> timedelta:
    return timedelta(days=base.interval * (7 if base.unit == "week" else 1))


def _first(base: Recurrence, vantage: Vantage, *, in_step: bool) -> Recurrence:
    """The same with its start on the first date that is ahead. While looking for it every day, week or month
    counts; from there on, or with `in_step` from the first date on, only every nth."""
    dates = replace(base, interval=1, times=None, weekend_rule="none")
    if in_step:
        dates = replace(dates, start=next(dates.dates(), base.start), interval=base.interval)
    for start in dates.dates():
        found = replace(base, start=start)
        moved = next(found.dates())
        if vantage.instant(moved, base.at)[0] - vantage.now >= LEAST_LEAD:
            return found
    raise Refused("too_far", "That never comes; choose a day that exists.")


def _start_date(day: Day, vantage: Vantage, at: time) -> tuple[date, frozenset[str]]:
    """The date, and the flag when it is one of the next year. A date of today need not have its time ahead."""
    chosen = day.choose(vantage, at if day.returns == "never" else time.max, True)
    if chosen.day < vantage.today:
        raise Refused("past", "The day it starts on has passed; choose one that is still to come.")
    return _clear(day, chosen.day, chosen.other), chosen.flags & {"next_year"}


def _until(repeat: Repeat, vantage: Vantage, first: date) -> date | None:
    if repeat.lasting is not None:
        return _last_of(repeat.lasting, first, vantage)
    if repeat.until is None:
        return None
    chosen = repeat.until.choose(vantage, time.max, False)
    return _clear(repeat.until, chosen.day, chosen.other)


def _last_of(lasting: Span, first: date, vantage: Vantage) -> date:
    return lasting.from_date(first, vantage.habits.workdays).day - timedelta(days=1)


def _clear(day: Day, chosen: date, other: date | None) -> date:
    """The date, or Refused when a numeric one could be another: a limit has no second reading to offer."""
    if other is not None and not day.relative:
        raise Refused(
            "unrecognised",
            f"The date could be {chosen.isoformat()} or {other.isoformat()}; write the month's name.",
        )
    return chosen
