"""Lengths of time: 10m, 2h30m, an hour and a half, 1 week 2 days, 3 business days.

Minutes and hours are elapsed time. Days and longer move the date and keep the clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import ResolvedDay, plus_months
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.time_of_day_expr import is_military
from snoozer.translations import gettext

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "year": 12}
# A little more than ten years: longer durations would only make the arithmetic overflow.
_MAX_MONTHS, _MAX_DAYS = 121, 3700
_HALF = Decimal("0.5")


@dataclass(frozen=True, kw_only=True)
class Duration:
    """Months, days, seconds and working days, which are added apart; `units` are the units that were written."""

    months: int = 0
    days: int = 0
    seconds: Decimal = Decimal(0)
    workdays: int = 0
    units: frozenset[str] = frozenset()

    @property
    def whole_days(self) -> bool:
        """Whether it has no hours, so that a time of day can go with it."""
        return not self.seconds and not self.units & _SECONDS.keys()

    @property
    def is_zero(self) -> bool:
        return not (self.months or self.days or self.seconds or self.workdays)

    def plus(self, other: "Duration") -> "Duration | None":
        """Both together, or None when they repeat a unit or mix in working days."""
        if self.units & other.units or "workday" in self.units | other.units:
            return None
        return Duration(
            months=self.months + other.months,
            days=self.days + other.days,
            seconds=self.seconds + other.seconds,
            units=self.units | other.units,
        )

    def bounded(self) -> "Duration":
        """Itself. Raises ParseError when it reaches beyond ten years."""
        if self.months > _MAX_MONTHS or max(self.days, self.workdays) > _MAX_DAYS or self.seconds > _MAX_DAYS * 86400:
            raise ParseError("too_far", gettext("That is more than ten years away; choose a time within ten years."))
        return self

    def add_to(self, day: date, workdays: tuple[int, ...], *, sign: int = 1) -> ResolvedDay:
        """The date this many months and days (or working days) after a date, or before it."""
        duration = self.bounded()
        moved, clamped = plus_months(day, sign * duration.months)
        moved += timedelta(days=sign * duration.days)
        left = duration.workdays
        while left:
            moved += timedelta(days=sign)
            left -= moved.weekday() in workdays
        return ResolvedDay(day=moved, flags=frozenset({"clamped"} if clamped else ()))

    def after_now(self, context: ParseContext) -> tuple[datetime, frozenset[str]]:
        """The instant (UTC) after this duration: first the date moves, then the hours elapse."""
        duration = self.bounded()
        if duration.is_zero:
            raise ParseError("too_soon", gettext("That is now; choose a time at least one minute away."))
        elapsed = timedelta(seconds=float(duration.seconds))
        if not (duration.months or duration.days or duration.workdays):
            return context.now + elapsed, frozenset()
        chosen = duration.add_to(context.wall.date(), context.hours.workdays)
        instant, flags = context.instant(chosen.day, context.wall.time())
        # Hours that follow a clock change end on a wall time that exists once: no flag of it.
        return instant + elapsed, chosen.flags if elapsed else flags | chosen.flags


@dataclass(frozen=True, kw_only=True)
class RoughDuration:
    """A length of time without a clear number, such as a few hours: the `likely` one, and the `other` to offer."""

    likely: Duration
    other: Duration


def rough_durations(tokens: Tokens, at: int) -> Iterator[tuple[RoughDuration, int]]:
    """Every rough duration that starts here. Nothing can be added to one, and no day counted with it."""
    for minutes, end in tokens.match(at, "rough_minutes"):
        likely, other = (Duration(seconds=Decimal(number) * 60) for number in minutes.split())
        yield RoughDuration(likely=likely, other=other), end


def durations(tokens: Tokens, at: int) -> Iterator[tuple[Duration, int]]:
    """Every duration that starts here, the longest first."""
    for first, end in _parts(tokens, at):
        yield from _continued(tokens, first, end)


def _continued(tokens: Tokens, duration: Duration, end: int) -> Iterator[tuple[Duration, int]]:
    for joined in tokens.optional(end, "and"):
        for more, after in _parts(tokens, joined):
            both = duration.plus(more)
            if both is not None:
                yield from _continued(tokens, both, after)
    yield duration, end


def _parts(tokens: Tokens, at: int) -> Iterator[tuple[Duration, int]]:
    for minutes, end in tokens.numbers(at, "whole_minutes"):
        yield Duration(seconds=Decimal(minutes * 60), units=frozenset({"hour", "minute"})), end
    for months, end in tokens.numbers(at, "whole_months"):
        yield Duration(months=months, units=frozenset({"month", "year"})), end
    yield from _hours_and_minutes(tokens, at)
    for amount, middle, article in _amounts(tokens, at):
        for unit, end in tokens.match(middle, "unit"):
            if article and len(tokens.text(middle)) == 1:
                continue
            if _may_be_a_clock(tokens, at, end, unit):
                continue
            duration = of_unit(amount, unit)
            if duration is None:
                continue
            for _, after in tokens.match(end, "plus_half") if unit == "hour" else ():
                yield replace(duration, seconds=duration.seconds + 1800, units=duration.units | {"minute"}), after
            yield duration, end
        for _, end in tokens.match(middle, "workday"):
            if amount == int(amount):
                yield Duration(workdays=int(amount), units=frozenset({"workday"})), end


def _hours_and_minutes(tokens: Tokens, at: int) -> Iterator[tuple[Duration, int]]:
    """1h30 after a word such as "in"; alone it could be half past one."""
    integers = tokens.shape(at) == tokens.shape(at + 2) == "integer" and len(tokens.text(at + 2)) == 2
    if tokens.says(at) != "length" or not integers or not tokens.touching(at + 1):
        return
    for _, end in tokens.match(at + 1, "hour_mark"):
        seconds = Decimal(int(tokens.text(at)) * 3600 + int(tokens.text(at + 2)) * 60)
        if int(tokens.text(at + 2)) < 60:
            yield Duration(seconds=seconds, units=frozenset({"hour", "minute"})), end + 1


def _may_be_a_clock(tokens: Tokens, at: int, end: int, unit: str) -> bool:
    """Whether a number of hours is a time of the day to some: 1800 hours without "in", 8.30 h. 1.25 hours is not."""
    if tokens.shape(at) == "dotted" and end > at + 1:
        minutes = tokens.text(at).split(".")[1]
        marked = any(after == end for _, after in tokens.match(end - 1, "hour_mark"))
        return int(minutes) < 60 and (minutes not in ("00", "25", "50") or (marked and tokens.says(at) != "length"))
    return unit == "hour" and is_military(tokens, at)


def _amounts(tokens: Tokens, at: int) -> Iterator[tuple[Decimal, int, bool]]:
    for value, end in tokens.numbers(at, "amount"):
        yield Decimal(value), end, True
    for amount, end in figures(tokens, at):
        for _, after in tokens.match(end, "plus_half"):
            yield amount + _HALF, after, False
        yield amount, end, False


def figures(tokens: Tokens, at: int) -> Iterator[tuple[Decimal, int]]:
    """Every number that starts here, in figures or in words."""
    if tokens.shape(at) in ("integer", "decimal", "dotted"):
        yield Decimal(tokens.text(at).replace(",", ".")), at + 1
    for number, end in tokens.numbers(at, "number"):
        yield Decimal(number), end


def of_unit(amount: Decimal, unit: str) -> Duration | None:
    """That many units. A fraction of a day has no clear hour, so only hours and minutes may have one."""
    if amount != int(amount) and unit not in ("hour", "minute"):
        return None
    units = frozenset({unit})
    if unit in _SECONDS:
        return Duration(seconds=amount * _SECONDS[unit], units=units)
    if unit in _DAYS:
        return Duration(days=int(amount) * _DAYS[unit], units=units)
    return Duration(months=int(amount) * _MONTHS[unit], units=units)
