"""English as people type it, from a desk in New York on Thursday 5 March 2026, 10:20. One block for each rule."""

from collections.abc import Callable
from datetime import time

import pytest

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]


def _rows(table: str) -> list[tuple[str, str, str]]:
    """phrase | wall time at the desk | flags"""
    split = ([cell.strip() for cell in row.split("|")] for row in table.strip().splitlines())
    return [(phrase, wall, flags) for phrase, wall, flags in split]


ELAPSED_AND_WALL = """
90 min                          | 2026-03-05T11:50 |
2 hours and 30 minutes          | 2026-03-05T12:50 |
in an hour and a half           | 2026-03-05T11:50 |
half an hour                    | 2026-03-05T10:50 |
an hour from now                | 2026-03-05T11:20 |
forty-five minutes              | 2026-03-05T11:05 |
90s                             | 2026-03-05T10:21:30 |
in 3 days                       | 2026-03-08T10:20 |
1d12h                           | 2026-03-06T22:20 |
a fortnight                     | 2026-03-19T10:20 |
6mo                             | 2026-09-05T10:20 |
in 3 days at 9am                | 2026-03-08T09:00 |
3 business days                 | 2026-03-10T10:20 |
in 3 weekdays                   | 2026-03-10T10:20 |
2 weekdays                      | 2026-03-09T10:20 |
in 10 years                     | 2036-03-05T10:20 |
in 1 minute                     | 2026-03-05T10:21 |
"""

USUAL_HOURS = """
tmrw                            | 2026-03-06T08:00 |
day after tomorrow              | 2026-03-07T08:00 |
tomorrow eod                    | 2026-03-06T17:00 |
end of week                     | 2026-03-06T17:00 |
end of next week                | 2026-03-13T17:00 |
end of april                    | 2026-04-30T17:00 |
eoy                             | 2026-12-31T17:00 |
start of next month             | 2026-04-01T08:00 |
last day of the month           | 2026-03-31T08:00 |
this afternoon                  | 2026-03-05T13:00 |
in the morning                  | 2026-03-06T08:00 |
next business day 10am          | 2026-03-06T10:00 |
next quarter                    | 2026-04-01T08:00 |
next year                       | 2027-01-01T08:00 |
week after next                 | 2026-03-16T08:00 |
"""

WEEKDAYS = """
tues                            | 2026-03-10T08:00 |
this friday                     | 2026-03-06T08:00 |
next sunday                     | 2026-03-15T08:00 | ambiguous
next monday                     | 2026-03-09T08:00 |
next thursday 6pm               | 2026-03-12T18:00 |
thursday 9am                    | 2026-03-12T09:00 |
thursday evening                | 2026-03-05T18:00 | ambiguous
friday next week                | 2026-03-13T08:00 |
next week on tuesday at 3pm     | 2026-03-10T15:00 |
friday week                     | 2026-03-13T08:00 |
last friday of march            | 2026-03-27T08:00 |
2nd tuesday of next month       | 2026-04-14T08:00 |
first thursday of march         | 2027-03-04T08:00 | next_year
friday the 13th                 | 2026-03-13T08:00 |
Friday 6 March, 08:00           | 2026-03-06T08:00 |
2 days before mar 20            | 2026-03-18T08:00 |
a week from march 5             | 2026-03-12T08:00 |
2 days after march 4            | 2026-03-06T08:00 |
2 days after the 5th            | 2026-03-07T08:00 |
2 business days after the 4th   | 2026-03-06T08:00 |
1 month after feb 6             | 2026-03-06T08:00 |
a month after the 20th          | 2026-04-20T08:00 |
a year after may 3              | 2027-05-03T08:00 |
a week after 1st monday of march | 2026-03-09T08:00 |
2 days after jan 3              | 2027-01-05T08:00 | next_year
2 days before mar 6             | 2027-03-04T08:00 | next_year
a week after friday march 6     | 2026-03-13T08:00 |
"""

CLOCKS = """
9.30                            | 2026-03-06T09:30 | assumed_meridiem
3:30                            | 2026-03-05T15:30 | assumed_meridiem
03:30                           | 2026-03-06T03:30 |
half past 3                     | 2026-03-05T15:30 | ambiguous assumed_meridiem
quarter to 5                    | 2026-03-05T16:45 | ambiguous assumed_meridiem
12                              | 2026-03-05T12:00 | assumed_meridiem
12am                            | 2026-03-06T00:00 |
noon                            | 2026-03-05T12:00 |
9 a.m.                          | 2026-03-06T09:00 |
nine o'clock                    | 2026-03-06T09:00 | assumed_meridiem
tonight at 9                    | 2026-03-05T21:00 |
8 tonight                       | 2026-03-05T20:00 |
tomorrow morning at 9am         | 2026-03-06T09:00 |
friday at 3 in the afternoon    | 2026-03-06T15:00 |
midnight tonight                | 2026-03-06T00:00 |
mon at 9                        | 2026-03-09T09:00 | assumed_meridiem
at 9 on monday                  | 2026-03-09T09:00 | assumed_meridiem
3pm on friday                   | 2026-03-06T15:00 |
at 9 day after tomorrow         | 2026-03-07T09:00 | assumed_meridiem
a day after tomorrow            | 2026-03-07T08:00 |
9 days after tomorrow           | 2026-03-15T08:00 |
2026-03-20 9:30                 | 2026-03-20T09:30 |
"""

DATES = """
may 5th                         | 2026-05-05T08:00 |
5th of may 2027                 | 2027-05-05T08:00 |
the 15th                        | 2026-03-15T08:00 |
the 3rd at 9am                  | 2026-04-03T09:00 |
15.3.                           | 2026-03-15T08:00 |
15.03.2027 14:00                | 2027-03-15T14:00 |
13/4                            | 2026-04-13T08:00 |
3/4/2027                        | 2027-03-04T08:00 | ambiguous
4/3/2026                        | 2026-04-03T08:00 |
12/25 2027                      | 2027-12-25T08:00 |
12/25 1730                      | 2026-12-25T17:30 |
21-mar-2027                     | 2027-03-21T08:00 |
mar 20 1730                     | 2026-03-20T17:30 |
march 3 next year               | 2027-03-03T08:00 |
20260320                        | 2026-03-20T08:00 |
fri 3/4                         | 2026-04-03T08:00 |
2/29                            | 2028-02-29T08:00 | next_year
"""

ZONES = """
Sat 10pm Europe/Berlin          | 2026-03-07T16:00 |
10am UTC+2                      | 2026-03-06T03:00 |
10am -05:00                     | 2026-03-06T10:00 |
10am japan                      | 2026-03-05T20:00 |
20260320T140500Z                | 2026-03-20T10:05 |
2026-03-12T18:00-04:00          | 2026-03-12T18:00 |
10am est5edt                    | 2026-03-06T10:00 |
tomorrow 10am CST6CDT           | 2026-03-06T11:00 |
10am GB                         | 2026-03-06T05:00 |
10am NZ                         | 2026-03-05T16:00 |
10am UCT                        | 2026-03-06T05:00 |
"""

WITHOUT_SPACES = """
nextmonday                      | 2026-03-09T08:00 |
inaweek                         | 2026-03-12T10:20 |
endofmonth                      | 2026-03-31T17:00 |
tomorrow9ameurope/london        | 2026-03-06T04:00 |
21mar20279am                    | 2027-03-21T09:00 |
mar202027                       | 2027-03-20T08:00 |
mar32027                        | 2027-03-03T08:00 |
mar2020279am                    | 2027-03-20T09:00 |
day-after-tomorrow              | 2026-03-07T08:00 |
3difnoreply                     | 2026-03-08T10:20 |
"""


@pytest.mark.parametrize(
    ("phrase", "wall", "flags"),
    [
        row
        for table in (ELAPSED_AND_WALL, USUAL_HOURS, WEEKDAYS, CLOCKS, DATES, ZONES, WITHOUT_SPACES)
        for row in _rows(table)
    ],
)
def test_english_phrases_give_the_expected_time(typed: Typed, phrase: str, wall: str, flags: str) -> None:
    parsed = typed(phrase)
    assert parsed.at is not None
    assert (parsed.at.replace(tzinfo=None).isoformat().removesuffix(":00"), " ".join(parsed.flags)) == (wall, flags)


def test_three_hours_before_midnight_there_is_no_later_today(typed: Typed, error_of: ErrorOf) -> None:
    assert typed("later today", now="2026-03-05T20:45:00").at is not None
    assert error_of("later today", now="2026-03-05T20:45:01").code == "no_later_today"


def test_a_bare_weekday_is_never_today(typed: Typed) -> None:
    early_on_monday = {"now": "2026-03-09T06:00:00"}
    assert str(typed("monday", **early_on_monday).at) == "2026-03-16 08:00:00-04:00"
    assert str(typed("monday 8am", **early_on_monday).at) == "2026-03-09 08:00:00-04:00"


def test_the_end_of_a_period_that_is_over_is_the_next_one(typed: Typed) -> None:
    late = {"now": "2026-03-31T17:00:00"}
    assert [str(typed(phrase, **late).at) for phrase in ("eod", "end of month", "end of quarter")] == [
        "2026-04-01 17:00:00-04:00",
        "2026-04-30 17:00:00-04:00",
        "2026-06-30 17:00:00-04:00",
    ]


def test_an_hour_that_comes_twice_is_the_first(typed: Typed) -> None:
    parsed = typed("sunday 1:30am", now="2026-10-30T16:40:00")
    assert (str(parsed.at), parsed.flags) == ("2026-11-01 01:30:00-04:00", ("dst_overlap",))


def test_half_an_hour_across_the_turned_back_hour_lies_ahead(typed: Typed) -> None:
    """The clock shows an earlier time after it, and the two still compare as instants."""
    parsed, later = (
        typed("in 30 minutes", now="2026-11-01T01:50:00"),
        typed("in 90 minutes", now="2026-11-01T01:50:00"),
    )
    assert (str(parsed.at), str(later.at)) == ("2026-11-01 01:20:00-05:00", "2026-11-01 02:20:00-05:00")


def test_tomorrow_in_another_zone_is_the_persons_tomorrow_and_ambiguous(typed: Typed) -> None:
    parsed = typed("tomorrow 9am Europe/London", now="2026-03-05T20:20:00")
    assert (str(parsed.at), parsed.zone, str(parsed.wall)) == (
        "2026-03-06 04:00:00-05:00",
        "Europe/London",
        "2026-03-06 09:00:00",
    )
    assert (parsed.flags, str(parsed.alternative)) == (("ambiguous",), "2026-03-07 04:00:00-05:00")


def test_a_day_that_one_of_two_calendars_lacks_is_that_of_the_other(typed: Typed) -> None:
    parsed = typed("the 31st of this month 9pm America/New_York", now="2026-03-01T08:00:00", zone="Asia/Tokyo")
    assert (str(parsed.at), parsed.alternative) == ("2026-04-01 10:00:00+09:00", None)


def test_a_persons_own_hours_replace_the_defaults(typed: Typed) -> None:
    own = WorkingHours(morning=time(6, 30), work_end=time(15), workdays=(6, 0, 1, 2, 3), week_start=6)
    at = {phrase: str(typed(phrase, hours=own).at)[:16] for phrase in ("tomorrow", "eod", "weekend", "next week")}
    assert at == {
        "tomorrow": "2026-03-06 06:30",
        "eod": "2026-03-05 15:00",
        "weekend": "2026-03-06 06:30",
        "next week": "2026-03-08 06:30",
    }


def test_a_country_decides_the_order_and_the_clock(typed: Typed) -> None:
    assert str(typed("3/4/2027", locale="en_GB").at)[:10] == "2027-04-03"
    assert str(typed("3/4/2027", locale="fr_FR").at)[:10] == "2027-04-03"
    assert str(typed("tomorrow at 8.10", locale="en_GB").at)[:16] == "2026-03-06 08:10"
    assert str(typed("3/4/2027", locale="nonsense").at)[:10] == "2027-03-04"
    assert [typed("at 3", locale=locale).flags for locale in ("en_GB", "en_IN", "en_AU", "en-us")] == [
        ("assumed_meridiem",),
        ("assumed_meridiem",),
        ("assumed_meridiem",),
        ("assumed_meridiem",),
    ]
    assert [typed("at 9", locale=locale).flags for locale in ("en_GB", "de_DE", "en_US")] == [
        (),
        (),
        ("assumed_meridiem",),
    ]
