"""A phrase that waits for a reply says when it ends without one."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from snoozer.snoozes import input
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.translations import speaking

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
NOW = datetime(2026, 3, 5, 10, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "locale", "expected"),
    [
        ("until someone replies, or in 2 weeks", "en_US", "2026-03-19T10:20"),
        ("when they reply or friday 9am", "en_US", "2026-03-06T09:00"),
        ("until they get back to me, at the latest on monday", "en_US", "2026-03-09T08:00"),
        ("friday or until i hear back", "en_US", "2026-03-06T08:00"),
        ("in 3 days, or when someone replies", "en_US", "2026-03-08T10:20"),
        ("bis jemand antwortet, oder in 2 Wochen", "de_DE", "2026-03-19T10:20"),
        ("bis sich jemand meldet, spätestens Freitag", "de_DE", "2026-03-06T08:00"),
        ("Freitag oder bis jemand antwortet", "de_DE", "2026-03-06T08:00"),
    ],
)
def test_the_first_reply_brings_it_back_at_the_latest_at_that_time(
    typed: Typed, phrase: str, locale: str, expected: str
) -> None:
    parsed = typed(phrase, locale=locale)
    assert (parsed.kind, parsed.condition, parsed.wall) == (
        "condition",
        "until_reply",
        datetime.fromisoformat(expected),
    )
    starts = {"en_US": "As soon as someone replies, or else: ", "de_DE": "Sobald jemand antwortet, spätestens: "}
    assert parsed.sentence.startswith(starts[locale])
    assert input.reminder_time_of(parsed, now=NOW).reply_policy == "until_reply"


HALVES = ["until they reply or", "or friday", "friday or", "friday or monday", "or they reply"]


@pytest.mark.parametrize("phrase", HALVES)
def test_half_of_it_is_refused(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase).code == "unrecognised"


@pytest.mark.parametrize(
    ("phrase", "locale"),
    [
        ("until someone replies", "en_US"),
        ("until they get back to me", "en_GB"),
        ("bis jemand antwortet", "de_DE"),
        ("bis sich jemand meldet", "de_AT"),
    ],
)
def test_without_a_time_it_asks_for_one_by_phrases_that_work(phrase: str, locale: str) -> None:
    with speaking(locale[:2]), pytest.raises(SnoozeError) as caught:
        input.parse_phrase(phrase, now=NOW, zone="UTC", locale=locale)
    assert caught.value.code == "condition"
    assert caught.value.message.endswith("?")
    assert len(caught.value.suggestions) == 3
    for suggestion in caught.value.suggestions:
        parsed = input.parse_phrase(suggestion, now=NOW, zone="UTC", locale=locale)
        assert input.reminder_time_of(parsed, now=NOW).reply_policy == "until_reply"
