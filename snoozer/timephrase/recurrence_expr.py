"""Phrases that repeat: daily at 9, every 2 weeks on tuesday 14:00, every month on the 31st, every last friday."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from itertools import islice

from snoozer.timephrase.calendar_expr import nth_and_weekday
from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import DayExpr, day_numbers, length_of, month_days, no_such_day, plus_months
from snoozer.timephrase.datetime_expr import ZoneExpr, days, zone_exprs
from snoozer.timephrase.duration_expr import Duration, durations
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence import Recurrence, Unit, WeekendRule
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.time_of_day_expr import ClockTime, clock_times, named_time
from snoozer.translations import gettext

_UNITS: dict[str, tuple[Unit, int]] = {
    "day": ("day", 1),
    "week": ("week", 1),
    "fortnight": ("week", 2),
    "month": ("month", 1),
    "quarter": ("month", 3),
    "year": ("year", 1),
}


@dataclass(frozen=True, kw_only=True)
class RecurrenceExpr:
    """A recurrence as it was written; None or empty means that the phrase leaves it open. `workdays` stands for the
    person's own, `weekend` for the first day of their weekend; `unclear` is an ordinal that could mean two
    frequencies."""

    unit: Unit
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    workdays: bool = False
    weekend: bool = False
    day: int | None = None
    month: int | None = None
    nth: int | None = None
    unclear: bool = False
    clock: ClockTime | None = None
    zone: ZoneExpr | None = None
    until: DayExpr | None = None
    lasting: Duration | None = None
    times: int | None = None
    starting: DayExpr | None = None
    weekend_rule: WeekendRule = "none"

    def at(self, clock: ClockTime) -> "RecurrenceExpr":
        """The same at that time, which is not a date here, in the part of the day that the frequency names ("every
        evening at 7")."""
        clock = replace(clock, could_be=())
        part = self.clock.named_hour if self.clock else None
        if part and not clock.midnight and not clock.named_hour:
            clock = clock.within(part)
        return replace(self, clock=clock)


def recurrences(tokens: Tokens, at: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    """Every recurrence that starts here: a frequency, a time of day on either side, and limits."""
    for frequency, end in _frequencies(tokens, at):
        yield from _limited(tokens, frequency, end)
        for prep in tokens.optional(end, "prep"):
            for clock, after in clock_times(tokens, prep):
                yield from _limited(tokens, frequency.at(clock), after)
    for clock, end in clock_times(tokens, at):
        if clock.bare and _can_be_counted(tokens, end):
            continue
        for prep in tokens.optional(end, "prep"):
            for frequency, after in _frequencies(tokens, prep):
                yield from _limited(tokens, frequency.at(clock), after)


def _can_be_counted(tokens: Tokens, at: int) -> bool:
    """Whether a bare number in front would count the weekdays: 9 fridays, but not 9 every friday or 9 on fridays."""
    read = {role for role in ("each_weekday", "workdays", "every", "prep") for _ in tokens.match(at, role)}
    return bool(read) and not read & {"every", "prep"}


def _limited(tokens: Tokens, expr: RecurrenceExpr, end: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    for zone, after in zone_exprs(tokens, end):
        yield from _limits(tokens, replace(expr, zone=zone), after)
    yield from _limits(tokens, expr, end)


def _limits(tokens: Tokens, expr: RecurrenceExpr, end: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    """At most one of each: until a day, for a duration or a number of times, starting on a day, a weekend rule."""
    yield expr, end
    if expr.weekend_rule == "none":
        for rule, after in tokens.match(end, "weekend_rule"):
            kept: WeekendRule = "before" if rule == "before" else "after"
            yield from _limits(tokens, replace(expr, weekend_rule=kept), after)
    if expr.until is None and expr.times is None and expr.lasting is None:
        for _, middle in tokens.match(end, "until"):
            for the in tokens.optional(middle, "prep", "the"):
                for day, after in days(tokens, the):
                    yield from _limits(tokens, replace(expr, until=day), after)
        for start in tokens.optional(end, "lasting"):
            for number, middle in _integers(tokens, start):
                for _, after in tokens.match(middle, "times"):
                    yield from _limits(tokens, replace(expr, times=number), after)
            for duration, after in durations(tokens, start) if start > end else ():
                if duration.whole_days and not duration.workdays:
                    yield from _limits(tokens, replace(expr, lasting=duration), after)
    if expr.starting is None:
        for _, middle in tokens.match(end, "starting"):
            for prep in tokens.optional(middle, "prep"):
                for day, after in days(tokens, prep):
                    yield from _limits(tokens, replace(expr, starting=day), after)


def ends(tokens: Tokens) -> Iterator[RecurrenceExpr]:
    """The end that the whole phrase names: until 24 december, ends after 10 times, for 3 weeks; or the bare date."""
    any_series = RecurrenceExpr(unit="day")
    for start in {*tokens.optional(0, "ends")}:
        for middle in {*tokens.optional(start, "within", "prep")}:
            for expr, end in _limits(tokens, any_series, middle):
                if end == len(tokens) and (expr.until or expr.times is not None or expr.lasting):
                    yield expr
            for day, end in days(tokens, middle):
                if end == len(tokens):
                    yield replace(any_series, until=day)


def end_of(expr: RecurrenceExpr, context: ParseContext, *, first: date) -> tuple[date | None, int | None]:
    """The last day or the number of times that an expression from `ends` names, for a series whose next date is
    `first`. Raises ParseError."""
    _check(expr)
    if expr.starting is not None or expr.weekend_rule != "none":
        raise ParseError("unrecognised", "Only an end can be given here, such as until 24 December, or 10 times.")
    return _until(expr, context, first), expr.times


def _frequencies(tokens: Tokens, at: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    for _, end in tokens.match(at, "workdays"):
        yield RecurrenceExpr(unit="week", workdays=True), end
    for weekdays, end in _weekday_list(tokens, at, "each_weekday"):
        yield RecurrenceExpr(unit="week", weekdays=weekdays), end
    for frequency, end in tokens.match(at, "frequency"):
        number, unit = frequency.split()
        yield from _placed(tokens, *_UNITS[unit], end, factor=int(number))
    for _, middle in tokens.match(at, "every"):
        yield from _every(tokens, middle)
    yield from _in_each_month(tokens, at, every=False)


def _every(tokens: Tokens, at: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    for number, middle in _intervals(tokens, at):
        for role in ("unit", "period"):
            for unit, end in tokens.match(middle, role):
                if unit in _UNITS:
                    yield from _placed(tokens, *_UNITS[unit], end, factor=number)
    for weekdays, end in _weekday_list(tokens, at, "weekday"):
        yield RecurrenceExpr(unit="week", weekdays=weekdays), end
    for _, middle in tokens.numbers(at, "other"):
        for weekday, end in tokens.numbers(middle, "weekday"):
            yield RecurrenceExpr(unit="week", interval=2, weekdays=(weekday,)), end
    for _, end in tokens.match(at, "workday"):
        yield RecurrenceExpr(unit="week", workdays=True), end
    for _, end in tokens.match(at, "weekend"):
        yield RecurrenceExpr(unit="week", weekend=True), end
    for part, end in (*tokens.match(at, "part"), *tokens.match(at, "part_of_day")):
        yield RecurrenceExpr(unit="day", clock=named_time(part)), end
    for month, day, end in month_days(tokens, at):
        yield RecurrenceExpr(unit="year", month=month, day=day), end
    yield from _in_each_month(tokens, at, every=True)


def _intervals(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """How many units: 3, two, other, second; one if no number is given."""
    yield from _integers(tokens, at)
    for role in ("other", "ordinal"):
        for number, end in tokens.numbers(at, role):
            if number > 1:
                yield number, end
    if tokens.shape(at) == "ordinal":
        yield from ((number, end) for number, end in day_numbers(tokens, at) if number > 1)
    yield 1, at


def _integers(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    if tokens.shape(at) == "integer":
        yield int(tokens.text(at)), at + 1
    yield from tokens.numbers(at, "number")


def _placed(tokens: Tokens, unit: Unit, size: int, end: int, *, factor: int) -> Iterator[tuple[RecurrenceExpr, int]]:
    """The frequency, and where in the week, month or year it falls when the phrase names it."""
    plain = RecurrenceExpr(unit=unit, interval=size * factor)
    for start in tokens.optional(end, "prep"):
        if unit == "week":
            for role in ("weekday", "each_weekday"):
                for weekdays, after in _weekday_list(tokens, start, role):
                    yield replace(plain, weekdays=weekdays), after
        elif unit == "month":
            for day, after in _month_days(tokens, start):
                yield replace(plain, day=day), after
            for nth, weekday, after in nth_and_weekday(tokens, start):
                yield replace(plain, nth=nth, weekdays=(weekday,)), after
        elif unit == "year":
            for month, day, after in month_days(tokens, start):
                yield replace(plain, month=month, day=day), after
            for nth, weekday, middle in nth_and_weekday(tokens, start):
                for _, before_month in tokens.match(middle, "of"):
                    for month, after in tokens.numbers(before_month, "month"):
                        yield replace(plain, month=month, nth=nth, weekdays=(weekday,)), after
    yield plain, end


def _in_each_month(tokens: Tokens, at: int, *, every: bool) -> Iterator[tuple[RecurrenceExpr, int]]:
    """The 15th of every month, the last friday of each month; after "every" also "of the month", or only the 15th."""
    roles = ("each_month", "the_month") if every else ("each_month",)
    for day, end in _month_days(tokens, at):
        for role in roles:
            yield from ((RecurrenceExpr(unit="month", day=day), after) for _, after in tokens.match(end, role))
        if every:
            yield RecurrenceExpr(unit="month", day=day), end
    for nth, weekday, end in nth_and_weekday(tokens, at):
        expr = RecurrenceExpr(unit="month", nth=nth, weekdays=(weekday,))
        for role in roles:
            yield from ((expr, after) for _, after in tokens.match(end, role))
        if every:
            yield replace(expr, unclear=nth > 1), end


def _month_days(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """A day of the month; -1 is the last day."""
    yield from day_numbers(tokens, at)
    for _, end in tokens.match(at, "last_day"):
        yield -1, end
    for start in tokens.optional(at, "the"):
        if tokens.shape(start) == "integer" and len(tokens.text(start)) <= 2 and start > at:
            yield int(tokens.text(start)), start + 1


def _weekday_list(tokens: Tokens, at: int, role: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """One weekday or several: monday, wednesday and friday; monday to wednesday and friday."""
    for some, end in _weekday_range(tokens, at, role):
        for joined in tokens.optional(end, "and"):
            for more, after in _weekday_list(tokens, joined, role):
                if not set(some) & set(more):
                    yield tuple(sorted((*some, *more))), after
        yield some, end


def _weekday_range(tokens: Tokens, at: int, role: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """monday to friday, mon-fri, or one weekday."""
    for first, end in tokens.numbers(at, role):
        hyphen = (end + 1,) if tokens.text(end) == "-" else ()
        for start in (*hyphen, *(after for _, after in tokens.match(end, "to"))):
            for last, after in tokens.numbers(start, role):
                if last != first:
                    yield tuple(sorted((first + n) % 7 for n in range((last - first) % 7 + 1))), after
        yield (first,), end


MIN_LEAD = timedelta(seconds=60)
_MAX_TIMES = 1000
_MONTHS_OF_A_LEAP_CYCLE = 48
_LEAP_YEAR = 2000
_DAWN = time(6)


def build_recurrence(expr: RecurrenceExpr, context: ParseContext, at: time) -> tuple[Recurrence, frozenset[str]]:
    """The recurrence, beginning with the first occurrence that is at least a minute ahead, and the flags of its start
    day. Raises ParseError if there is none, or if the recurrence has no such day."""
    _check(expr)
    if expr.clock and expr.clock.within_night and at < _DAWN and expr.unit != "day":
        sentence = gettext("The hour after midnight is on the next day; name that day and the hour.")
        raise ParseError("unrecognised", sentence)
    earliest, flags = _start_date(expr.starting, context, at) if expr.starting else (context.today, frozenset())
    weekdays = (context.hours.weekend,) if expr.weekend else expr.weekdays
    base = Recurrence(
        unit=expr.unit,
        interval=expr.interval,
        start=earliest,
        at=at,
        weekdays=context.hours.workdays if expr.workdays else weekdays,
        day=expr.day,
        nth=expr.nth,
        month=expr.month,
        times=expr.times,
        weekend_rule=expr.weekend_rule,
        rest=tuple(day for day in range(7) if day not in context.hours.workdays),
        week_start=context.hours.week_start,
    )
    first = _first(_place_weekdays(base, expr), context, in_step=expr.starting is not None)
    ending = replace(first, until=_until(expr, context, first.start))
    if next(ending.dates(), None) is None:
        raise ParseError("past", gettext("The end date comes before the first time; choose a later end date."))
    return ending, flags


def is_clamped(recurrence: Recurrence) -> bool:
    """Whether some of its months lack the day."""
    if recurrence.day is None or recurrence.day < 29:
        return False
    if recurrence.unit == "year" and recurrence.interval % 4 == 0 and recurrence.start.day == recurrence.day:
        return False
    return recurrence.unit == "month" or (recurrence.month or recurrence.start.month) == 2


def _check(expr: RecurrenceExpr) -> None:
    if expr.unclear:
        raise ParseError("unrecognised", gettext("That could count weeks or days of a month; say which."))
    if expr.interval < 1 or expr.times == 0:
        raise ParseError("unrecognised", gettext("A repetition needs a number of at least 1."))
    if expr.interval > {"day": 3660, "week": 520, "month": 120, "year": 10}[expr.unit]:
        raise ParseError(
            "too_far", gettext("That is more than ten years from one time to the next; choose a shorter rhythm.")
        )
    if (expr.times or 0) > _MAX_TIMES:
        raise ParseError(
            "too_far",
            gettext("Something can repeat at most %(times)s times; give a smaller number or none.", times=_MAX_TIMES),
        )
    if expr.day is None or expr.day == -1:
        return
    if expr.month is None and not 1 <= expr.day <= 31:
        raise ParseError("invalid_date", gettext("No month has a day %(day)s; the last one is the 31st.", day=expr.day))
    if expr.month is not None and not 1 <= expr.day <= length_of(_LEAP_YEAR, expr.month):
        raise no_such_day(expr.day, expr.month)


def _place_weekdays(base: Recurrence, expr: RecurrenceExpr) -> Recurrence:
    """Set the day on which it falls. "every 2 weeks" and the like begin one whole step from today, or on the start
    day."""
    if (expr.unit == "day" and expr.interval == 1) or base.weekdays or base.day is not None:
        return base
    start = base.start
    step = timedelta(days=0 if expr.starting else base.interval * (7 if base.unit == "week" else 1))
    if base.unit == "week":
        return replace(base, start=start + step, weekdays=(start.weekday(),))
    if base.unit == "day":
        return replace(base, start=start + step)
    months = 0 if expr.starting else base.interval * (12 if base.unit == "year" else 1)
    month = start.month if base.unit == "year" else None
    return replace(base, start=plus_months(start, months)[0], day=start.day, month=month)


def _first(base: Recurrence, context: ParseContext, *, in_step: bool) -> Recurrence:
    """The same with its start on the first date that is ahead. In the search for it every day, week or month counts;
    from there on, or with `in_step` from the first date on, only every nth."""
    dates = replace(base, interval=1, times=None, weekend_rule="none")
    if in_step:
        origin = next((day for day in dates.dates() if _reaches_its_day(replace(base, start=day))), base.start)
        dates = replace(dates, start=origin, interval=base.interval)
    for start in dates.dates():
        found = replace(base, start=start)
        if not in_step and not _reaches_its_day(found):
            continue
        moved = next(found.dates())
        if context.instant(moved, base.at)[0] - context.now >= MIN_LEAD:
            return found
    raise ParseError("too_far", gettext("That never comes; choose a day that exists."))


def _reaches_its_day(series: Recurrence) -> bool:
    """Whether the day that it names comes: every 4 years on 29 February begins in a leap year, and every 12 months on
    the 31st in a long month. Every year from 29 February on, the shorter months are clamped."""
    if series.day is None or series.day < 29 or series.interval == 1:
        return True
    if series.unit == "year":
        return series.day <= length_of(series.start.year, series.month or series.start.month)
    reached = islice(replace(series, weekend_rule="none", until=None, times=None).dates(), _MONTHS_OF_A_LEAP_CYCLE)
    return any(day.day == series.day for day in reached)


def _start_date(day: DayExpr, context: ParseContext, at: time) -> tuple[date, frozenset[str]]:
    """The date, and the flag if it is in the next year. A start date of today need not have its time ahead."""
    chosen = day.resolve(context, at if day.cycle == "never" else time.max, True)
    if chosen.day < context.today:
        raise ParseError("past", gettext("The day it starts on has passed; choose one that is still to come."))
    return _clear(day, chosen.day, chosen.other, context), chosen.flags & {"next_year"}


def _until(expr: RecurrenceExpr, context: ParseContext, first: date) -> date | None:
    if expr.lasting is not None:
        return expr.lasting.add_to(first, context.hours.workdays).day - timedelta(days=1)
    if expr.until is None:
        return None
    chosen = expr.until.resolve(context, time.max, False)
    return _clear(expr.until, chosen.day, chosen.other, context)


def _clear(day: DayExpr, chosen: date, other: date | None, context: ParseContext) -> date:
    """The date. Raises ParseError if a numeric date is ambiguous: a limit has no alternative to offer."""
    if other is not None and not day.relative:
        raise ParseError(
            "unrecognised",
            gettext(
                "The date could be %(date)s or %(other)s; write the month's name.",
                date=context.dates.day(chosen, weekday=False),
                other=context.dates.day(other, weekday=False),
            ),
        )
    return chosen
