"""What cannot be parsed raises a ParseError: a code, one sentence, and up to three phrases that parse."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError

ErrorOf = Callable[..., ParseError]


@pytest.mark.parametrize(
    ("phrase", "code"),
    [
        *((phrase, "unrecognised") for phrase in ("tomo", "9ish", "half 3", "1.5 days", "friday 13", "14h30", "1h30")),
        *((phrase, "unrecognised") for phrase in ("in 3 fridays", "3 mondays", "2 fridays at 9am")),
        *((phrase, "unrecognised") for phrase in ("mar 20 9", "9 20 march", "tomorrow!", "remind me tomorrow", "a d")),
        *((phrase, "unrecognised") for phrase in ("in a few days", "by friday", "9-5", "9:00-10:00", "march 2027")),
        *(
            (phrase, "unrecognised")
            for phrase in ("tomorrow or friday", "٣ days", "３ days", "3 was", "10.12", "montag")
        ),
        *((phrase, "unrecognised") for phrase in ("tomorrow midnight", "2026-03-05-10:20", "every second tuesday")),
        *((phrase, "unrecognised") for phrase in ("every hour", "every 0 days", "if no reply", "tomorrow " * 30, "45")),
        *((phrase, "past") for phrase in ("today 9am", "this morning", "last friday", "2 hours ago", "2026-01-01")),
        *((phrase, "past") for phrase in ("last week", "this thursday", "every monday until yesterday")),
        *((phrase, "past") for phrase in ("every day until march 5", "every day until the 5th")),
        ("every month on the 8th or next weekday until march 8", "past"),
        *((phrase, "too_soon") for phrase in ("in 0 minutes", "in 59 seconds", "now")),
        *((phrase, "too_far") for phrase in ("in 11 years", "2037-01-01", "9" * 150 + " days", "every 1000 years")),
        ("every monday starting 2040-01-02", "too_far"),
        *((phrase, "negative") for phrase in ("-2h", "- 2 hours", "in −3 days", "in-2hours")),
        *(
            (phrase, "invalid_date")
            for phrase in ("april 31", "2026-02-30", "13/13", "thursday, march 13", "feb 29 2027")
        ),
        *((phrase, "invalid_date") for phrase in ("5th monday of april", "the 32nd", "every month on the 32nd")),
        *((phrase, "invalid_time") for phrase in ("13pm", "0am", "24:00", "9:60", "noon at night", "2500")),
        *((phrase, "invalid_time") for phrase in ("at 25", "tomorrow at 25", "25 o'clock", "every day at 99")),
        *((phrase, "tz_abbreviation") for phrase in ("10am CET", "tomorrow3pmest", "every day at 9am PST")),
        *((phrase, "empty") for phrase in ("   ", "on", ",", "\u00a0")),
    ],
)
def test_an_unclear_phrase_raises_its_code(error_of: ErrorOf, phrase: str, code: str) -> None:
    error = error_of(phrase)
    assert error.code == code
    assert error.message.endswith(".")
    assert error.as_json() == {"error": code, "message": error.message, "suggestions": list(error.suggestions)}


@pytest.mark.parametrize(
    ("phrase", "offered"),
    [
        ("tomorow 9am", "tomorrow 9am"),
        ("tomorrow or friday", "friday"),
        ("tomorrow 3pm EST", "tomorrow 3pm -05:00"),
        ("today 9am", "tomorrow 9am"),
        ("14h30", "2:30 pm"),
        ("13pm", "1:00 pm"),
        ("in -2 hours", "in 2 hours"),
        ("feb 30", "feb 28"),
        ("may", "may 1"),
        ("45", "in 45 minutes"),
        ("call at 9am", "at 9am"),
        ("every second tuesday", "every month on the second tuesday"),
        ("this morning", "tomorrow morning"),
        ("friday 13", "friday 1:00 pm"),
        ("every third friday", "every 3 weeks on friday"),
        ("in 5 minutes tomorrow", "in 5 minutes"),
        ("3/4/2026", "April 3"),
        ("17:30p", "5:30 pm"),
        ("tomorrow 2h", "tomorrow 2:00 pm"),
        ("this christmas", "christmas"),
        ("3/4/2026 9am", "April 3 9:00 am"),
    ],
)
def test_an_error_suggests_what_may_have_been_meant(error_of: ErrorOf, phrase: str, offered: str) -> None:
    assert offered in error_of(phrase).suggestions


@pytest.mark.parametrize(
    ("phrase", "offer", "locale"),
    [
        ("friday in 2 weeks", "friday in 2", "en_US"),
        ("in 5 minutes tomorrow", "in 5", "en_US"),
        ("every third friday", "every 2 weeks on friday", "en_US"),
        ("jeden dritten Dienstag", "alle 2 Wochen am dienstag", "de_DE"),
        ("heute früh", "morgen frueh", "de_DE"),
    ],
)
def test_an_error_suggests_nothing_that_means_something_else(
    error_of: ErrorOf, phrase: str, offer: str, locale: str
) -> None:
    assert offer not in error_of(phrase, locale=locale).suggestions


def test_soon_gives_three_suggestions(error_of: ErrorOf) -> None:
    assert len(error_of("soon").suggestions) == 3
    assert len(error_of("soon", now="2026-03-05T23:30:00").suggestions) == 3


def test_an_unknown_zone_and_a_naive_now_raise() -> None:
    for zone in ("Mars/Olympus", "../etc/passwd", "localtime", "", "EST\x00"):
        with pytest.raises(ParseError) as caught:
            parse("tomorrow", now=datetime(2026, 3, 5, tzinfo=UTC), zone=zone)
        assert caught.value.code == "unknown_zone"
    with pytest.raises(ParseError):
        parse("tomorrow", now=datetime(2026, 3, 5), zone="UTC")  # noqa: DTZ001 - the point of the test
