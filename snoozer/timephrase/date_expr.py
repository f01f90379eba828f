"""Days with a number: mar 20, 21 March 2027, 3/4, 15.3., 2026-03-20, the 15th, the 15th of next month."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date, time, timedelta
from typing import Literal

from dateutil.easter import easter

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_format import month_name
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.result import ParseError
from snoozer.translations import gettext

Cycle = Literal["never", "each month", "each year"]
_NUMBER = re.compile(r"[0-9]+")
_LEAP_CYCLE = 8


@dataclass(frozen=True, kw_only=True)
class ResolvedDay:
    """The date, its flags, and in `other` the date it could also be. If the phrase gives no time, it is not before
    `earliest`."""

    day: date
    flags: frozenset[str] = frozenset()
    other: date | None = None
    earliest: time | None = None


DayResolver = Callable[[ParseContext, time, bool], ResolvedDay]


@dataclass(frozen=True, kw_only=True)
class DayExpr:
    """A day as a phrase names it; its date can depend on the time of day that goes with it.

    `resolve(context, at, has_time)`: `at` is the time of day, `has_time` whether the phrase gives one; else it is the
    `default_hour`. A day that `allows_bare_hour` can be followed by one ("tomorrow 9"); after "20 march" a number could
    be a year. `is_iso` days have 24-hour times in every locale. `relative` days depend on the person's today. A day
    that `needs_time` ("in 3 days") keeps the present time of day if none is given, and is a duration then, not a day.
    `cycle`: the day comes again each year ("march 5") or each month ("the 5th"), as it names neither itself.
    """

    resolve: DayResolver
    default_hour: str = "morning"
    allows_bare_hour: bool = True
    is_iso: bool = False
    relative: bool = True
    needs_time: bool = False
    cycle: Cycle = "never"


def length_of(year: int, month: int) -> int:
    """How many days the month has. Raises OverflowError after the end of the calendar."""
    if year > MAXYEAR:
        raise OverflowError(year)
    return monthrange(year, month)[1]


def plus_months(day: date, months: int) -> tuple[date, bool]:
    """The date `months` months later, and whether it was clamped to the month's end."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError(year)
    last = length_of(year, month + 1)
    return date(year, month + 1, min(day.day, last)), day.day > last


def in_year(year: int, month: int, day: int) -> date:
    """The date. Raises ParseError if the calendar has no such date."""
    try:
        return date(year, month, day)
    except ValueError:
        raise no_such_day(day, month, year) from None


def no_such_day(day: int, month: int, year: int | None = None) -> ParseError:
    if not 1 <= month <= 12:
        return ParseError(
            "invalid_date",
            gettext(
                "A year has 12 months, so there is no month %(month)s; check the order of day and month.", month=month
            ),
        )
    return ParseError(
        "invalid_date",
        gettext("%(month)s has no day %(day)s; give a day that the month has.", month=month_name(month, year), day=day),
    )


def dates(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Yield every date that starts at this position."""
    yield from _written(tokens, at)
    for month, day, end in month_days(tokens, at):
        yield from _with_year(tokens, month, day, end)
    yield from _holiday_or_eve(tokens, at)
    yield from _movable_holiday(tokens, at)
    yield from _day_of_month(tokens, at)


def date_in_year(month: int, day: int, *, year: int | None, context: ParseContext, at: time) -> ResolvedDay:
    """The date in that year; without a year, the next one whose time is still ahead."""
    if year is not None:
        return ResolvedDay(day=in_year(year, month, day))
    if not 1 <= month <= 12 or not 1 <= day <= length_of(2000, month):
        raise no_such_day(day, month)
    this_year = context.today.year
    for candidate in range(this_year, this_year + _LEAP_CYCLE + 1):
        if day <= length_of(candidate, month):
            chosen = date(candidate, month, day)
            if chosen > context.today or context.ahead(chosen, at):
                flags = frozenset({"next_year"} if candidate > this_year else ())
                return ResolvedDay(day=chosen, flags=flags)
    raise no_such_day(day, month)


def _written(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    if tokens.shape(at) != "date":
        return
    text = tokens.text(at)
    if tokens.says(at) == "length" and re.fullmatch("[0-9]+/[0-9]+", text):
        return
    numbers = [int(number) for number in _NUMBER.findall(text)]
    if len(text) == 8 and text.isdecimal():
        numbers = [int(text[:4]), int(text[4:6]), int(text[6:])]
    if len(numbers) == 3 and (text.isdecimal() or numbers[0] > 31):
        year, month, day = numbers
        yield _fixed(year, month, day), at + 1
        return
    first, second, *rest = numbers
    for year, end in () if rest else years(tokens, at + 1):
        yield _numeric(first, second, year, dotted="." in text), end
    year_digits = _NUMBER.findall(text)[2] if rest else ""
    in_that_year = (rest[0] + 2000 if len(year_digits) == 2 else rest[0]) if rest else None
    yield _numeric(first, second, in_that_year, dotted="." in text), at + 1


def _fixed(year: int, month: int, day: int) -> DayExpr:
    return DayExpr(
        resolve=lambda context, at, has_time: ResolvedDay(day=in_year(year, month, day)),
        allows_bare_hour=False,
        is_iso=True,
        relative=False,
    )


def _numeric(first: int, second: int, year: int | None, *, dotted: bool) -> DayExpr:
    """n/n in the order of the locale, or in the other order if only that one is a date. With dots the day comes first,
    unless the locale puts the month first."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        month_day, day_month = (first, second), (second, first)
        ours, theirs = (month_day, day_month) if context.month_first else (day_month, month_day)
        try:
            chosen = date_in_year(*ours, year=year, context=context, at=at)
        except ParseError as error:
            try:
                return date_in_year(*theirs, year=year, context=context, at=at)
            except ParseError:
                raise error from None
        if dotted and not context.month_first:
            return chosen
        try:
            other = date_in_year(*theirs, year=year, context=context, at=at).day
        except ParseError:
            return chosen
        return ResolvedDay(day=chosen.day, flags=chosen.flags, other=other)

    cycle: Cycle = "each year" if year is None else "never"
    return DayExpr(resolve=resolve, allows_bare_hour=False, relative=False, cycle=cycle)


def month_days(tokens: Tokens, at: int) -> Iterator[tuple[int, int, int]]:
    """Month, day and the position after them: mar 20, march the 20th, 20 March, the 20th of March, 20-mar,
    christmas."""
    yield from _holidays(tokens, at, "holiday")
    for month, middle in tokens.numbers(at, "month"):
        for after_the in tokens.optional(middle, "the"):
            for day, end in _day_number(tokens, after_the):
                yield month, day, end
    for start in tokens.optional(at, "the"):
        for day, middle in _day_number(tokens, start):
            for before_month in (*tokens.optional(middle, "of"), *_hyphen(tokens, middle)):
                for month, end in tokens.numbers(before_month, "month"):
                    yield month, day, end
        for day, middle in tokens.numbers(start, "ordinal"):
            for _, before_month in tokens.match(middle, "of"):
                for month, end in tokens.numbers(before_month, "month"):
                    yield month, day, end


def day_numbers(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """A day of the month by itself, with an ending that distinguishes it from an hour (the 15th, 15.) or after a word
    that says a day (on 15, am 15)."""
    for start in tokens.optional(at, "the"):
        if tokens.shape(start) == "ordinal":
            yield int(_NUMBER.findall(tokens.text(start))[0]), start + 1
        elif tokens.shape(start) == "integer" and len(tokens.text(start)) <= 2 and tokens.says(at) == "day":
            yield int(tokens.text(start)), start + 1


def years(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """A year after a date: four digits that are not a clock time, or are of this century; otherwise they are a time."""
    text = tokens.text(at)
    if tokens.shape(at) == "integer" and len(text) == 4:
        no_time = int(text[:2]) > 23 or int(text[2:]) > 59
        if no_time or text.startswith("20"):
            yield int(text), at + 1


def _day_number(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    text = tokens.text(at)
    if tokens.shape(at) == "ordinal" or (tokens.shape(at) == "integer" and len(text) <= 2):
        yield int(_NUMBER.findall(text)[0]), at + 1


def _hyphen(tokens: Tokens, at: int) -> Iterator[int]:
    if tokens.text(at) == "-" and tokens.touching(at) and tokens.touching(at - 1):
        yield at + 1


def _holidays(tokens: Tokens, at: int, role: str) -> Iterator[tuple[int, int, int]]:
    for month_and_day, end in tokens.match(at, role):
        month, day = month_and_day.split("-")
        yield int(month), int(day), end


def _holiday_or_eve(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Weihnachten: the day itself to some people and the day before to others."""
    for month, day, end in _holidays(tokens, at, "holiday_or_eve"):
        for holiday, after in _with_year(tokens, month, day, end):
            yield replace(holiday, resolve=_or_day_before(holiday)), after


def _movable_holiday(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Easter, the days counted from it, and Thanksgiving in the United States."""
    for rule, end in tokens.match(at, "movable_holiday"):
        for year, after in years(tokens, end):
            yield _movable(rule, year=year), after
        for offset, after in this_or_next(tokens, end, "year"):
            yield _movable(rule, offset=offset), after
        yield _movable(rule), end


def _movable(rule: str, *, year: int | None = None, offset: int | None = None) -> DayExpr:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        this_year = context.today.year
        if year is not None or offset is not None:
            return ResolvedDay(day=_movable_date(rule, this_year + (offset or 0) if year is None else year))
        chosen = _movable_date(rule, this_year)
        if chosen > context.today or context.ahead(chosen, at):
            return ResolvedDay(day=chosen)
        return ResolvedDay(day=_movable_date(rule, this_year + 1), flags=frozenset({"next_year"}))

    return DayExpr(resolve=resolve, allows_bare_hour=False, relative=False)


def _movable_date(rule: str, year: int) -> date:
    """The date by a rule of the word list: days after Easter, or the fourth Thursday of November."""
    if rule == "thanksgiving":
        return date(year, 11, 22 + (3 - date(year, 11, 22).weekday()) % 7)
    try:
        return easter(year) + timedelta(days=int(rule))
    except ValueError:
        # Dates of Easter are known until 4099.
        raise OverflowError(year) from None


def _or_day_before(named: DayExpr) -> DayResolver:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        chosen = named.resolve(context, at, has_time)
        return replace(chosen, other=chosen.day - timedelta(days=1))

    return resolve


def _with_year(tokens: Tokens, month: int, day: int, end: int) -> Iterator[tuple[DayExpr, int]]:
    """The day with the year after it, if there is one."""
    for before_year in (end, *_hyphen(tokens, end)):
        for year, after in years(tokens, before_year):
            yield _named(month, day, year=year), after
    for offset, after in this_or_next(tokens, end, "year"):
        yield _named(month, day, offset=offset), after
    yield _named(month, day), end


def this_or_next(tokens: Tokens, at: int, period: str) -> Iterator[tuple[int, int]]:
    """this week (0), next week (1), and the same of a month or year."""
    for offset, role in ((0, "this"), (1, "next")):
        for _, middle in tokens.match(at, role):
            yield from ((offset, end) for named, end in tokens.match(middle, "period") if named == period)


def _named(month: int, day: int, *, year: int | None = None, offset: int | None = None) -> DayExpr:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        wanted = year if offset is None else context.today.year + offset
        return date_in_year(month, day, year=wanted, context=context, at=at)

    fixed = year is not None or offset is not None
    return DayExpr(resolve=resolve, allows_bare_hour=False, relative=False, cycle="never" if fixed else "each year")


def _day_of_month(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    for day, end in day_numbers(tokens, at):
        for offset, after in _which_month(tokens, end):
            yield _in_month(day, offset), after
        yield replace(_in_month(day, None), allows_bare_hour=tokens.shape(end - 1) == "ordinal"), end
    for start in tokens.optional(at, "the"):
        for day, middle in tokens.numbers(start, "ordinal"):
            for offset, after in _which_month(tokens, middle):
                yield _in_month(day, offset), after


def _which_month(tokens: Tokens, at: int) -> Iterator[tuple[int | None, int]]:
    """of the month (None: the coming one), of this month (0), of next month (1)."""
    for _, start in tokens.match(at, "of"):
        for after_the in tokens.optional(start, "the"):
            yield from this_or_next(tokens, after_the, "month")
            yield from ((None, end) for period, end in tokens.match(after_the, "period") if period == "month")


def _in_month(day: int, offset: int | None) -> DayExpr:
    """The day of the month `offset` months from now; without a month, of the first month in which it is ahead."""

    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        first = context.today.replace(day=1)
        if not 1 <= day <= 31:
            raise ParseError("invalid_date", gettext("No month has a day %(day)s; the last one is the 31st.", day=day))
        if offset is not None:
            month = plus_months(first, offset)[0]
            return ResolvedDay(day=in_year(month.year, month.month, day))
        for months in range(3):
            month = plus_months(first, months)[0]
            if day <= length_of(month.year, month.month):
                chosen = month.replace(day=day)
                if chosen > context.today or context.ahead(chosen, at):
                    return ResolvedDay(day=chosen)
        raise ParseError(
            "invalid_date", gettext("None of the coming months has a day %(day)s; name the month.", day=day)
        )

    return DayExpr(resolve=resolve, cycle="each month" if offset is None else "never")
