"""Every way to name a day, and days counted from another day: tomorrow, a week from friday, 2 days before mar 20."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import dates
from snoozer.timephrase.day import Choose, Chosen, Day
from snoozer.timephrase.duration_expr import Span, spans
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.period_expr import periods
from snoozer.timephrase.weekday_expr import weekdays

_ONE_DAY = timedelta(days=1)
_LATELY = timedelta(days=7)
_MOST_TRIES = 4


def days(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """Every day that starts here."""
    yield from _counted(tokens, at)
    for day, end in _plain(tokens, at):
        yield from _hence(tokens, day, end)
        yield day, end
    for span, end in spans(tokens, at):
        if span.whole_days:
            yield Day(choose=_from_today(span), takes_bare=False, needs_clock=True), end


def _plain(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    for number, end in tokens.numbers(at, "day"):
        yield Day(choose=_from_today(Span(days=number))), end
    yield from dates(tokens, at)
    yield from weekdays(tokens, at)
    yield from periods(tokens, at)


def _from_today(span: Span) -> Choose:
    return lambda vantage, at, named: span.from_date(vantage.today, vantage.habits.workdays)


def _counted(tokens: Tokens, at: int) -> Iterator[tuple[Day, int]]:
    """a week from friday, 2 days after tomorrow, 3 days before mar 20."""
    for span, middle in spans(tokens, at):
        # "9 day after tomorrow" is 9 o'clock on the day after tomorrow.
        of_a_day = span.days != 1 and any(end > middle for _, end in tokens.numbers(at + 1, "day"))
        if span.whole_days and not of_a_day:
            for sign, start in tokens.numbers(middle, "from"):
                for day, end in _plain(tokens, start):
                    yield _shifted(day, span, sign), end


def _hence(tokens: Tokens, day: Day, end: int) -> Iterator[tuple[Day, int]]:
    """German counts from the day forwards: Montag in zwei Wochen."""
    for _, start in tokens.read(end, "hence"):
        for span, after in spans(tokens, start):
            if span.units == {"week"}:
                yield _shifted(day, span, 1), after


def _shifted(day: Day, span: Span, sign: int) -> Day:
    def choose(vantage: ParseContext, at: time, named: bool) -> Chosen:
        base = _counted_from(day, span, sign, vantage, at) if day.returns != "never" else day.choose(vantage, at, False)
        moved = span.from_date(base.day, vantage.habits.workdays, sign=sign)
        other = span.from_date(base.other, vantage.habits.workdays, sign=sign).day if base.other else None
        return Chosen(day=moved.day, flags=base.flags | moved.flags, other=other)

    return Day(choose=choose, usual=day.usual, takes_bare=False, relative=day.relative)


def _counted_from(day: Day, span: Span, sign: int, vantage: ParseContext, at: time) -> Chosen:
    """The first such day from which the counted one lies ahead. Itself it may have passed, earlier in this month or
    year or within the last days."""
    workdays = vantage.habits.workdays
    began = vantage.today.replace(day=1) if day.returns == "each month" else vantage.today.replace(month=1, day=1)
    seen = min(began, vantage.today - _LATELY)
    for _ in range(_MOST_TRIES):
        chosen = day.choose(_as_of(seen, vantage), at, False)
        if vantage.ahead(span.from_date(chosen.day, workdays, sign=sign).day, at):
            break
        seen = chosen.day + _ONE_DAY
    again = chosen.day.year > vantage.today.year
    return replace(chosen, flags=chosen.flags if again else chosen.flags - {"next_year"})


def _as_of(day: date, vantage: ParseContext) -> ParseContext:
    """The same desk when that day began."""
    return replace(vantage, today=day, now=vantage.instant(day, time())[0])


def today() -> Day:
    """The person's own day."""
    return Day(choose=lambda vantage, at, named: Chosen(day=vantage.today))
