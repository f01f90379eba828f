"""Days by their place in a week, month, quarter or year: friday, next week, first monday of april, end of month."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, time, timedelta

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import (
    Cycle,
    DayExpr,
    DayResolver,
    ResolvedDay,
    dates,
    length_of,
    plus_months,
    this_or_next,
    years,
)
from snoozer.timephrase.date_format import WEEKDAY_NAMES, month_name
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence import nth_weekday
from snoozer.timephrase.result import ParseError
from snoozer.translations import gettext

_WEEK = timedelta(days=7)


def weekdays(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Yield every day named by its weekday that starts at this position."""
    yield from _nth_of_month(tokens, at)
    for weekday, end in tokens.numbers(at, "weekday"):
        yield from _with_date(tokens, weekday, end)
        yield from _in_week(tokens, weekday, end)
        for _, after in tokens.match(end, "week_on"):
            yield DayExpr(resolve=_plain(weekday, weeks=1), allows_bare_hour=False), after
        yield DayExpr(resolve=_plain(weekday)), end
    yield from _this_and_next(tokens, at)
    yield from _week_then_day(tokens, at)


def _plain(weekday: int, *, weeks: int = 0) -> DayResolver:
    """The next such day after today; with a time that is still ahead today, today."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        coming = context.coming(weekday, after=context.today) + weeks * _WEEK
        if has_time and not weeks and context.today.weekday() == weekday and context.ahead(context.today, at):
            return ResolvedDay(day=context.today, other=coming)
        return ResolvedDay(day=coming)

    return resolve


def _this_and_next(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    for start in tokens.optional(at, "the"):
        for role, resolver in (("this", _this), ("next", _next), ("last", _passed)):
            for _, middle in tokens.match(start, role):
                for weekday, end in tokens.numbers(middle, "weekday"):
                    yield DayExpr(resolve=resolver(weekday)), end


def _this(weekday: int) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        return ResolvedDay(day=context.coming(weekday, after=context.today - timedelta(days=1)))

    return resolve


def _next(weekday: int) -> DayResolver:
    """That day of the next calendar week, and as the alternative a nearer one that other people would mean."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        chosen = _day_of_week(context, weekday, weeks=1)
        nearer = context.coming(weekday, after=context.today)
        return ResolvedDay(day=chosen, other=nearer if nearer != chosen else None)

    return resolve


def _passed(weekday: int) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        raise ParseError("past", gettext("That day has passed; choose one that is still to come."))

    return resolve


def _day_of_week(context: ParseContext, weekday: int, *, weeks: int) -> date:
    first = context.week_of(context.today)
    return first + timedelta(days=7 * weeks + (weekday - context.hours.week_start) % 7)


def _of_week(weekday: int, weeks: int) -> DayExpr:
    return DayExpr(resolve=lambda context, at, has_time: ResolvedDay(day=_day_of_week(context, weekday, weeks=weeks)))


def _which_week(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """this week (0), next week (1), the week after next (2)."""
    yield from this_or_next(tokens, at, "week")
    yield from ((2, end) for period, end in tokens.match(at, "beyond") if period == "week")


def _in_week(tokens: Tokens, weekday: int, end: int) -> Iterator[tuple[DayExpr, int]]:
    """friday next week, friday of next week."""
    for start in tokens.optional(end, "of"):
        for weeks, after in _which_week(tokens, start):
            yield _of_week(weekday, weeks), after


def _week_then_day(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """next week on friday, nächste Woche Freitag."""
    for weeks, end in _which_week(tokens, at):
        for start in tokens.optional(end, "prep"):
            for weekday, after in tokens.numbers(start, "weekday"):
                yield _of_week(weekday, weeks), after


def _with_date(tokens: Tokens, weekday: int, end: int) -> Iterator[tuple[DayExpr, int]]:
    """A weekday with a date; raise ParseError if they disagree."""
    for start in tokens.optional(end, "the", "prep"):
        for day, after in dates(tokens, start):
            yield replace(day, resolve=_agreeing(weekday, day), allows_bare_hour=False, relative=False), after


def _agreeing(weekday: int, day: DayExpr) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        chosen = day.resolve(context, at, has_time)
        for candidate in (chosen.day, chosen.other):
            if candidate is not None and candidate.weekday() == weekday:
                same = candidate == chosen.day
                return ResolvedDay(day=candidate, flags=chosen.flags if same else frozenset())
        its = gettext(WEEKDAY_NAMES[chosen.day.weekday()])
        raise ParseError(
            "invalid_date",
            gettext(
                "%(date)s is a %(weekday)s, not a %(other)s; correct one of them.",
                date=context.dates.day(chosen.day, weekday=False),
                weekday=its,
                other=gettext(WEEKDAY_NAMES[weekday]),
            ),
        )

    return resolve


def nth_and_weekday(tokens: Tokens, at: int) -> Iterator[tuple[int, int, int]]:
    """first monday, the 2nd tuesday, last friday: which one (-1 is the last), the weekday, the position after it."""
    for start in tokens.optional(at, "the"):
        for nth, middle in _nths(tokens, start):
            for weekday, end in tokens.numbers(middle, "weekday"):
                yield nth, weekday, end


@dataclass(frozen=True, kw_only=True)
class WeekdayStep:
    """The `nth` such day of the week after a date, or before it."""

    weekday: int
    nth: int = 1

    def add_to(self, day: date, workdays: tuple[int, ...], *, sign: int = 1) -> ResolvedDay:
        nearest = sign * (self.weekday - day.weekday()) % 7 or 7
        return ResolvedDay(day=day + sign * (timedelta(days=nearest) + (self.nth - 1) * _WEEK))


def weekday_steps(tokens: Tokens, at: int) -> Iterator[tuple[WeekdayStep, int, int]]:
    """friday before, the last friday before, the second monday after: the step, its direction, the position after."""
    found = [(nth, weekday, end, 0) for nth, weekday, end in nth_and_weekday(tokens, at) if nth > 0]
    for start in tokens.optional(at, "the"):
        found += [(1, weekday, end, 0) for weekday, end in tokens.numbers(start, "weekday")]
        for role, direction in (("last", -1), ("next", 1)):
            for _, middle in tokens.match(start, role):
                found += [(1, weekday, end, direction) for weekday, end in tokens.numbers(middle, "weekday")]
    for nth, weekday, middle, direction in found:
        for sign, end in tokens.numbers(middle, "from"):
            if direction in (0, sign):
                yield WeekdayStep(weekday=weekday, nth=nth), sign, end


def _nths(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    yield from tokens.numbers(at, "ordinal")
    yield from ((-1, end) for _, end in tokens.match(at, "last"))
    if tokens.shape(at) == "ordinal" and tokens.text(at)[0] in "12345" and not tokens.text(at)[1:2].isdecimal():
        yield int(tokens.text(at)[0]), at + 1


def _nth_of_month(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    for nth, weekday, middle in nth_and_weekday(tokens, at):
        for _, after_of in tokens.match(middle, "of"):
            for start in tokens.optional(after_of, "the"):
                for month, end in tokens.numbers(start, "month"):
                    for year, after in years(tokens, end):
                        yield DayExpr(resolve=_nth_in_named(nth, weekday, month, year), relative=False), after
                    yield (
                        DayExpr(resolve=_nth_in_named(nth, weekday, month, None), relative=False, cycle="each year"),
                        end,
                    )
                for months, end in _months_from_now(tokens, start):
                    cycle: Cycle = "each month" if months is None else "never"
                    yield DayExpr(resolve=_nth_from_now(nth, weekday, months), cycle=cycle), end


def _months_from_now(tokens: Tokens, at: int) -> Iterator[tuple[int | None, int]]:
    """month (None: the coming one), this month (0), next month (1)."""
    yield from ((None, end) for period, end in tokens.match(at, "period") if period == "month")
    yield from this_or_next(tokens, at, "month")


def _nth_in_named(nth: int, weekday: int, month: int, year: int | None) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        this_year = context.today.year
        if year is not None:
            return ResolvedDay(day=_existing(nth, weekday, year, month))
        for candidate in (this_year, this_year + 1):
            day = nth_weekday(candidate, month, nth=nth, weekday=weekday)
            if day is None and candidate == this_year and month >= context.today.month:
                break
            if day is not None and (day > context.today or context.ahead(day, at)):
                return ResolvedDay(day=day, flags=frozenset({"next_year"} if candidate > this_year else ()))
        return ResolvedDay(day=_existing(nth, weekday, this_year, month))

    return resolve


def _nth_from_now(nth: int, weekday: int, months: int | None) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        month = plus_months(context.today.replace(day=1), months or 0)[0]
        day = _existing(nth, weekday, month.year, month.month)
        if months is None and (day < context.today or not context.ahead(day, at)):
            month = plus_months(month, 1)[0]
            day = _existing(nth, weekday, month.year, month.month)
        return ResolvedDay(day=day)

    return resolve


def _existing(nth: int, weekday: int, year: int, month: int) -> date:
    day = nth_weekday(year, month, nth=nth, weekday=weekday) if 1 <= year <= 9999 else None
    if day is None:
        raise ParseError(
            "invalid_date",
            gettext(
                "%(month)s has no %(weekday)s number %(nth)s; count to four, or say last.",
                month=month_name(month, year),
                weekday=gettext(WEEKDAY_NAMES[weekday]),
                nth=nth,
            ),
        )
    return day


def periods(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Yield every day named by a period that starts at this position."""
    for start in tokens.optional(at, "the"):
        for _, middle in tokens.match(start, "next"):
            for period, end in tokens.match(middle, "period"):
                yield DayExpr(resolve=_first_of(period, 1)), end
            for _, end in tokens.match(middle, "weekend"):
                yield DayExpr(resolve=_weekend(1)), end
            for _, end in tokens.match(middle, "workday"):
                yield DayExpr(resolve=_next_workday, default_hour="work_start"), end
        for _, middle in tokens.match(start, "this"):
            for _, end in tokens.match(middle, "weekend"):
                yield DayExpr(resolve=_weekend(0)), end
        for _, end in tokens.match(start, "weekend"):
            yield DayExpr(resolve=_coming_weekend), end
    for period, end in tokens.match(at, "beyond"):
        yield DayExpr(resolve=_first_of(period, 2)), end
    yield from _edges(tokens, at)


def _start(period: str, context: ParseContext, ahead: int) -> date:
    """The first day of the period `ahead` periods from now."""
    today = context.today
    if period == "week":
        return context.week_of(today) + timedelta(days=7 * ahead)
    months = {"month": 1, "quarter": 3, "year": 12}[period]
    first = today.replace(day=1, month=(today.month - 1) // months * months + 1)
    return plus_months(first, ahead * months)[0]


def _opening(period: str, context: ParseContext, ahead: int) -> date:
    """The day on which the period begins for a person; of a week, the first working day."""
    first = _start(period, context, ahead)
    while period == "week" and first.weekday() not in context.hours.workdays:
        first += timedelta(days=1)
    return first


def _end(period: str, context: ParseContext, ahead: int) -> date:
    """The last day of the period; of a week, the last working day."""
    last = _start(period, context, ahead + 1) - timedelta(days=1)
    while period == "week" and last.weekday() not in context.hours.workdays:
        last -= timedelta(days=1)
    return last


def _first_of(period: str, ahead: int) -> DayResolver:
    return lambda context, at, has_time: ResolvedDay(day=_opening(period, context, ahead))


def _weekend(weeks: int) -> DayResolver:
    """The weekend of this calendar week, or of the next."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        first = context.week_of(context.today) + timedelta(days=7 * weeks - 1)
        return ResolvedDay(day=context.coming(context.hours.weekend, after=first))

    return resolve


def _coming_weekend(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
    return ResolvedDay(day=context.coming(context.hours.weekend, after=context.today))


def _next_workday(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
    day = context.today + timedelta(days=1)
    while day.weekday() not in context.hours.workdays:
        day += timedelta(days=1)
    return ResolvedDay(day=day)


def _edges(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """end of month, eom, start of next week, end of april."""
    for period, end in tokens.match(at, "end_of"):
        if period != "day":
            yield DayExpr(resolve=_edge(period, None, last=True), default_hour="work_end"), end
    for role, last in (("end", True), ("start", False), ("last_day", True), ("first_day", False)):
        usual = "work_end" if role == "end" else "morning"
        for middle in _after_edge(tokens, at, role):
            for ahead, start in _which(tokens, middle):
                for period, end in tokens.match(start, "period"):
                    yield DayExpr(resolve=_edge(period, ahead, last=last), default_hour=usual), end
            for period, end in tokens.match(middle, "beyond"):
                yield DayExpr(resolve=_edge(period, 2, last=last), default_hour=usual), end
            for month, end in tokens.numbers(middle, "month"):
                for year, after in years(tokens, end):
                    yield (
                        DayExpr(resolve=_edge_of_month(month, year, last=last), default_hour=usual, relative=False),
                        after,
                    )
                yield DayExpr(resolve=_edge_of_month(month, None, last=last), default_hour=usual, relative=False), end


def _after_edge(tokens: Tokens, at: int, role: str) -> Iterator[int]:
    """The positions after "end of", or after "last day" and its "of the"."""
    for _, end in tokens.match(at, role):
        if role in ("end", "start"):
            yield end
        else:
            for _, after in tokens.match(end, "of"):
                yield from tokens.optional(after, "the")


def _which(tokens: Tokens, at: int) -> Iterator[tuple[int | None, int]]:
    """this (0), next (1) or nothing (None: the coming one)."""
    for offset, role in ((0, "this"), (1, "next")):
        yield from ((offset, end) for _, end in tokens.match(at, role))
    yield None, at


def _edge(period: str, ahead: int | None, *, last: bool) -> DayResolver:
    """The first or last day of a period; without "this" or "next", of the first period for which it is still ahead."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        edge = _end if last else _opening
        if ahead is not None:
            return ResolvedDay(day=edge(period, context, ahead))
        day = edge(period, context, 0)
        still_ahead = day > context.today or context.ahead(day, at)
        return ResolvedDay(day=day if still_ahead else edge(period, context, 1))

    return resolve


def _edge_of_month(month: int, year: int | None, *, last: bool) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        this_year = context.today.year
        for candidate in (this_year, this_year + 1) if year is None else (year,):
            length = length_of(candidate, month)
            day = date(candidate, month, length if last else 1)
            if year is not None or day > context.today or context.ahead(day, at):
                break
        flags = frozenset({"next_year"} if year is None and day.year > this_year else ())
        return ResolvedDay(day=day, flags=flags)

    return resolve
