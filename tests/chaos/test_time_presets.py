"""Every preset of every zone and hour of a year lies ahead, and names the day and the hour that it brings.

SNOOZER_STORM=1 checks them all; else a sample of every clock that a zone shows.
"""

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.presets import Preset, presets
from snoozer.timephrase.zones import NAMES

FULL = os.environ.get("SNOOZER_STORM") == "1"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
HOURS_OF_A_YEAR = 365 * 24
# The presets of the last day reach two months into the next year.
HOURS_REACHED = 425 * 24
SAMPLE_OF_A_CLOCK = 6
HOURS = {
    "Tomorrow": time(8),
    "Tomorrow evening": time(18),
    "This weekend": time(8),
    "Next week": time(8),
    "Next month": time(8),
}
WEEKDAYS = {"This weekend": 5, "Next week": 0}


def _evening(now: time) -> time | None:
    """This evening's hour: once it has begun its later one, until half an hour before that."""
    if now < time(18):
        return time(18)
    return time(20) if now <= time(19, 30) else None


def _is_right(preset: Preset, now: datetime, zone: str) -> bool:
    assert preset.reading is not None
    at = preset.reading.at
    assert at is not None
    assert at - now.astimezone(UTC) >= timedelta(minutes=1)
    assert at.astimezone(ZoneInfo(zone)).utcoffset() == at.utcoffset()
    here = now.astimezone(ZoneInfo(zone))
    days = (at.date() - here.date()).days
    in_order = {
        "Later today": days == 0 and at.minute % 15 == 0,
        "This evening": days == 0 and at.time() == _evening(here.time()),
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


def _distinct_clocks(*, step: int) -> list[str]:
    """One zone for all that have the same offset in every `step`th hour of the year and the two months after: they have
    the same presets."""
    clocks: dict[tuple[timedelta | None, ...], str] = {}
    for name in sorted(NAMES.values()):
        zone = ZoneInfo(name)
        hours = (NEW_YEAR + timedelta(hours=hour) for hour in range(0, HOURS_REACHED, step))
        clocks.setdefault(tuple(moment.astimezone(zone).utcoffset() for moment in hours), name)
    return list(clocks.values())


def _moments() -> Iterator[tuple[str, datetime]]:
    chance = random.Random(4)
    for zone in _distinct_clocks(step=1 if FULL else 24):
        sample = (chance.randrange(HOURS_OF_A_YEAR) for _ in range(SAMPLE_OF_A_CLOCK))
        for hour in range(HOURS_OF_A_YEAR) if FULL else sample:
            yield zone, NEW_YEAR + timedelta(hours=hour)


def test_every_preset_of_every_zone_and_hour_of_a_year_is_right() -> None:
    seen = 0
    for zone, now in _moments():
        offered = [preset for preset in presets(now=now, zone=zone) if preset.reading]
        assert 3 <= len(offered) <= 9, (zone, now)
        assert len({preset.reading and preset.reading.at for preset in offered}) == len(offered), (zone, now)
        for preset in offered:
            assert _is_right(preset, now, zone), (preset.label, zone, now)
        seen += len(offered)
    print(f"{seen} presets are right")
    assert seen


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago"])
def test_presets_around_a_clock_change_are_right(zone: str) -> None:
    for month, first in ((3, 20), (4, 1), (9, 1), (10, 1), (10, 20)):
        for hour in range(0, 12 * 24, 1 if FULL else 17):
            now = datetime(2026, month, first, tzinfo=UTC) + timedelta(hours=hour)
            offered = [preset for preset in presets(now=now, zone=zone) if preset.reading]
            assert all(_is_right(preset, now, zone) for preset in offered), now
