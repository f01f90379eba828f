"""Wall times that move, with their person or with the rules of a zone: the hour stays, the instant changes."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.recurrence import Recurrence, shift_zone
from snoozer.timephrase.result import ParsedTime

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def _at(text: str, zone: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("wall", "expected"),
    [
        ("2026-06-01T08:00", "2026-06-01T08:00:00-04:00"),
        ("2026-03-08T02:30", "2026-03-08T03:30:00-04:00"),
        ("2026-11-01T01:30", "2026-11-01T01:30:00-04:00"),
    ],
    ids=["an-hour", "out-of-a-gap", "the-first-of-two"],
)
def test_a_new_zone_keeps_the_hour(wall: str, expected: str) -> None:
    found = shift_zone(_at(wall, BERLIN), wall=_wall(wall), zone=BERLIN, to=NEW_YORK)
    assert found is not None
    assert found.isoformat() == expected


def test_an_hour_skipped_in_one_zone_is_kept_in_another(typed: Callable[..., ParsedTime]) -> None:
    parsed = typed("sunday 2:30am", zone=NEW_YORK)
    assert parsed.at is not None
    assert parsed.at == shift_zone(parsed.at, wall=parsed.wall, zone=NEW_YORK, to=NEW_YORK)
    found = shift_zone(parsed.at, wall=parsed.wall, zone=NEW_YORK, to="America/Bogota")
    assert found is not None
    assert found.isoformat() == "2026-03-08T02:30:00-05:00"


def test_without_newer_rules_nothing_moves() -> None:
    for wall in ("2026-06-01T08:00", "2026-03-29T03:30", "2026-10-25T02:30"):
        promise = _at(wall, BERLIN)
        assert shift_zone(promise, wall=_wall(wall), zone=BERLIN, to=BERLIN) == promise


def test_the_second_of_two_hours_is_not_taken_for_newer_rules() -> None:
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert shift_zone(second, wall=_wall("2026-10-25T02:30"), zone=BERLIN, to=BERLIN) == second


def test_a_promise_under_older_rules_moves_to_its_wall_time() -> None:
    under_older_rules = datetime(2026, 6, 1, 7, 0, tzinfo=UTC)
    found = shift_zone(under_older_rules, wall=_wall("2026-06-01T08:00"), zone=BERLIN, to=BERLIN)
    assert found is not None
    assert found.isoformat() == "2026-06-01T08:00:00+02:00"


MONDAYS = Recurrence(unit="week", interval=1, start=date(2026, 3, 2), at=time(9), weekdays=(0,))
NIGHTS = Recurrence(unit="day", interval=1, start=date(2026, 3, 2), at=time(0, 15))


def test_of_a_recurrence_the_promised_occurrence_moves() -> None:
    promise = _at("2026-06-08T09:00", BERLIN)
    first = _wall("2026-03-02T09:00")
    found = shift_zone(promise, wall=first, zone=BERLIN, to=NEW_YORK, recurrence=MONDAYS)
    assert found is not None
    assert found.isoformat() == "2026-06-08T09:00:00-04:00"
    assert shift_zone(promise, wall=first, zone=BERLIN, to=BERLIN, recurrence=MONDAYS) == promise


@pytest.mark.parametrize("hours", [-1, 1])
def test_newer_rules_keep_the_occurrence_also_over_midnight(hours: int) -> None:
    right = _at("2026-06-08T00:15", BERLIN)
    under_older_rules = right.replace(hour=right.hour + hours)
    found = shift_zone(under_older_rules, wall=None, zone=BERLIN, to=BERLIN, recurrence=NIGHTS)
    assert found == right


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "Asia/Kolkata", "Pacific/Kiritimati", "Europe/London"])
@pytest.mark.parametrize("repeating", [NIGHTS, MONDAYS], ids=["daily", "weekly"])
def test_an_instant_that_was_kept_still_stands_for_its_occurrence(zone: str, repeating: Recurrence) -> None:
    kept = datetime.combine(date(2026, 6, 8), repeating.at, tzinfo=ZoneInfo(NEW_YORK)).astimezone(UTC)
    stays = shift_zone(kept, wall=None, zone=zone, to=zone, recurrence=repeating)
    assert stays is not None
    assert stays < kept
    assert shift_zone(kept, wall=None, zone=zone, to=NEW_YORK, recurrence=repeating) == kept


def test_an_unknown_zone_or_a_promise_that_is_no_occurrence_gives_none() -> None:
    promise = _at("2026-06-05T09:00", BERLIN)
    assert shift_zone(promise, wall=None, zone="Mars/Olympus", to=BERLIN) is None
    assert shift_zone(promise, wall=None, zone=BERLIN, to="", recurrence=None) is None
    assert shift_zone(promise, wall=None, zone=BERLIN, to=BERLIN, recurrence=MONDAYS) is None
