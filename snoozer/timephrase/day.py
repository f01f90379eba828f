"""A day as a phrase names it: which date that is can depend on the time that goes with it."""

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, time
from typing import Literal

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.result import ParseError


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The date, what is to be said about it, and the date it could be as well."""

    day: date
    flags: frozenset[str] = frozenset()
    other: date | None = None


Returns = Literal["never", "each month", "each year"]
Choose = Callable[[ParseContext, time, bool], Chosen]


@dataclass(frozen=True, kw_only=True)
class Day:
    """`choose(vantage, at, named)`: `at` is the clock time it will have, `named` whether the phrase gave one.

    `usual` is the habit that holds when no time is given. A day that `takes_bare` can be followed by a bare hour
    ("tomorrow 9"); after "20 march" a number could be a year. `exact` days (ISO) have 24-hour times in every locale.
    `relative` days depend on what day it is for the person. One that `needs_clock` ("in 3 days") keeps the present
    time of the day when none is given, and is a span then, not a day. One that `returns` comes again
    each year ("march 5") or each month ("the 5th"), as it names neither year nor month itself.
    """

    choose: Choose
    usual: str = "morning"
    takes_bare: bool = True
    exact: bool = False
    relative: bool = True
    needs_clock: bool = False
    returns: Returns = "never"


MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def length_of(year: int, month: int) -> int:
    """How many days the month has. OverflowError behind the end of the calendar."""
    if year > MAXYEAR:
        raise OverflowError(year)
    return monthrange(year, month)[1]


def plus_months(day: date, months: int, *, wanted_day: int | None = None) -> tuple[date, bool]:
    """The date that many months later, and whether it had to be clamped to the month's end."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError(year)
    wanted = wanted_day or day.day
    last = length_of(year, month + 1)
    return date(year, month + 1, min(wanted, last)), wanted > last


def in_year(year: int, month: int, day: int) -> date:
    """That date, or Refused when the calendar has none."""
    try:
        return date(year, month, day)
    except ValueError:
        raise no_such_day(day, month, year) from None


def no_such_day(day: int, month: int, year: int | None = None) -> ParseError:
    if not 1 <= month <= 12:
        return ParseError(
            "invalid_date", f"A year has 12 months, so there is no month {month}; check the order of day and month."
        )
    named = f"{MONTH_NAMES[month - 1]} {year}" if year else MONTH_NAMES[month - 1]
    return ParseError("invalid_date", f"{named} has no day {day}; give a day that the month has.")
