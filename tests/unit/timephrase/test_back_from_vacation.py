""" "When I am back" is the end of the vacation that a person has set, and is asked back if there is none."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.day_shape import Days, DayShape
from snoozer.timephrase.locales import LANGUAGES
from snoozer.timephrase.parse import parse, parse_end
from snoozer.timephrase.presets import presets
from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
BERLIN = "Europe/Berlin"
# A Thursday in New York; the vacation lasts until Monday 16 March.
NOW = "2026-03-05T10:20:00"
BACK = datetime.fromisoformat("2026-03-16T09:00")
AWAY = DayShape(back_on=BACK.date())
ENGLISH, GERMAN = (sorted(LANGUAGES[name].data.words["back"]["1"]) for name in ("en", "de"))


@pytest.mark.parametrize("phrase", [*ENGLISH, "When I’m back", "until I am back", "WhenImBack", "when I'm back."])
def test_it_is_the_morning_on_which_the_vacation_ends(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase, back=BACK)
    assert (f"{parsed.at:%Y-%m-%d %H:%M}", parsed.flags, parsed.time_kind) == ("2026-03-16 09:00", (), "wall")
    assert parsed.sentence == "Monday, March 16, 9:00 am (in 11 days), America/New York."


@pytest.mark.parametrize("phrase", [*GERMAN, "bis ich zurück bin", "wenn ich zurueck bin", "Wenn ich wieder da bin"])
def test_it_is_so_in_german(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase, zone=BERLIN, locale="de_DE", back=BACK)
    assert (f"{parsed.at:%Y-%m-%d %H:%M}", parsed.flags) == ("2026-03-16 09:00", ())


def test_who_has_set_german_may_type_english(typed: Typed) -> None:
    assert typed("when I am back", locale="de_DE", back=BACK).at == typed("when I am back", back=BACK).at


@pytest.mark.parametrize(
    ("phrase", "wall"),
    [
        ("when I am back at 2pm", "2026-03-16 14:00"),
        ("when I'm back in the afternoon", "2026-03-16 13:00"),
        ("9:30 when I'm back", "2026-03-16 09:30"),
        ("a day after I am back", "2026-03-17 08:00"),
        ("2 days after I'm back", "2026-03-18 08:00"),
        ("a week after I am back", "2026-03-23 08:00"),
        ("when I am back if no reply", "2026-03-16 09:00"),
    ],
)
def test_it_is_a_day_like_another(typed: Typed, phrase: str, wall: str) -> None:
    assert f"{typed(phrase, back=BACK).at:%Y-%m-%d %H:%M}" == wall


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "UTC"])
@pytest.mark.parametrize("work_from", [time(0), time(6), time(8), time(9, 30), time(14)])
@pytest.mark.parametrize("days", [1, 3, 11, 24, 200])
def test_it_is_never_within_the_vacation_and_never_before_the_morning(zone: str, work_from: time, days: int) -> None:
    now = datetime(2026, 3, 5, 10, 20, tzinfo=ZoneInfo(zone))
    shape = DayShape(away_from=date(2026, 3, 1), back_on=now.date() + timedelta(days=days), work_from=work_from)
    parsed = parse("when I am back", now=now, zone=zone, own=lambda: shape)
    assert parsed.at is not None
    assert parsed.at.date() == shape.back_on
    assert parsed.at.time() == max(time(8), work_from)
    assert Days(shape, ZoneInfo(zone)).arrival(parsed.at).at == parsed.at


@pytest.mark.parametrize("ended", [None, "2026-03-02T09:00", "2026-03-05T09:00", "2026-03-05T10:20"])
@pytest.mark.parametrize("phrase", ["when I am back", "when I'm back at 11am", "2 weeks after I'm back"])
def test_without_a_vacation_that_is_still_to_end_it_is_asked_back(
    error_of: ErrorOf, phrase: str, ended: str | None
) -> None:
    error = error_of(phrase, back=None if ended is None else datetime.fromisoformat(ended))
    assert error.code == "no_vacation"
    assert error.message == (
        "No vacation is set, so the day you are back is not known; "
        "set it in the settings under Your day, or name a day."
    )
    assert error.suggestions == ("in 1 week", "in 2 weeks", "in 3 weeks")


def test_it_is_asked_back_in_german(error_of: ErrorOf) -> None:
    error = error_of("wenn ich zurück bin", locale="de_DE")
    assert error.message == (
        "Es ist kein Urlaub eingetragen, deshalb ist nicht bekannt, wann du zurück bist; "
        "trag ihn in den Einstellungen unter Dein Tag ein, oder nenne einen Tag."
    )
    assert error.suggestions == ("in 1 Woche", "in 2 Wochen", "in 3 Wochen")


@pytest.mark.parametrize("phrase", ["my vacation", "before my vacation", "until my vacation", "when I am away", "back"])
def test_the_beginning_of_a_vacation_is_not_its_end(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase, back=BACK).code == "unrecognised"


@pytest.mark.parametrize(
    "phrase", ["when they are back", "when she is back", "when I am back on monday", "wenn er zurück ist"]
)
def test_the_return_of_another_person_is_not_known(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase, back=BACK).code == "unrecognised"


def test_a_vacation_is_asked_for_only_by_a_phrase_that_needs_it() -> None:
    def own() -> DayShape:
        raise AssertionError

    now = datetime.fromisoformat(NOW).replace(tzinfo=ZoneInfo(BERLIN))
    assert parse("tomorrow 9am", now=now, zone=BERLIN, own=own).at
    with pytest.raises(ParseError):
        parse("tomrrow 9", now=now, zone=BERLIN, own=own)


def test_a_preset_is_offered_while_a_vacation_is_set() -> None:
    now = datetime.fromisoformat(NOW).replace(tzinfo=ZoneInfo(BERLIN))
    choices = (("Back", "when I am back"),)
    (grey,) = presets(now=now, zone=BERLIN, choices=choices)
    (offered,) = presets(now=now, zone=BERLIN, choices=choices, own=lambda: AWAY)
    assert (grey.reading is None, offered.reading is None) == (True, False)


def test_a_series_ends_with_the_vacation() -> None:
    now = datetime.fromisoformat(NOW).replace(tzinfo=ZoneInfo(BERLIN))
    end = parse_end("until I am back", first=now.date(), now=now, zone=BERLIN, locale="en", own=lambda: AWAY)
    assert end == (BACK.date(), None)
    with pytest.raises(ParseError, match="No vacation is set"):
        parse_end("until I am back", first=now.date(), now=now, zone=BERLIN, locale="en")
