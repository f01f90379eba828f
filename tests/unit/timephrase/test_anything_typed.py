"""Any text gives a sound time or a ParseError: never another exception, never unbounded work.

A sample; tests/chaos/test_time_phrases.py holds the same for a million phrases.
"""

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from snoozer.timephrase.locales import LANGUAGES
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.timephrase.zones import NAMES

# Twice what the slowest known phrase takes; about 5 ms.
MAX_CALLS = 18_000
SPELLINGS = {"ae": "ä", "oe": "ö", "ue": "ü"}
WORDS = sorted(LANGUAGES["en"].words | LANGUAGES["de"].words)
FIGURES = ["1", "2", "3", "9", "12", "15", "30", "31", "9:30", "17:30", "2:30", "00:00", "9.30", "15.3.", "3/4", "13/4"]
FIGURES += ["2026-03-29", "20261101", "2027", "1st", "31st", "1.5", "-2", "+3", "9am", "6pm", "-05:00", "UTC+2", "EST"]
ODD_PIECES = ["Europe/London", "@", "!", "½", "٣", "🎉", "\ud800", "\x00", "\u202f", "'"]
PIECES = [*WORDS, *FIGURES, *ODD_PIECES]

instants = st.datetimes(datetime(2024, 1, 1), datetime(2034, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
zones = st.sampled_from(sorted(NAMES.values()))
locales = st.sampled_from(["en_US", "en_GB", "en_IN", "de_DE", "fr_FR", "", "xx_YY_zz"])
phrases = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
    st.text(max_size=30),
    st.text(alphabet="0123456789 :/.-+,apmhdwty", max_size=14),
)


def _parsed(phrase: str, now: datetime, zone: str, locale: str) -> ParsedTime | None:
    try:
        return parse(phrase, now=now, zone=zone, locale=locale)
    except ParseError as error:
        assert error.code
        assert error.message
        for suggestion in error.suggestions:
            parse(suggestion, now=now, zone=zone, locale=locale)
        return None


def _same(one: ParsedTime | None, other: ParsedTime | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.at, one.flags, one.alternative, one.condition, one.recurrence) == (
        other.at,
        other.flags,
        other.alternative,
        other.condition,
        other.recurrence,
    )


@settings(max_examples=250, deadline=None)
@given(phrase=phrases, now=instants, zone=zones, locale=locales)
@example(phrase="in 2 days", now=datetime(2011, 12, 29, 10, tzinfo=UTC), zone="Pacific/Apia", locale="en_US")
@example(phrase="9" * 200, now=datetime(2026, 3, 5, tzinfo=UTC), zone="UTC", locale="en_US")
@example(phrase="tomorrow", now=datetime(9999, 12, 31, 23, tzinfo=UTC), zone="Pacific/Kiritimati", locale="en_US")
@example(phrase="tomorrow", now=datetime(1, 1, 1, tzinfo=UTC), zone="America/Adak", locale="en_US")
def test_an_accepted_time_exists_lies_ahead_and_has_its_zones_offset(
    phrase: str, now: datetime, zone: str, locale: str
) -> None:
    parsed = _parsed(phrase, now, zone, locale)
    if parsed is None or parsed.at is None:
        return
    here = parsed.at.astimezone(ZoneInfo(zone))
    assert parsed.at - now >= timedelta(minutes=1)
    assert here.utcoffset() == parsed.at.utcoffset()
    assert here.replace(tzinfo=None) == parsed.at.replace(tzinfo=None)
    if "dst_gap" not in parsed.flags:
        assert parsed.at.astimezone(ZoneInfo(parsed.zone)).replace(tzinfo=None) == parsed.wall
    assert ("ambiguous" in parsed.flags) == (parsed.alternative is not None)
    assert list(parsed.flags) == sorted(set(parsed.flags))


@settings(max_examples=100, deadline=None)
@given(phrase=phrases, now=instants, zone=zones, lead=st.sampled_from(["", "in ", "at ", "on ", "until ", "IN  AT "]))
def test_case_spaces_and_leading_prepositions_do_not_matter(phrase: str, now: datetime, zone: str, lead: str) -> None:
    plain = " ".join(phrase.split())
    if not plain.isascii() or len(plain) > 150:
        return
    for locale in ("en_US", "de_DE"):
        typed = f"  {lead}{plain.upper().replace(' ', '   ')} "
        if len(typed) <= 200:
            assert _same(_parsed(plain, now, zone, locale), _parsed(typed, now, zone, locale))


@settings(max_examples=60, deadline=None)
@given(phrase=phrases, now=instants, zone=zones, other=zones)
def test_the_zone_of_now_does_not_matter(phrase: str, now: datetime, zone: str, other: str) -> None:
    there = now.astimezone(ZoneInfo(other))
    assert _same(_parsed(phrase, now, zone, "en_US"), _parsed(phrase, there, zone, "en_US"))


class _CallCounter:
    """Counts the Python functions that are called: work that is the same on every machine, however busy it is."""

    calls = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event == "call"


@settings(max_examples=100, deadline=None)
@given(phrase=st.one_of(phrases, st.lists(st.sampled_from(WORDS), min_size=8, max_size=40).map(" ".join)))
@example(phrase="10am CET 1h30")
@example(phrase="a " * 100)
def test_the_work_for_any_phrase_is_bounded(phrase: str) -> None:
    counter, before = _CallCounter(), sys.getprofile()
    sys.setprofile(counter)
    try:
        with suppress(ParseError):
            parse(phrase, now=datetime(2026, 3, 5, 15, 20, tzinfo=UTC), zone="Europe/Berlin", locale="de_DE")
    finally:
        sys.setprofile(before)
    assert counter.calls <= MAX_CALLS


@settings(max_examples=60, deadline=None)
@given(word=st.sampled_from(WORDS))
def test_umlauts_may_be_spelt_out_or_composed(word: str) -> None:
    now = datetime(2026, 3, 5, 9, 20, tzinfo=UTC)
    spelt = word
    for ascii_spelling, umlaut in SPELLINGS.items():
        spelt = spelt.replace(ascii_spelling, umlaut)
    assert _same(_parsed(word, now, "Europe/Berlin", "de_DE"), _parsed(spelt, now, "Europe/Berlin", "de_DE"))
