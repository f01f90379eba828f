"""Phrases that repeat: daily at 9, every 2 weeks on tuesday 14:00, every month on the 31st, every last friday."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from snoozer.domain.times.clock import Clock, clocks
from snoozer.domain.times.dates import day_numbers, month_days
from snoozer.domain.times.day import Day
from snoozer.domain.times.days import days
from snoozer.domain.times.durations import Span, spans
from snoozer.domain.times.moments import Zone, zones
from snoozer.domain.times.recurrence import Unit, WeekendRule
from snoozer.domain.times.tokens import Tokens
from snoozer.domain.times.weekdays import nth_and_weekday

_UNITS: dict[str, tuple[Unit, int]] = {
    "day": ("day", 1),
    "week": ("week", 1),
    "fortnight": ("week", 2),
    "month": ("month", 1),
    "quarter": ("month", 3),
    "year": ("year", 1),
}


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """A repetition as it was written: what is None or empty was not said. `workdays` stands for the person's own,
    `weekend` for the first day of their weekend; `unclear` is an ordinal that two rhythms could be meant by."""

    unit: Unit
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    workdays: bool = False
    weekend: bool = False
    day: int | None = None
    month: int | None = None
    nth: int | None = None
    unclear: bool = False
    clock: Clock | None = None
    zone: Zone | None = None
    until: Day | None = None
    lasting: Span | None = None
    times: int | None = None
    starting: Day | None = None
    weekend_rule: WeekendRule = "none"

    def at(self, clock: Clock) -> "Repeat":
        """The same at that time, which is no date here, in the part of the day that the rhythm names ("every evening
        at 7")."""
        clock = replace(clock, doubt=())
        part = self.clock.habit if self.clock else None
        return replace(self, clock=clock.within(part) if part and not clock.midnight and not clock.habit else clock)


def repeats(tokens: Tokens, at: int) -> Iterator[tuple[Repeat, int]]:
    """Every repetition that starts here: a rhythm, a time of the day on either side, and limits."""
    for rhythm, end in _rhythms(tokens, at):
        yield from _limited(tokens, rhythm, end)
        for prep in tokens.maybe(end, "prep"):
            for clock, after in clocks(tokens, prep):
                yield from _limited(tokens, rhythm.at(clock), after)
    for clock, end in clocks(tokens, at):
        if clock.lone and _can_be_counted(tokens, end):
            continue
        for prep in tokens.maybe(end, "prep"):
            for rhythm, after in _rhythms(tokens, prep):
                yield from _limited(tokens, rhythm.at(clock), after)


def _can_be_counted(tokens: Tokens, at: int) -> bool:
    """Whether a bare number in front would count these: 9 fridays, but not 9 every friday or 9 on fridays."""
    read = {role for role in ("each_weekday", "workdays", "every", "prep") for _ in tokens.read(at, role)}
    return bool(read) and not read & {"every", "prep"}


def _limited(tokens: Tokens, repeat: Repeat, end: int) -> Iterator[tuple[Repeat, int]]:
    for zone, after in zones(tokens, end):
        yield from _limits(tokens, replace(repeat, zone=zone), after)
    yield from _limits(tokens, repeat, end)


def _limits(tokens: Tokens, repeat: Repeat, end: int) -> Iterator[tuple[Repeat, int]]:
    """At most one of each: until a day, for a span or a number of times, starting on a day, a weekend rule."""
    yield repeat, end
    if repeat.weekend_rule == "none":
        for rule, after in tokens.names(end, "weekend_rule"):
            kept: WeekendRule = "before" if rule == "before" else "after"
            yield from _limits(tokens, replace(repeat, weekend_rule=kept), after)
    if repeat.until is None and repeat.times is None and repeat.lasting is None:
        for _, middle in tokens.read(end, "until"):
            for the in tokens.maybe(middle, "prep", "the"):
                for day, after in days(tokens, the):
                    yield from _limits(tokens, replace(repeat, until=day), after)
        for start in tokens.maybe(end, "lasting"):
            for number, middle in _integers(tokens, start):
                for _, after in tokens.read(middle, "times"):
                    yield from _limits(tokens, replace(repeat, times=number), after)
            for span, after in spans(tokens, start) if start > end else ():
                if span.whole_days and not span.workdays:
                    yield from _limits(tokens, replace(repeat, lasting=span), after)
    if repeat.starting is None:
        for _, middle in tokens.read(end, "starting"):
            for prep in tokens.maybe(middle, "prep"):
                for day, after in days(tokens, prep):
                    yield from _limits(tokens, replace(repeat, starting=day), after)


def _rhythms(tokens: Tokens, at: int) -> Iterator[tuple[Repeat, int]]:
    for _, end in tokens.read(at, "workdays"):
        yield Repeat(unit="week", workdays=True), end
    for weekdays, end in _weekday_list(tokens, at, "each_weekday"):
        yield Repeat(unit="week", weekdays=weekdays), end
    for rhythm, end in tokens.names(at, "rhythm"):
        number, unit = rhythm.split()
        yield from _placed(tokens, *_UNITS[unit], end, factor=int(number))
    for _, middle in tokens.read(at, "every"):
        yield from _every(tokens, middle)
    yield from _in_each_month(tokens, at, every=False)


def _every(tokens: Tokens, at: int) -> Iterator[tuple[Repeat, int]]:
    for number, middle in _intervals(tokens, at):
        for role in ("unit", "period"):
            for unit, end in tokens.names(middle, role):
                if unit in _UNITS:
                    yield from _placed(tokens, *_UNITS[unit], end, factor=number)
    for weekdays, end in _weekday_list(tokens, at, "weekday"):
        yield Repeat(unit="week", weekdays=weekdays), end
    for _, middle in tokens.numbers(at, "other"):
        for weekday, end in tokens.numbers(middle, "weekday"):
            yield Repeat(unit="week", interval=2, weekdays=(weekday,)), end
    for _, end in tokens.read(at, "workday"):
        yield Repeat(unit="week", workdays=True), end
    for _, end in tokens.read(at, "weekend"):
        yield Repeat(unit="week", weekend=True), end
    for part, end in (*tokens.names(at, "part"), *tokens.names(at, "part_of_day")):
        yield Repeat(unit="day", clock=Clock(hour=-1, habit=part)), end
    for month, day, end in month_days(tokens, at):
        yield Repeat(unit="year", month=month, day=day), end
    yield from _in_each_month(tokens, at, every=True)


def _intervals(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """How many units: 3, two, other, second; nothing is one."""
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


def _placed(tokens: Tokens, unit: Unit, size: int, end: int, *, factor: int) -> Iterator[tuple[Repeat, int]]:
    """The rhythm, and where in the week, month or year it falls when that is said."""
    plain = Repeat(unit=unit, interval=size * factor)
    for start in tokens.maybe(end, "prep"):
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
                for _, before_month in tokens.read(middle, "of"):
                    for month, after in tokens.numbers(before_month, "month"):
                        yield replace(plain, month=month, nth=nth, weekdays=(weekday,)), after
    yield plain, end


def _in_each_month(tokens: Tokens, at: int, *, every: bool) -> Iterator[tuple[Repeat, int]]:
    """The 15th of every month, the last friday of each month; behind "every" also of the month, or just the 15th."""
    roles = ("each_month", "the_month") if every else ("each_month",)
    for day, end in _month_days(tokens, at):
        for role in roles:
            yield from ((Repeat(unit="month", day=day), after) for _, after in tokens.read(end, role))
        if every:
            yield Repeat(unit="month", day=day), end
    for nth, weekday, end in nth_and_weekday(tokens, at):
        repeat = Repeat(unit="month", nth=nth, weekdays=(weekday,))
        for role in roles:
            yield from ((repeat, after) for _, after in tokens.read(end, role))
        if every:
            yield replace(repeat, unclear=nth > 1), end


def _month_days(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    """A day of the month; -1 is the last day."""
    yield from day_numbers(tokens, at)
    for _, end in tokens.read(at, "last_day"):
        yield -1, end
    for start in tokens.maybe(at, "the"):
        if tokens.shape(start) == "integer" and len(tokens.text(start)) <= 2 and start > at:
            yield int(tokens.text(start)), start + 1


def _weekday_list(tokens: Tokens, at: int, role: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """One weekday or several: monday, wednesday and friday; monday to wednesday and friday."""
    for some, end in _weekday_range(tokens, at, role):
        for joined in tokens.maybe(end, "and"):
            for more, after in _weekday_list(tokens, joined, role):
                if not set(some) & set(more):
                    yield tuple(sorted((*some, *more))), after
        yield some, end


def _weekday_range(tokens: Tokens, at: int, role: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """monday to friday, mon-fri, or one weekday."""
    for first, end in tokens.numbers(at, role):
        hyphen = (end + 1,) if tokens.text(end) == "-" else ()
        for start in (*hyphen, *(after for _, after in tokens.read(end, "to"))):
            for last, after in tokens.numbers(start, role):
                if last != first:
                    yield tuple(sorted((first + n) % 7 for n in range((last - first) % 7 + 1))), after
        yield (first,), end
