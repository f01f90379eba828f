"""What a person does to a series keeps its hour, its rhythm and its number of times."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.parse import parse_end
from snoozer.timephrase.recurrence import Recurrence, next_occurrence, shift_zone
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.series import SeriesError, ending, is_occurrence, moved, present, rest

BERLIN = "Europe/Berlin"
MONDAY = date(2026, 3, 2)
WEEKLY = Recurrence(unit="week", interval=1, start=MONDAY, at=time(9), weekdays=(0,))
DAILY = Recurrence(unit="day", interval=1, start=MONDAY, at=time(9))


def clock(text: str) -> datetime:
    return datetime.fromisoformat(text)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)


def following(series: Recurrence | None, after: datetime, number: int = 3) -> list[str]:
    found: list[str] = []
    while series is not None and len(found) < number:
        one = next_occurrence(series, after=after, zone=BERLIN)
        if one is None:
            break
        after = one
        found.append(f"{one:%Y-%m-%dT%H:%M}")
    return found


def test_an_occurrence_that_was_moved_forward_does_not_come_again_at_its_old_time() -> None:
    left = rest(WEEKLY, at("2026-03-09T09:00"), BERLIN)
    assert following(left, at("2026-03-08T18:00"), 2) == ["2026-03-16T09:00", "2026-03-23T09:00"]


def test_moving_a_moved_occurrence_again_takes_no_second_one_out() -> None:
    left = rest(WEEKLY, at("2026-03-09T09:00"), BERLIN)
    assert left is not None
    assert not is_occurrence(left, at("2026-03-08T18:00"), BERLIN)
    assert rest(left, at("2026-03-08T18:00"), BERLIN) == left


def test_a_series_of_three_times_has_two_left_after_one_was_taken_out() -> None:
    three = Recurrence(unit="day", interval=1, start=MONDAY, at=time(9), times=3)
    left = rest(three, at("2026-03-02T09:00"), BERLIN)
    assert following(left, at("2026-03-02T18:00"), 9) == ["2026-03-03T09:00", "2026-03-04T09:00"]
    last = rest(three, at("2026-03-04T09:00"), BERLIN)
    assert last is None


@pytest.mark.parametrize(
    ("series", "promise", "wall", "expected"),
    [
        (WEEKLY, "2026-03-09T09:00", "2026-03-13T14:00", ["2026-03-13T14:00", "2026-03-20T14:00", "2026-03-27T14:00"]),
        (DAILY, "2026-03-09T09:00", "2026-03-10T07:30", ["2026-03-10T07:30", "2026-03-11T07:30", "2026-03-12T07:30"]),
        (
            Recurrence(unit="week", interval=2, start=MONDAY, at=time(9), weekdays=(0, 2)),
            "2026-03-04T09:00",
            "2026-03-05T09:00",
            ["2026-03-05T09:00", "2026-03-16T09:00", "2026-03-19T09:00"],
        ),
        (
            Recurrence(unit="month", interval=1, start=date(2026, 1, 31), at=time(9), day=31),
            "2026-03-31T09:00",
            "2026-03-30T09:00",
            ["2026-03-30T09:00", "2026-04-30T09:00", "2026-05-30T09:00"],
        ),
        (
            Recurrence(unit="month", interval=1, start=date(2026, 1, 31), at=time(9), day=-1),
            "2026-02-28T09:00",
            "2026-02-28T16:00",
            ["2026-02-28T16:00", "2026-03-31T16:00", "2026-04-30T16:00"],
        ),
        (
            Recurrence(unit="month", interval=1, start=date(2026, 1, 30), at=time(9), nth=-1, weekdays=(4,)),
            "2026-03-27T09:00",
            "2026-03-26T09:00",
            ["2026-03-26T09:00", "2026-04-30T09:00", "2026-05-28T09:00"],
        ),
        (
            Recurrence(unit="year", interval=1, start=date(2024, 2, 29), at=time(9), day=29, month=2),
            "2026-02-28T09:00",
            "2026-03-01T09:00",
            ["2026-03-01T09:00", "2027-03-01T09:00", "2028-03-01T09:00"],
        ),
        (
            Recurrence(unit="day", interval=1, start=MONDAY, at=time(9), weekend_rule="after"),
            "2026-03-06T09:00",
            "2026-03-07T10:00",
            ["2026-03-07T10:00", "2026-03-08T10:00", "2026-03-09T10:00"],
        ),
        (DAILY, "2026-03-28T09:00", "2026-03-28T02:30", ["2026-03-28T02:30", "2026-03-29T03:30", "2026-03-30T02:30"]),
    ],
    ids=["weekly", "daily", "two-days-a-week", "clamped", "last-day", "last-friday", "leap-day", "weekend", "gap"],
)
def test_every_occurrence_goes_where_this_one_goes(
    series: Recurrence, promise: str, wall: str, expected: list[str]
) -> None:
    new = moved(series, at(promise), BERLIN, wall=clock(wall))
    assert following(new, at(expected[0]) - timedelta(minutes=1)) == expected


def test_moving_every_one_keeps_how_many_are_left() -> None:
    three = Recurrence(unit="day", interval=1, start=MONDAY, at=time(9), times=3)
    new = moved(three, at("2026-03-03T09:00"), BERLIN, wall=clock("2026-03-05T14:00"))
    assert following(new, at("2026-03-01T09:00"), 9) == ["2026-03-05T14:00", "2026-03-06T14:00"]


def test_every_one_is_not_moved_beyond_the_end() -> None:
    with pytest.raises(SeriesError, match="ends before that"):
        moved(ended(until=date(2026, 3, 10)), at("2026-03-09T09:00"), BERLIN, wall=clock("2026-03-11T09:00"))


def ended(*, until: date | None = None, times: int | None = None) -> Recurrence:
    found = ending(WEEKLY, at("2026-03-09T09:00"), BERLIN, until=until, times=times)
    assert found is not None
    return found


def test_an_end_counts_from_the_promised_occurrence_and_can_be_taken_away() -> None:
    before = at("2026-03-08T09:00")
    assert following(ended(times=2), before, 9) == ["2026-03-09T09:00", "2026-03-16T09:00"]
    assert following(ended(until=date(2026, 3, 16)), before, 9) == ["2026-03-09T09:00", "2026-03-16T09:00"]
    again = ending(ended(times=2), at("2026-03-16T09:00"), BERLIN)
    assert following(again, before, 3) == ["2026-03-16T09:00", "2026-03-23T09:00", "2026-03-30T09:00"]


def test_an_end_of_a_moved_occurrence_counts_it_too() -> None:
    left = rest(WEEKLY, at("2026-03-09T09:00"), BERLIN)
    assert left is not None
    promise = at("2026-03-08T18:00")
    assert ending(left, promise, BERLIN, times=1) is None
    assert ending(left, promise, BERLIN, until=date(2026, 3, 12)) is None
    assert following(ending(left, promise, BERLIN, times=2), promise, 9) == ["2026-03-16T09:00"]


def test_an_end_before_the_next_time_is_refused() -> None:
    with pytest.raises(SeriesError, match="cancel it"):
        ended(until=date(2026, 3, 8))


def test_a_moved_occurrence_moves_alone_with_its_person_and_not_back_by_the_clock() -> None:
    promise = at("2026-03-09T14:00")
    left = rest(WEEKLY, at("2026-03-09T09:00"), BERLIN)
    wall = clock("2026-03-09T14:00")
    assert shift_zone(promise, wall=wall, zone=BERLIN, to=BERLIN, recurrence=left) == promise
    there = shift_zone(promise, wall=wall, zone=BERLIN, to="America/New_York", recurrence=left)
    assert there is not None
    assert there.isoformat() == "2026-03-09T14:00:00-04:00"
    # A later occurrence ignores the wall time, which is of one that is over.
    assert shift_zone(at("2026-03-16T09:00"), wall=wall, zone=BERLIN, to=BERLIN, recurrence=left) is not None


def test_the_present_occurrence_belongs_to_what_is_left_from_it_on() -> None:
    assert following(present(WEEKLY, at("2026-03-16T09:00"), BERLIN), at("2026-03-01T09:00"), 1) == ["2026-03-16T09:00"]


NOW = datetime(2026, 11, 24, 10, 20, tzinfo=ZoneInfo(BERLIN))


@pytest.mark.parametrize(
    ("phrase", "locale", "expected"),
    [
        ("until 24 December", "en_GB", (date(2026, 12, 24), None)),
        ("24 December", "en_GB", (date(2026, 12, 24), None)),
        ("ends on friday", "en_GB", (date(2026, 11, 27), None)),
        ("ends after 10 times", "en_GB", (None, 10)),
        ("5x", "en_US", (None, 5)),
        ("for 3 weeks", "en_US", (date(2026, 12, 20), None)),
        ("bis 24. Dezember", "de_DE", (date(2026, 12, 24), None)),
        ("10 mal", "de_DE", (None, 10)),
    ],
)
def test_an_end_is_read(phrase: str, locale: str, expected: tuple[date | None, int | None]) -> None:
    assert parse_end(phrase, first=date(2026, 11, 30), now=NOW, zone=BERLIN, locale=locale) == expected


@pytest.mark.parametrize(
    "phrase",
    ["", "10", "0 times", "2000 times", "every day", "tomorrow 9am", "until 3/4", "10 times until friday", "x" * 999],
)
def test_what_is_no_clear_end_is_refused(phrase: str) -> None:
    with pytest.raises(ParseError):
        parse_end(phrase, first=date(2026, 11, 30), now=NOW, zone=BERLIN, locale="en_GB")
