"""Days named by their weekday: friday, next friday, friday next week, first monday of april, friday 13 march."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import dates, years
from snoozer.timephrase.day import MONTH_NAMES, WEEKDAY_NAMES, Choose, Chosen, Day, Returns, plus_months
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence import nth_weekday
from snoozer.timephrase.result import ParseError

_WEEK = timedelta(days=7)


def weekdays(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """Every day that starts here and is named by its weekday."""
    yield from _nth_of_month(tokens, at)
    for weekday, end in tokens.numbers(at, "weekday"):
        yield from _with_date(tokens, weekday, end)
        yield from _in_week(tokens, weekday, end)
        for _, after in tokens.read(end, "week_on"):
            yield Day(choose=_plain(weekday, weeks=1), takes_bare=False), after
        yield Day(choose=_plain(weekday)), end
    yield from _this_and_next(tokens, at)
    yield from _week_then_day(tokens, at)


def _plain(weekday: int, *, weeks: int = 0) -> Choose:
    """The next such day after today; with a time that is still ahead today, today."""

    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        coming = vantage.coming(weekday, after=vantage.today) + weeks * _WEEK
        if named and not weeks and vantage.today.weekday() == weekday and vantage.ahead(vantage.today, at):
            return Chosen(day=vantage.today, other=coming)
        return Chosen(day=coming)

    return choose


def _this_and_next(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    for start in tokens.maybe(at, "the"):
        for _, middle in tokens.read(start, "this"):
            for weekday, end in tokens.numbers(middle, "weekday"):
                yield Day(choose=_this(weekday)), end
        for _, middle in tokens.read(start, "next"):
            for weekday, end in tokens.numbers(middle, "weekday"):
                yield Day(choose=_next(weekday)), end
        for _, middle in tokens.read(start, "last"):
            for _, end in tokens.numbers(middle, "weekday"):
                yield Day(choose=_gone), end


def _this(weekday: int) -> Choose:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        return Chosen(day=vantage.coming(weekday, after=vantage.today - timedelta(days=1)))

    return choose


def _next(weekday: int) -> Choose:
    """That day of the next calendar week, and the nearer one that others would mean."""

    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        chosen = _day_of_week(vantage, weekday, weeks=1)
        nearer = vantage.coming(weekday, after=vantage.today)
        return Chosen(day=chosen, other=nearer if nearer != chosen else None)

    return choose


def _gone(vantage: ParseContext, at: time, named: bool) -> Chosen:
    raise ParseError("past", "That day has passed; choose one that is still to come.")


def _day_of_week(vantage: ParseContext, weekday: int, *, weeks: int) -> date:
    first = vantage.week_of(vantage.today)
    return first + timedelta(days=7 * weeks + (weekday - vantage.habits.week_start) % 7)


def _of_week(weekday: int, weeks: int) -> Day:
    return Day(
        choose=lambda vantage, at, named: Chosen(day=_day_of_week(vantage, weekday, weeks=weeks)),
    )


def _which_week(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """this week (0), next week (1), the week after next (2)."""
    for weeks, role in ((0, "this"), (1, "next")):
        for _, middle in tokens.read(at, role):
            yield from ((weeks, end) for period, end in tokens.names(middle, "period") if period == "week")
    yield from ((2, end) for period, end in tokens.names(at, "beyond") if period == "week")


def _in_week(tokens: Tokens, weekday: int, end: int) -> Iterator[tuple[Day, int]]:
    """friday next week, friday of next week."""
    for start in tokens.maybe(end, "of"):
        for weeks, after in _which_week(tokens, start):
            yield _of_week(weekday, weeks), after


def _week_then_day(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """next week on friday, nächste Woche Freitag."""
    for weeks, end in _which_week(tokens, at):
        for start in tokens.maybe(end, "prep"):
            for weekday, after in tokens.numbers(start, "weekday"):
                yield _of_week(weekday, weeks), after


def _with_date(tokens: Tokens, weekday: int, end: int) -> Iterator[tuple[Day, int]]:
    """A weekday and a date must agree."""
    for start in tokens.maybe(end, "the", "prep"):
        for day, after in dates(tokens, start):
            yield replace(day, choose=_agreeing(weekday, day), takes_bare=False, relative=False), after


def _agreeing(weekday: int, day: Day) -> Choose:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        chosen = day.choose(vantage, at, named)
        for candidate in (chosen.day, chosen.other):
            if candidate is not None and candidate.weekday() == weekday:
                same = candidate == chosen.day
                return Chosen(day=candidate, flags=chosen.flags if same else frozenset())
        its = WEEKDAY_NAMES[chosen.day.weekday()]
        named_date = f"{chosen.day.day} {MONTH_NAMES[chosen.day.month - 1]} {chosen.day.year}"
        raise ParseError(
            "invalid_date", f"{named_date} is a {its}, not a {WEEKDAY_NAMES[weekday]}; correct one of them."
        )

    return choose


def nth_and_weekday(tokens: Tokens, at: int) -> Iterator[tuple[int, int, int]]:
    """first monday, the 2nd tuesday, last friday: which one (-1 is the last), the weekday, the position behind."""
    for start in tokens.maybe(at, "the"):
        for nth, middle in _nths(tokens, start):
            for weekday, end in tokens.numbers(middle, "weekday"):
                yield nth, weekday, end


def _nths(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    yield from tokens.numbers(at, "ordinal")
    yield from ((-1, end) for _, end in tokens.read(at, "last"))
    if tokens.shape(at) == "ordinal" and tokens.text(at)[0] in "12345" and not tokens.text(at)[1:2].isdecimal():
        yield int(tokens.text(at)[0]), at + 1


def _nth_of_month(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    for nth, weekday, middle in nth_and_weekday(tokens, at):
        for _, after_of in tokens.read(middle, "of"):
            for start in tokens.maybe(after_of, "the"):
                for month, end in tokens.numbers(start, "month"):
                    for year, after in years(tokens, end):
                        yield Day(choose=_nth_in_named(nth, weekday, month, year), relative=False), after
                    yield Day(choose=_nth_in_named(nth, weekday, month, None), relative=False, returns="each year"), end
                for months, end in _months_from_now(tokens, start):
                    returns: Returns = "each month" if months is None else "never"
                    yield Day(choose=_nth_from_now(nth, weekday, months), returns=returns), end


def _months_from_now(tokens: Tokens, at: int) -> Iterator[tuple[int | None, int]]:
    """month (None: the coming one), this month (0), next month (1)."""
    yield from ((None, end) for period, end in tokens.names(at, "period") if period == "month")
    for months, role in ((0, "this"), (1, "next")):
        for _, middle in tokens.read(at, role):
            yield from ((months, end) for period, end in tokens.names(middle, "period") if period == "month")


def _nth_in_named(nth: int, weekday: int, month: int, year: int | None) -> Choose:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        this_year = vantage.today.year
        if year is not None:
            return Chosen(day=_existing(nth, weekday, year, month))
        for candidate in (this_year, this_year + 1):
            day = nth_weekday(candidate, month, nth=nth, weekday=weekday)
            if day is None and candidate == this_year and month >= vantage.today.month:
                break
            if day is not None and (day > vantage.today or vantage.ahead(day, at)):
                return Chosen(day=day, flags=frozenset({"next_year"} if candidate > this_year else ()))
        return Chosen(day=_existing(nth, weekday, this_year, month))

    return choose


def _nth_from_now(nth: int, weekday: int, months: int | None) -> Choose:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        month = plus_months(vantage.today.replace(day=1), months or 0)[0]
        day = _existing(nth, weekday, month.year, month.month)
        if months is None and (day < vantage.today or not vantage.ahead(day, at)):
            month = plus_months(month, 1)[0]
            day = _existing(nth, weekday, month.year, month.month)
        return Chosen(day=day)

    return choose


def _existing(nth: int, weekday: int, year: int, month: int) -> date:
    day = nth_weekday(year, month, nth=nth, weekday=weekday) if 1 <= year <= 9999 else None
    if day is None:
        name = f"{MONTH_NAMES[month - 1]} {year}"
        raise ParseError(
            "invalid_date", f"{name} has no {WEEKDAY_NAMES[weekday]} number {nth}; count to four, or say last."
        )
    return day
