"""The sentence lets a person check the result: the day, the hour, the distance, the zone, and every flag in words."""

from collections.abc import Callable

import pytest

from snoozer.timephrase.date_format import DateFormat
from snoozer.timephrase.describe import describe_recurrence
from snoozer.timephrase.result import ParsedTime

Typed = Callable[..., ParsedTime]


@pytest.mark.parametrize(
    ("phrase", "sentence"),
    [
        ("tomorrow", "Friday, March 6, 8:00 am (in 22 hours), America/New York."),
        ("in 10 minutes", "Thursday, March 5, 10:30 am (in 10 minutes), America/New York."),
        ("2h30m", "Thursday, March 5, 12:50 pm (in 2 hours 30 minutes), America/New York."),
        (
            "next friday",
            "Friday, March 13, 8:00 am (in 8 days), America/New York. It could also mean Friday, March 6, 8:00 am.",
        ),
        (
            "tomorrow 9am Europe/London",
            "Friday, March 6, 4:00 am (in 18 hours), America/New York, "
            "which is Friday, March 6, 9:00 am in Europe/London.",
        ),
        (
            "3d if no reply",
            "If no one replies by then: Sunday, March 8, 10:20 am (in 3 days), America/New York.",
        ),
        ("until they reply", "When someone replies, with no time set."),
        (
            "every 2 weeks on tuesday 14:00 for 3 times",
            "Every 2 weeks on Tuesday at 2:00 pm 3 times: first Tuesday, March 10, 2:00 pm (in 5 days), "
            "America/New York, then Tuesday, March 24.",
        ),
    ],
)
def test_the_sentence_can_be_checked(typed: Typed, phrase: str, sentence: str) -> None:
    assert typed(phrase).sentence == sentence


def test_an_hour_that_comes_twice_has_its_offset(typed: Typed) -> None:
    first, second = (typed(f"in {hours} hours", now="2026-10-30T01:30:00").sentence for hours in (48, 49))
    assert first == "Sunday, November 1, 1:30 am UTC-04:00 (in 2 days), America/New York."
    assert second == "Sunday, November 1, 1:30 am UTC-05:00 (in 2 days), America/New York."


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("every monday 9am", "Every Monday at 9:00 am"),
        ("every weekday 9am", "Every weekday at 9:00 am"),
        ("every tuesday and friday 9am", "Every Tuesday and Friday at 9:00 am"),
        ("every day 9am", "Every day at 9:00 am"),
        ("every month on the 31st", "Every month on day 31 at 8:00 am"),
        ("every last friday 5pm", "Every month on the last Friday at 5:00 pm"),
    ],
)
def test_a_recurrence_is_described_in_usual_words(typed: Typed, phrase: str, words: str) -> None:
    recurrence = typed(phrase).recurrence
    assert recurrence is not None
    assert describe_recurrence(recurrence, dates=DateFormat.of("en_US")) == words


@pytest.mark.parametrize(
    ("phrase", "flag", "words"),
    [
        ("at 3", "assumed_meridiem", "3:00 pm was assumed"),
        ("sunday 2:30am", "dst_gap", "go forward"),
        ("nov 1 1:30am", "dst_overlap", "comes twice"),
        ("feb 29", "next_year", "2028"),
        ("every month on the 31st", "clamped", "last day of the month"),
        ("thursday 6pm", "ambiguous", "Thursday, March 12, 6:00 pm"),
    ],
)
def test_every_flag_is_explained(typed: Typed, phrase: str, flag: str, words: str) -> None:
    parsed = typed(phrase)
    assert flag in parsed.flags
    assert words in parsed.sentence


def test_the_json_is_that_of_the_contract(typed: Typed) -> None:
    assert typed("next friday").as_json() == {
        "kind": "instant",
        "at": "2026-03-13T08:00:00-04:00",
        "flags": ["ambiguous"],
        "alternative": "2026-03-06T08:00:00-05:00",
        "recurrence": None,
        "condition": None,
        "reading": typed("next friday").sentence,
    }


def test_the_alternative_is_a_phrase_itself(typed: Typed) -> None:
    alternative = typed("next friday").alternative
    assert alternative is not None
    assert typed(alternative.isoformat()).at == alternative


def test_time_kind_is_elapsed_for_spans_and_offsets_and_wall_otherwise(typed: Typed) -> None:
    kinds = {phrase: typed(phrase).time_kind for phrase in ("in 72 hours", "in 3 days", "9am", "10am +02:00")}
    assert kinds == {"in 72 hours": "elapsed", "in 3 days": "wall", "9am": "wall", "10am +02:00": "elapsed"}
