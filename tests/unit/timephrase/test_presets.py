"""Presets: which are offered, and in which language. What they mean at every hour: tests/chaos/test_time_presets.py."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.parse import parse
from snoozer.timephrase.presets import presets


def test_presets_in_the_past_or_on_the_same_instant_are_not_offered() -> None:
    sunday_night = datetime(2026, 3, 8, 21, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    found = presets(now=sunday_night, zone="Europe/Berlin", locale="en_GB")
    assert [preset.label for preset in found if preset.reading] == [
        "Tomorrow",
        "Tomorrow evening",
        "In 1 week",
        "Next month",
    ]


def test_a_preset_has_one_key_for_good() -> None:
    keys = set()
    for hour in range(24 * 7):
        now = datetime(2026, 3, 5, tzinfo=UTC) + timedelta(hours=hour)
        keys.add(tuple((preset.label, preset.key) for preset in presets(now=now, zone="Europe/Berlin")))
    assert len(keys) == 1
    twelve = tuple((f"In {hours}", f"in {hours} hours") for hours in range(1, 13))
    found = presets(now=now, zone="UTC", choices=twelve)
    assert [preset.key for preset in found] == [1, 2, 3, 4, 5, 6, 7, 8, 9, None, None, None]


def test_a_persons_own_presets_and_hours_replace_the_defaults() -> None:
    now = datetime(2026, 3, 5, 9, tzinfo=UTC)
    own = (("After lunch", "1pm"), ("Gone", "yesterday"), ("Mondays", "every monday"))
    offered = presets(now=now, zone="UTC", hours=WorkingHours(morning=time(7)), choices=own)
    assert [(preset.label, str(preset.reading.at)) for preset in offered if preset.reading] == [
        ("After lunch", "2026-03-05 13:00:00+00:00"),
        ("Mondays", "2026-03-09 07:00:00+00:00"),
    ]


def test_german_presets_mean_the_same() -> None:
    now = datetime(2026, 3, 5, 9, tzinfo=UTC)
    german, english = (presets(now=now, zone="Europe/Berlin", locale=locale) for locale in ("de_DE", "en_GB"))
    assert [preset.reading and preset.reading.at for preset in german] == [
        preset.reading and preset.reading.at for preset in english
    ]
    offered = [preset for preset in german if preset.reading]
    assert offered
    for preset in offered:
        assert preset.reading is not None
        assert parse(preset.phrase, now=now, zone="Europe/Berlin", locale="de_DE").at == preset.reading.at
