"""Recurrences do not drift: ten years of each are compared with python-dateutil's rrule."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import DAILY, FR, MO, MONTHLY, TH, TU, WEEKLY, YEARLY, rrule
from hypothesis import given
from hypothesis import strategies as st

from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.result import ParsedTime

Typed = Callable[..., ParsedTime]
ZONE = "America/New_York"
START = datetime(2026, 3, 6, 9)  # noqa: DTZ001 - rrule counts in wall time
END = START + timedelta(days=3653)


def _ten_years(recurrence: Recurrence, zone: str) -> list[datetime]:
    """The wall times of every occurrence of ten years, each found from the one before."""
    found, after = [], datetime(2026, 3, 5, tzinfo=UTC)
    while (after_that := next_occurrence(recurrence, after=after, zone=zone)) is not None:
        after = after_that
        if after.replace(tzinfo=None) > END:
            break
        found.append(after.replace(tzinfo=None))
    return found


@pytest.mark.parametrize(
    ("phrase", "rule"),
    [
        ("every day 9am", rrule(DAILY, dtstart=START, until=END)),
        ("every 3 days 9am starting mar 6", rrule(DAILY, interval=3, dtstart=START, until=END)),
        ("every weekday 9am", rrule(WEEKLY, byweekday=range(5), dtstart=START, until=END)),
        (
            "every 2 weeks on tuesday 9am",
            rrule(WEEKLY, interval=2, byweekday=TU, dtstart=START + timedelta(days=4), until=END),
        ),
        (
            "every 3 weeks on monday and friday 9am",
            rrule(WEEKLY, interval=3, byweekday=(MO, FR), dtstart=START, until=END, wkst=MO),
        ),
        ("every month on the 15th 9am", rrule(MONTHLY, bymonthday=15, dtstart=START, until=END)),
        (
            "every month on the 31st 9am",
            rrule(MONTHLY, bymonthday=(28, 29, 30, 31), bysetpos=-1, dtstart=START, until=END),
        ),
        ("every month on the last day 9am", rrule(MONTHLY, bymonthday=-1, dtstart=START, until=END)),
        ("every first monday 9am", rrule(MONTHLY, byweekday=MO(1), dtstart=START, until=END)),
        ("every 5th thursday of the month 9am", rrule(MONTHLY, byweekday=TH(5), dtstart=START, until=END)),
        ("every last friday 9am", rrule(MONTHLY, byweekday=FR(-1), dtstart=START, until=END)),
        (
            "quarterly on the 30th 9am",
            rrule(MONTHLY, interval=3, bymonthday=30, dtstart=START + timedelta(days=24), until=END),
        ),
        ("yearly on july 4 9am", rrule(YEARLY, bymonth=7, bymonthday=4, dtstart=START, until=END)),
        (
            "every feb 29 9am",
            rrule(YEARLY, bymonth=2, bymonthday=(28, 29), bysetpos=-1, dtstart=START, until=END),
        ),
        (
            "every monday 9am until 1 june",
            rrule(WEEKLY, byweekday=MO, dtstart=START, until=START.replace(month=6, day=1)),
        ),
        ("every monday 9am for 7 times", rrule(WEEKLY, byweekday=MO, dtstart=START, count=7)),
    ],
)
def test_ten_years_of_occurrences_are_those_of_rrule(typed: Typed, phrase: str, rule: rrule) -> None:
    recurrence = typed(phrase, now="2026-03-05T10:20:00").recurrence
    assert recurrence is not None
    assert _ten_years(recurrence, ZONE) == list(rule)


def test_a_day_without_the_hour_and_a_day_with_two_of_it_fire_once(typed: Typed) -> None:
    recurrence = typed("daily at 2:30am").recurrence
    assert recurrence is not None
    found = _ten_years(recurrence, ZONE)
    days = [moment.date() for moment in found]
    assert len(days) == len(set(days))
    assert {moment.time() for moment in found} == {time(2, 30), time(3, 30)}
    assert sum(moment.time() == time(3, 30) for moment in found) == 10
    twice = typed("daily at 1:30am").recurrence
    assert twice is not None
    assert {moment.time() for moment in _ten_years(twice, ZONE)} == {time(1, 30)}


def test_an_occurrence_on_a_weekend_moves_by_its_weekend_rule(typed: Typed) -> None:
    before = typed("every month on the 15th or the weekday before").recurrence
    after = typed("every month on the 15th or the monday after").recurrence
    assert before is not None
    assert after is not None
    for recurrence, step in ((before, -1), (after, 1)):
        unmoved = list(rrule(MONTHLY, bymonthday=15, dtstart=START, until=END - timedelta(days=30)))
        moved = []
        for moment in unmoved:
            day = moment.date()
            while day.weekday() > 4:
                day += timedelta(days=step)
            moved.append(day)
        found = [moment.date() for moment in _ten_years(recurrence, ZONE)]
        assert found[: len(moved)] == moved


@pytest.mark.parametrize(
    ("phrase", "first", "flags"),
    [
        ("every day starting march 4", "2027-03-04", ("next_year",)),
        ("every day starting march 5", "2026-03-06", ()),
        ("every day at 9pm starting the 5th", "2026-03-05", ()),
        ("every thursday starting thursday", "2026-03-12", ()),
        ("9 the 15th of every month", "2026-03-15", ("assumed_meridiem",)),
        ("9 on weekdays", "2026-03-06", ("assumed_meridiem",)),
        ("every 2 weeks starting today", "2026-03-19", ()),
        ("every 3 days starting today", "2026-03-08", ()),
        ("every 3 days at 9pm starting today", "2026-03-05", ()),
        ("every 2 weeks on tuesday starting today", "2026-03-10", ()),
        ("every 2 weeks on thursday starting today", "2026-03-19", ()),
        ("every 2 months starting today", "2026-05-05", ()),
    ],
)
def test_a_start_day_is_a_date_with_a_flag_when_it_is_next_year(
    typed: Typed, phrase: str, first: str, flags: tuple[str, ...]
) -> None:
    parsed = typed(phrase)
    assert (str(parsed.at)[:10], parsed.flags) == (first, flags)


@pytest.mark.parametrize(
    ("phrase", "weekdays", "locale"),
    [
        ("every mon-fri", (0, 1, 2, 3, 4), "en_US"),
        ("every tue-thu 9am", (1, 2, 3), "en_US"),
        ("every sat - mon", (0, 5, 6), "en_US"),
        ("every monday to wednesday and friday", (0, 1, 2, 4), "en_US"),
        ("every monday through friday", (0, 1, 2, 3, 4), "en_US"),
        ("mondays-thursdays", (0, 1, 2, 3), "en_US"),
        ("every monday and friday", (0, 4), "en_US"),
        ("jeden Mo-Fr 9 Uhr", (0, 1, 2, 3, 4), "de_DE"),
        ("montags bis freitags", (0, 1, 2, 3, 4), "de_DE"),
        ("jeden Montag bis 1. Juni", (0,), "de_DE"),
    ],
)
def test_from_one_weekday_to_another_means_those_between(
    typed: Typed, phrase: str, weekdays: tuple[int, ...], locale: str
) -> None:
    recurrence = typed(phrase, locale=locale).recurrence
    assert recurrence is not None
    assert recurrence.weekdays == weekdays


@pytest.mark.parametrize(
    ("phrase", "count", "last"),
    [
        ("every day 5 times or previous weekday", 5, date(2026, 3, 12)),
        ("every day 5 times or next weekday", 5, date(2026, 3, 12)),
        ("every month on the 31st or next weekday until may 31", 2, date(2026, 4, 30)),
        ("every month on the 28th or next weekday until may 31", 3, date(2026, 5, 28)),
    ],
)
def test_moved_days_count_once_and_end_where_they_should(typed: Typed, phrase: str, count: int, last: date) -> None:
    recurrence = typed(phrase).recurrence
    assert recurrence is not None
    dates = list(recurrence.dates())
    assert (len(set(dates)), len(dates), dates[-1]) == (count, count, last)


def test_a_week_of_reminders_is_over_after_a_week(typed: Typed) -> None:
    recurrence = typed("every day at 9am for 1 week").recurrence
    assert recurrence is not None
    assert _ten_years(recurrence, ZONE) == list(rrule(DAILY, dtstart=START, count=7))


def test_a_late_worker_finds_the_next_one_and_not_a_shifted_one(typed: Typed) -> None:
    recurrence = typed("every 2 weeks on tuesday 14:00").recurrence
    assert recurrence is not None
    late = datetime(2031, 8, 20, 3, 17, 5, tzinfo=UTC)
    found = next_occurrence(recurrence, after=late, zone=ZONE)
    assert found is not None
    assert (found.date() - recurrence.start).days % 14 == 0
    assert timedelta(0) < found - late <= timedelta(days=14)


def test_every_evening_names_the_half_of_the_day(typed: Typed) -> None:
    parsed = typed("every evening at 7")
    assert (str(parsed.at), parsed.flags) == ("2026-03-05 19:00:00-05:00", ())


ANY = st.builds(
    Recurrence,
    unit=st.sampled_from(["day", "week", "month", "year"]),
    interval=st.integers(1, 20),
    start=st.dates(date(2024, 1, 1), date(2034, 1, 1)),
    at=st.times(),
    weekdays=st.just((0, 3)),
    day=st.one_of(st.just(-1), st.integers(1, 31)),
    until=st.none() | st.dates(date(2030, 1, 1), date(2040, 1, 1)),
    times=st.none() | st.integers(1, 50),
    weekend_rule=st.sampled_from(["none", "before", "after"]),
)


@given(
    recurrence=ANY,
    after=st.datetimes(datetime(2020, 1, 1), datetime(2044, 1, 1), timezones=st.just(ZoneInfo("Europe/Berlin"))),  # noqa: DTZ001
)
def test_a_stored_recurrence_is_the_same_recurrence(recurrence: Recurrence, after: datetime) -> None:
    restored = Recurrence.from_json(json.loads(json.dumps(recurrence.as_json())))
    assert restored == recurrence
    found = next_occurrence(recurrence, after=after, zone="Asia/Beirut")
    assert found is None or found > after.astimezone(UTC)


@given(recurrence=ANY, skipped=st.integers(0, 60))
def test_a_recurrence_goes_on_after_one_of_its_days_as_it_would_have(recurrence: Recurrence, skipped: int) -> None:
    dates = list(islice(recurrence.dates(), 70))
    if len(dates) <= skipped:
        return
    rest = recurrence.after(dates[skipped])
    assert (list(islice(rest.dates(), 9)) if rest else []) == dates[skipped + 1 : skipped + 10]
