"""Every button is a phrase, lies ahead, and names the day and the hour that it brings."""

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase import ParsedTime, Preset, WorkingHours, parse, presets
from snoozer.timephrase.zones import NAMES

Typed = Callable[..., ParsedTime]
FULL = os.environ.get("SNOOZER_STORM") == "1"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
HOURS_OF_A_YEAR = 365 * 24
HOURS = {
    "This evening": time(18),
    "Tomorrow": time(8),
    "Tomorrow evening": time(18),
    "This weekend": time(8),
    "Next week": time(8),
    "Next month": time(8),
}
WEEKDAYS = {"This weekend": 5, "Next week": 0}


def _right(preset: Preset, now: datetime, zone: str) -> bool:
    at = preset.reading.at
    assert at is not None
    assert at - now.astimezone(UTC) >= timedelta(minutes=1)
    assert at.astimezone(ZoneInfo(zone)).utcoffset() == at.utcoffset()
    here = now.astimezone(ZoneInfo(zone))
    days = (at.date() - here.date()).days
    in_order = {
        "Later today": days == 0 and at.minute % 15 == 0,
        "This evening": days == 0,
        "Tomorrow": days == 1,
        "Tomorrow evening": days == 1,
        "This weekend": days <= 6,
        "Next week": 1 <= days <= 7,
        "In 1 week": days == 7 and at.time() == here.time(),
        "Next month": at.day == 1 and 1 <= days <= 31,
    }
    return (
        in_order[preset.label]
        and at.weekday() == WEEKDAYS.get(preset.label, at.weekday())
        and at.time() == HOURS.get(preset.label, at.time())
    )


def _vantages() -> Iterator[tuple[str, datetime]]:
    """In full, every hour of a year on every clock there is: zones that show the same in each hour of the year and the
    two months after have the same presets, and one speaks for all of them. Else every zone, six hours of a year each.
    """
    if not FULL:
        chance = random.Random(4)
        for zone in sorted(NAMES.values()):
            yield from ((zone, NEW_YEAR + timedelta(hours=chance.randrange(HOURS_OF_A_YEAR))) for _ in range(6))
        return
    clocks: dict[tuple[timedelta | None, ...], str] = {}
    for zone in sorted(NAMES.values()):
        hours = (NEW_YEAR + timedelta(hours=hour) for hour in range(425 * 24))
        clocks.setdefault(tuple(moment.astimezone(ZoneInfo(zone)).utcoffset() for moment in hours), zone)
    for zone in clocks.values():
        yield from ((zone, NEW_YEAR + timedelta(hours=hour)) for hour in range(HOURS_OF_A_YEAR))


def test_every_preset_of_every_zone_and_hour_of_a_year_is_right() -> None:
    """A sample of them, or with SNOOZER_STORM=1 all."""
    seen = 0
    for zone, now in _vantages():
        offered = presets(now=now, zone=zone)
        assert 3 <= len(offered) <= 9, (zone, now)
        assert len({preset.reading.at for preset in offered}) == len(offered), (zone, now)
        for preset in offered:
            assert _right(preset, now, zone), (preset.label, zone, now)
        seen += len(offered)
    print(f"{seen} presets are right")
    assert seen


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago"])
def test_the_days_around_a_clock_change_are_right(zone: str) -> None:
    for month, first in ((3, 20), (4, 1), (9, 1), (10, 1), (10, 20)):
        for hour in range(0, 12 * 24, 5):
            now = datetime(2026, month, first, tzinfo=UTC) + timedelta(hours=hour)
            offered = presets(now=now, zone=zone)
            assert all(_right(preset, now, zone) for preset in offered), now


def test_what_is_past_or_the_same_instant_is_not_offered() -> None:
    sunday_night = datetime(2026, 3, 8, 21, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    labels = [preset.label for preset in presets(now=sunday_night, zone="Europe/Berlin", locale="en_GB")]
    assert labels == ["Tomorrow", "Tomorrow evening", "In 1 week", "Next month"]


def test_a_person_may_have_their_own() -> None:
    now = datetime(2026, 3, 5, 9, tzinfo=UTC)
    own = (("After lunch", "1pm"), ("Gone", "yesterday"), ("Mondays", "every monday"))
    offered = presets(now=now, zone="UTC", hours=WorkingHours(morning=time(7)), choices=own)
    assert [(preset.label, str(preset.reading.at)) for preset in offered] == [
        ("After lunch", "2026-03-05 13:00:00+00:00"),
        ("Mondays", "2026-03-09 07:00:00+00:00"),
    ]


def test_german_presets_mean_the_same() -> None:
    now = datetime(2026, 3, 5, 9, tzinfo=UTC)
    german, english = (presets(now=now, zone="Europe/Berlin", locale=locale) for locale in ("de_DE", "en_GB"))
    assert [preset.reading.at for preset in german] == [preset.reading.at for preset in english]
    for preset in german:
        assert parse(preset.phrase, now=now, zone="Europe/Berlin", locale="de_DE").at == preset.reading.at
