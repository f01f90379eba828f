"""The reading of a phrase is in the language of the locale, in sentences that a German would write."""

from datetime import UTC, datetime, timedelta

import pytest

from snoozer.timephrase.describe import distance, distance_back, span_in_words
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError
from snoozer.translations import speaking
from snoozer.web.text.time_format import TimeFormatter

NOW = datetime(2026, 3, 5, 15, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "sentence"),
    [
        ("morgen 9 Uhr", "Freitag, 6. März, 09:00 (in 17 Stunden), Europe/Berlin."),
        ("in 3 Tagen", "Sonntag, 8. März, 16:20 (in 3 Tagen), Europe/Berlin."),
        (
            "next friday",
            "Freitag, 13. März, 08:00 (in 8 Tagen), Europe/Berlin. Es könnte auch Freitag, 6. März, 08:00 heißen.",
        ),
        (
            "jeden Montag 9 Uhr",
            "Jeden Montag um 09:00: zuerst Montag, 9. März, 09:00 (in 4 Tagen), Europe/Berlin, dann Montag, 16. März.",
        ),
        (
            "jeden Monat am 31.",
            "Jeden Monat am 31. um 08:00: zuerst Dienstag, 31. März, 08:00 (in 26 Tagen), Europe/Berlin, "
            "dann Donnerstag, 30. April. In einem Monat ohne diesen Tag kommt es am letzten Tag des Monats.",
        ),
    ],
)
def test_the_sentence_is_german(phrase: str, sentence: str) -> None:
    assert parse(phrase, now=NOW, zone="Europe/Berlin", locale="de_DE").sentence == sentence


def test_an_error_is_german() -> None:
    with pytest.raises(ParseError, match="lässt sich nicht als Zeit lesen"):
        parse("blau", now=NOW, zone="Europe/Berlin", locale="de_DE")
    with pytest.raises(ParseError, match="cannot be read as a time"):
        parse("blau", now=NOW, zone="Europe/Berlin", locale="en_GB")


def test_a_span_has_the_case_that_its_place_asks_for() -> None:
    with speaking("de"):
        assert span_in_words(timedelta(days=20)) == "20 Tage"
        assert distance(timedelta(days=5)) == "in 5 Tagen"
        assert distance_back(timedelta(days=1000)) == "vor 3 Jahren"
        assert distance(timedelta(minutes=90)) == "in 1 Stunde 30 Minuten"


def test_times_on_pages_are_german() -> None:
    times = TimeFormatter(now=NOW, zone="Europe/Berlin", locale="de_DE")
    with speaking("de"):
        assert times.words(NOW + timedelta(days=1)) == "Morgen 16:20"
        assert times.inline(NOW) == "heute 16:20"
        assert times.words(NOW + timedelta(days=3)) == "Sonntag 16:20"
        assert times.words(NOW + timedelta(days=9)) == "Samstag, 14. März, 16:20"
        assert times.chip(NOW + timedelta(days=9)) == "Sa 14. März 16:20"
        assert times.distance(NOW - timedelta(hours=5)) == "vor 5 Stunden"
        assert times.exact(NOW) == "Donnerstag, 5. März 2026, 16:20:00 (UTC+01:00, Europe/Berlin)"
