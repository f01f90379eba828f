"""A weekday counted from another day, on Thursday 5 March 2026; Easter is on 5 April."""

from collections.abc import Callable
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]

COUNTED = """
friday before the 15th                  | en_US | 2026-03-13T08:00
the friday before the 15th              | en_US | 2026-03-13T08:00
last friday before the 15th at 9am      | en_US | 2026-03-13T09:00
the second friday before april 1        | en_US | 2026-03-20T08:00
friday after march 20                   | en_US | 2026-03-27T08:00
the next monday after easter            | en_US | 2026-04-06T08:00
second monday after easter              | en_US | 2026-04-13T08:00
friday before christmas 2pm             | en_US | 2026-12-18T14:00
friday before the end of the month      | en_US | 2026-03-27T08:00
friday before next week                 | en_US | 2026-03-06T08:00
monday after tomorrow                   | en_US | 2026-03-09T08:00
9am on the friday before the 15th       | en_US | 2026-03-13T09:00
fridaybeforethe15th9am                  | en_US | 2026-03-13T09:00
the day before the 15th                 | en_US | 2026-03-14T08:00
the day after christmas                 | en_US | 2026-12-26T08:00
Freitag vor dem 15.                     | de_DE | 2026-03-13T08:00
am letzten Freitag vor dem 15. um 9 Uhr | de_DE | 2026-03-13T09:00
der zweite Montag nach Ostern           | de_DE | 2026-04-13T08:00
nächster Montag nach dem 20. März       | de_DE | 2026-03-23T08:00
Freitag vor Weihnachten                 | de_DE | 2026-12-18T08:00
Freitag vor Monatsende                  | de_DE | 2026-03-27T08:00
2 Tage vor dem 15.                      | de_DE | 2026-03-13T08:00
eine Woche vor Heiligabend              | de_DE | 2026-12-17T08:00
der Tag vor dem 15.                     | de_DE | 2026-03-14T08:00
"""


@pytest.mark.parametrize(
    ("phrase", "locale", "expected"),
    [[cell.strip() for cell in row.split("|")] for row in COUNTED.strip().splitlines()],
)
def test_a_weekday_is_counted_from_a_day_that_does_not_count(
    typed: Typed, phrase: str, locale: str, expected: str
) -> None:
    parsed = typed(phrase, locale=locale)
    assert parsed.wall == datetime.fromisoformat(expected)


@pytest.mark.parametrize("phrase", ["friday after the 1st", "1st friday after the 1st"])
def test_the_day_that_it_is_counted_from_may_have_passed_and_may_be_the_next_one(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase)
    assert (parsed.wall, parsed.flags) == (datetime.fromisoformat("2026-03-06T08:00"), ("ambiguous",))
    assert parsed.alternative is not None
    assert parsed.alternative.date() == date(2026, 4, 3)


@pytest.mark.parametrize(("day", "month"), [("2026-03-12", 3), ("2026-03-13", 4), ("2026-03-14", 4)])
def test_once_it_has_passed_it_is_counted_from_the_next_month(typed: Typed, day: str, month: int) -> None:
    parsed = typed("friday before the 15th", now=f"{day}T10:20:00")
    assert parsed.wall is not None
    assert (parsed.wall.month, parsed.wall.weekday(), parsed.flags) == (month, 4, ())


def test_on_every_day_of_four_years_it_is_the_nearest_such_friday_ahead() -> None:
    zone = ZoneInfo("UTC")
    for ordinal in range(date(2026, 1, 1).toordinal(), date(2030, 1, 1).toordinal()):
        day = date.fromordinal(ordinal)
        now = datetime(day.year, day.month, day.day, 12, tzinfo=zone)
        wall = parse("friday before the 15th", now=now, zone="UTC").wall
        assert wall is not None
        assert wall.weekday() == 4
        assert 8 <= wall.day <= 14
        assert 0 < (wall.date() - day).days <= 35


@pytest.mark.parametrize(
    "phrase",
    [
        "last friday after the 1st",
        "next friday before the 15th",
        "friday after next week",
        "friday before",
        "friday before 15",
        "the day before",
        "friday before the 32nd",
        "monday before february 30",
    ],
)
def test_what_names_no_such_day_is_refused(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase).code in {"unrecognised", "invalid_date"}
