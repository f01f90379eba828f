"""Days named by their place in a week, month, quarter or year: next week, end of month, this weekend."""

from collections.abc import Iterator
from datetime import date, time, timedelta

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import years
from snoozer.timephrase.day import Choose, Chosen, Day, length_of, plus_months
from snoozer.timephrase.lexer import Tokens


def periods(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """Every day that starts here and is named by a period."""
    for start in tokens.maybe(at, "the"):
        for _, middle in tokens.read(start, "next"):
            for period, end in tokens.names(middle, "period"):
                yield Day(choose=_first_of(period, 1)), end
            for _, end in tokens.read(middle, "weekend"):
                yield Day(choose=_weekend(1)), end
            for _, end in tokens.read(middle, "workday"):
                yield Day(choose=_next_workday, usual="work_start"), end
        for _, middle in tokens.read(start, "this"):
            for _, end in tokens.read(middle, "weekend"):
                yield Day(choose=_weekend(0)), end
        for _, end in tokens.read(start, "weekend"):
            yield Day(choose=_coming_weekend), end
    for period, end in tokens.names(at, "beyond"):
        yield Day(choose=_first_of(period, 2)), end
    yield from _edges(tokens, at)


def _start(period: str, vantage: ParseContext, ahead: int) -> date:
    """The first day of the period that many periods from now."""
    today = vantage.today
    if period == "week":
        return vantage.week_of(today) + timedelta(days=7 * ahead)
    months = {"month": 1, "quarter": 3, "year": 12}[period]
    first = today.replace(day=1, month=(today.month - 1) // months * months + 1)
    return plus_months(first, ahead * months)[0]


def _opening(period: str, vantage: ParseContext, ahead: int) -> date:
    """The day on which it begins for a person: of a week the first working day."""
    first = _start(period, vantage, ahead)
    while period == "week" and first.weekday() not in vantage.habits.workdays:
        first += timedelta(days=1)
    return first


def _end(period: str, vantage: ParseContext, ahead: int) -> date:
    """The last day of it; of a week the last working day."""
    last = _start(period, vantage, ahead + 1) - timedelta(days=1)
    while period == "week" and last.weekday() not in vantage.habits.workdays:
        last -= timedelta(days=1)
    return last


def _first_of(period: str, ahead: int) -> Choose:
    return lambda vantage, at, named: Chosen(day=_opening(period, vantage, ahead))


def _weekend(weeks: int) -> Choose:
    """The weekend of this calendar week, or of the next."""

    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        first = vantage.week_of(vantage.today) + timedelta(days=7 * weeks - 1)
        return Chosen(day=vantage.coming(vantage.habits.weekend, after=first))

    return choose


def _coming_weekend(vantage: ParseContext, at: time, named: bool) -> Chosen:
    return Chosen(day=vantage.coming(vantage.habits.weekend, after=vantage.today))


def _next_workday(vantage: ParseContext, at: time, named: bool) -> Chosen:
    day = vantage.today + timedelta(days=1)
    while day.weekday() not in vantage.habits.workdays:
        day += timedelta(days=1)
    return Chosen(day=day)


def _edges(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """end of month, eom, start of next week, end of april."""
    for period, end in tokens.names(at, "end_of"):
        if period != "day":
            yield Day(choose=_edge(period, None, last=True), usual="work_end"), end
    for role, last in (("end", True), ("start", False), ("last_day", True), ("first_day", False)):
        usual = "work_end" if role == "end" else "morning"
        for middle in _behind(tokens, at, role):
            for ahead, start in _which(tokens, middle):
                for period, end in tokens.names(start, "period"):
                    yield Day(choose=_edge(period, ahead, last=last), usual=usual), end
            for period, end in tokens.names(middle, "beyond"):
                yield Day(choose=_edge(period, 2, last=last), usual=usual), end
            for month, end in tokens.numbers(middle, "month"):
                for year, after in years(tokens, end):
                    yield Day(choose=_edge_of_month(month, year, last=last), usual=usual, relative=False), after
                yield Day(choose=_edge_of_month(month, None, last=last), usual=usual, relative=False), end


def _behind(tokens: Tokens, at: int, role: str) -> Iterator[int]:
    """Behind "end of", or behind "last day" and its "of the"."""
    for _, end in tokens.read(at, role):
        if role in ("end", "start"):
            yield end
        else:
            for _, after in tokens.read(end, "of"):
                yield from tokens.maybe(after, "the")


def _which(tokens: Tokens, at: int) -> Iterator[tuple[int | None, int]]:
    """this (0), next (1) or nothing (None: the coming one)."""
    for _, end in tokens.read(at, "this"):
        yield 0, end
    for _, end in tokens.read(at, "next"):
        yield 1, end
    yield None, at


def _edge(period: str, ahead: int | None, *, last: bool) -> Choose:
    """The first or last day of a period; without "this" or "next" the coming one that is still ahead."""

    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        edge = _end if last else _opening
        if ahead is not None:
            return Chosen(day=edge(period, vantage, ahead))
        day = edge(period, vantage, 0)
        still_ahead = day > vantage.today or vantage.ahead(day, at)
        return Chosen(day=day if still_ahead else edge(period, vantage, 1))

    return choose


def _edge_of_month(month: int, year: int | None, *, last: bool) -> Choose:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        this_year = vantage.today.year
        for candidate in (this_year, this_year + 1) if year is None else (year,):
            length = length_of(candidate, month)
            day = date(candidate, month, length if last else 1)
            if year is not None or day > vantage.today or vantage.ahead(day, at):
                break
        flags = frozenset({"next_year"} if year is None and day.year > this_year else ())
        return Chosen(day=day, flags=flags)

    return choose
