"""The word before a number decides what the number is. The phrases are made by rule: word × number × unit, on Thursday
26 November 2026, 10:20 in Berlin. A phrase is read as the rule says, or it is asked back; it never means anything else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.parse import parse
from snoozer.timephrase.recurrence import next_occurrence
from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
NOW = datetime.fromisoformat("2026-11-26T10:20")
BERLIN = "Europe/Berlin"
_NUMBERS = ("1", "3", "5", "9", "12", "15", "18", "20", "31", "45", "120", "0:45", "8.30", "1830", "2027", "2030")


@dataclass(frozen=True, kw_only=True)
class Language:
    """The words of one language by what they say, and its units by what they measure."""

    locale: str
    length: tuple[str, ...]
    clock: tuple[str, ...]
    until: tuple[str, ...]
    day: tuple[str, ...]
    minutes: str
    hours: str
    days: str
    mark: str


ENGLISH = Language(
    locale="en", length=("in", "for"), clock=("at",), until=("until", "till"), day=("on",), minutes="minutes",
    hours="hours", days="days", mark="h",
)  # fmt: skip
GERMAN = Language(
    locale="de", length=("in", "für"), clock=("um",), until=("bis",), day=("am", "zum", "bis zum"), minutes="Minuten",
    hours="Stunden", days="Tagen", mark="h",
)  # fmt: skip


def _phrases() -> Iterator[tuple[str, str, frozenset[datetime]]]:
    """A phrase, its locale, and the times that it may be read as; if there are none, it has to be asked back."""
    for language in (ENGLISH, GERMAN):
        kinds = {"length": language.length, "clock": language.clock, "until": language.until, "day": language.day}
        units = {"": "", "minutes": language.minutes, "hours": language.hours, "days": language.days,
                 "mark": language.mark}  # fmt: skip
        for (kind, words), number, (unit, written) in product(kinds.items(), _NUMBERS, units.items()):
            for word in words:
                yield f"{word} {number} {written}".strip(), language.locale, _meanings(kind, number, unit)


def _meanings(kind: str, number: str, unit: str) -> frozenset[datetime]:
    if kind == "length":
        return _lengths(number, unit)
    if kind == "day":
        return _days(number) if unit == "" else frozenset()
    if unit in ("minutes", "days") or (kind == "until" and unit == "" and number in ("2027", "2030")):
        return frozenset()
    if unit == "hours" and not (number.isdecimal() and len(number) == 4):
        return frozenset()
    return _clocks(number)


def _lengths(number: str, unit: str) -> frozenset[datetime]:
    if not number.isdecimal() or unit == "":
        return frozenset()
    size = {"minutes": timedelta(minutes=1), "days": timedelta(days=1)}.get(unit, timedelta(hours=1))
    return frozenset({NOW + int(number) * size})


def _days(number: str) -> frozenset[datetime]:
    if ":" in number:
        return _clocks(number)
    if not number.isdecimal() or int(number) > 31:
        return frozenset()
    month = 12 if int(number) < NOW.day or int(number) == 31 else 11
    return frozenset({NOW.replace(month=month, day=int(number), hour=8, minute=0)})


def _clocks(number: str) -> frozenset[datetime]:
    """The next time that a clock shows the number; below seven in the afternoon, unless written with minutes."""
    digits = number.replace(":", "").replace(".", "")
    hour, minute = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    found = set()
    for shown in {hour, hour + 12} if 1 <= hour <= 6 else {hour}:
        if shown < 24 and minute < 60:
            at = NOW.replace(hour=shown, minute=minute)
            found.add(at if at > NOW else at + timedelta(days=1))
    return frozenset(found)


def _at(typed: Typed, phrase: str, locale: str) -> datetime | None:
    try:
        parsed = typed(phrase, now=NOW.isoformat(), zone=BERLIN, locale=locale)
    except ParseError:
        return None
    assert parsed.at is not None
    return parsed.at.replace(tzinfo=None)


def test_there_are_enough_phrases_of_each_kind_and_most_that_have_a_meaning_are_read(typed: Typed) -> None:
    phrases = list(_phrases())
    meaningful = [(phrase, locale) for phrase, locale, meanings in phrases if meanings]
    assert len(phrases) > 1000
    assert len(meaningful) > 250
    refused = [phrase for phrase, locale in meaningful if _at(typed, phrase, locale) is None]
    assert {phrase.split()[-1] for phrase in refused} <= {"Stunden", "hours", "0:45", "120", "h"}, refused
    assert len(refused) < len(meaningful) / 4, refused


@pytest.mark.parametrize(("phrase", "locale", "meanings"), list(_phrases()))
def test_a_word_and_a_number_mean_what_the_word_says_or_are_asked_back(
    typed: Typed, phrase: str, locale: str, meanings: frozenset[datetime]
) -> None:
    assert _at(typed, phrase, locale) in {None, *meanings}
    glued = phrase.replace(" ", "")
    assert _at(typed, glued, locale) in {None, *meanings}


@pytest.mark.parametrize(("phrase", "locale"), [("in 5", "en"), ("in ten", "en"), ("for 5", "en"), ("in 5", "de")])
def test_a_length_without_its_unit_is_asked_back_with_units(error_of: ErrorOf, phrase: str, locale: str) -> None:
    error = error_of(phrase, locale=locale)
    number = "10" if "ten" in phrase else "5"
    words = ("minutes", "hours", "days") if locale == "en" else ("Minuten", "Stunden", "Tagen")
    assert error.suggestions == tuple(f"in {number} {word}" for word in words)


@pytest.mark.parametrize(
    ("phrase", "locale", "instead"),
    [
        ("in 5pm", "en", "5pm"),
        ("for 9am tomorrow", "en", "9am tomorrow"),
        ("on 15:30", "en", "3:30 pm"),
        ("in 9 in the morning", "en", "9 in the morning"),
        ("at 5 minutes", "en", "5 minutes"),
        ("until 3 days", "en", "3 days"),
        ("at 18 hours", "en", "18 hours"),
        ("in 5 Uhr", "de", "5 uhr"),
        ("am 15 Uhr", "de", "15 uhr"),
        ("um 5 Minuten", "de", "5 minuten"),
        ("bis 3 Tage", "de", "3 tage"),
        ("march 2027", "en", "march 1 2027"),
        ("bis Januar 2027", "de", "1. januar 2027"),
    ],
)
def test_a_contradiction_is_asked_back_with_what_may_be_meant(
    error_of: ErrorOf, phrase: str, locale: str, instead: str
) -> None:
    error = error_of(phrase, now=NOW.isoformat(), zone=BERLIN, locale=locale)
    assert (error.code, error.suggestions[0]) == ("unrecognised", instead)


@pytest.mark.parametrize("day", ["tomorrow", "friday", "every day", "every friday", "this evening"])
@pytest.mark.parametrize("word", ["in 5", "on 5", "in 0:45", "on 1530"])
def test_a_word_between_day_and_number_decides_too(error_of: ErrorOf, day: str, word: str) -> None:
    assert error_of(f"{day} {word}").code in ("unrecognised", "invalid_date")


@pytest.mark.parametrize(
    "phrase",
    [
        *("9 to 5", "weekdays 9 to 5", "10 to 4", "tomorrow 10 to 4", "5 to 9", "10 to 4pm", "9-5", "9 - 17", "3-4"),
        *("nine to five", "monday 9-5", "between 9 and 5", "from 9 to 5", "in 2-3 days", "in 2 to 3 days", "9am-5pm"),
        *("dec 10-12", "10-12 december", "every day 9 to 5", "tonight 8 to 10"),
    ],
)
def test_a_range_is_asked_back(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase).code == "unrecognised"


@pytest.mark.parametrize("phrase", ["9 bis 17", "9 bis 17 Uhr", "werktags 9 bis 17", "in 2 bis 3 Tagen", "9-17 Uhr"])
def test_a_german_range_is_asked_back(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase, zone=BERLIN, locale="de").code == "unrecognised"


@pytest.mark.parametrize(
    ("phrase", "locale", "wall"),
    [
        ("tonight at 1am", "en", "2026-11-27T01:00"),
        ("tonight at 12", "en", "2026-11-27T00:00"),
        ("tonight at 12:30", "en", "2026-11-27T00:30"),
        ("tonight at 11", "en", "2026-11-26T23:00"),
        ("half past 1 tonight", "en", "2026-11-27T01:30"),
        ("3 at night", "en", "2026-11-27T03:00"),
        ("quarter to 12 at night", "en", "2026-11-26T23:45"),
        ("heute Nacht um 3", "de", "2026-11-27T03:00"),
        ("um 12 nachts", "de", "2026-11-27T00:00"),
        ("halb 1 nachts", "de", "2026-11-27T00:30"),
        ("0 Uhr nachts", "de", "2026-11-27T00:00"),
        ("jede Nacht um 2", "de", "2026-11-27T02:00"),
        ("tomorrow night at 1am", "en", "2026-11-28T01:00"),
    ],
)
def test_the_night_goes_on_after_midnight(typed: Typed, phrase: str, locale: str, wall: str) -> None:
    parsed = typed(phrase, now=NOW.isoformat(), zone=BERLIN, locale=locale)
    assert f"{parsed.at:%Y-%m-%dT%H:%M}" == wall


def test_the_night_of_a_named_day_could_be_either_night(typed: Typed, error_of: ErrorOf) -> None:
    parsed = typed("tomorrow night at 1am", now=NOW.isoformat(), zone=BERLIN)
    assert (parsed.flags, f"{parsed.alternative:%m-%d %H:%M}") == (("ambiguous",), "11-27 01:00")
    assert error_of("every friday night at 1", now=NOW.isoformat(), zone=BERLIN).code == "unrecognised"
    assert error_of("tonight at 5", now=NOW.isoformat(), zone=BERLIN).code == "unrecognised"


def test_before_dawn_tonight_is_the_present_night(typed: Typed) -> None:
    assert f"{typed('tonight at 3am', now='2026-11-26T01:00:00', zone=BERLIN).at:%m-%d %H:%M}" == "11-26 03:00"
    assert f"{typed('tonight at 1am', now='2026-11-26T03:00:00', zone=BERLIN).at:%m-%d %H:%M}" == "11-27 01:00"


@pytest.mark.parametrize(
    ("phrase", "first", "second"),
    [
        ("every 4 years on feb 29", "2028-02-29", "2032-02-29"),
        ("every 8 years on feb 29", "2028-02-29", "2036-02-29"),
        ("every 2 years on feb 29", "2028-02-29", "2030-02-28"),
        ("every 3 years on 29 february", "2028-02-29", "2031-02-28"),
        ("every year on feb 29", "2027-02-28", "2028-02-29"),
        ("every 12 months on the 31st", "2026-12-31", "2027-12-31"),
        ("every 24 months on the 30th", "2026-11-30", "2028-11-30"),
        ("every 2 months on the 31st", "2026-11-30", "2027-01-31"),
    ],
)
def test_a_long_interval_begins_on_a_day_that_exists(typed: Typed, phrase: str, first: str, second: str) -> None:
    parsed = typed(phrase, now=NOW.isoformat(), zone=BERLIN)
    assert parsed.recurrence is not None
    assert parsed.at is not None
    following = next_occurrence(parsed.recurrence, after=parsed.at, zone=BERLIN)
    assert (f"{parsed.at:%Y-%m-%d}", f"{following:%Y-%m-%d}") == (first, second)


def test_a_given_start_is_moved_to_a_day_that_exists() -> None:
    now = NOW.replace(tzinfo=ZoneInfo(BERLIN))
    parsed = parse("every 4 years on feb 29 starting 2027-01-01", now=now, zone=BERLIN)
    assert f"{parsed.at:%Y-%m-%d}" == "2028-02-29"
