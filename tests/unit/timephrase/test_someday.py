"""Someday is not a time: it is reviewed every week, on the day that the person chose."""

from collections.abc import Callable
from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.day_shape import DayShape, DayShapeError
from snoozer.timephrase.locales import LANGUAGES
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime

Typed = Callable[..., ParsedTime]
ENGLISH, GERMAN = (sorted(LANGUAGES[name].data.words["someday"]["1"]) for name in ("en", "de"))


@pytest.mark.parametrize("phrase", [*ENGLISH, "Someday", "SOMEDAY", "until someday"])
def test_it_is_reviewed_on_fridays_unless_another_day_is_chosen(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase)
    assert (parsed.kind, f"{parsed.wall:%Y-%m-%d %H:%M}", parsed.flags) == ("recurring", "2026-03-06 09:00", ())
    assert parsed.recurrence is not None
    assert (parsed.recurrence.kind, parsed.recurrence.until, parsed.recurrence.times) == ("someday", None, None)
    assert parsed.sentence == (
        "Someday, reviewed every Friday at 9:00 am; the next time Friday, March 6, 9:00 am (in 23 hours), "
        "America/New York."
    )


@pytest.mark.parametrize("phrase", [*GERMAN, "Irgendwann", "someday"])
def test_in_german(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase, locale="de_DE", zone="Europe/Berlin")
    assert parsed.recurrence is not None
    assert parsed.recurrence.kind == "someday"
    assert parsed.sentence == (
        "Irgendwann, durchgesehen jeden Freitag um 09:00; das nächste Mal Freitag, 6. März, 09:00 (in 23 Stunden), "
        "Europe/Berlin."
    )


@pytest.mark.parametrize(("review_on", "first"), [(1, "03-09"), (4, "03-12"), (5, "03-06"), (7, "03-08")])
def test_the_day_is_chosen(typed: Typed, review_on: int, first: str) -> None:
    assert f"{typed('someday', review_on=review_on).wall:%m-%d %H:%M}" == f"{first} 09:00"


def test_it_begins_when_work_starts() -> None:
    shape = DayShape(review_on=6, work_from=time(7, 30))
    now = datetime(2026, 3, 5, 10, 20, tzinfo=ZoneInfo("Europe/Berlin"))
    parsed = parse("someday", now=now, zone="Europe/Berlin", own=lambda: shape)
    assert f"{parsed.at:%Y-%m-%d %H:%M}" == "2026-03-07 07:30"


@pytest.mark.parametrize("phrase", ["one day", "in one day"])
def test_one_day_is_a_length(typed: Typed, phrase: str) -> None:
    assert typed(phrase).recurrence is None


@pytest.mark.parametrize("day", [0, 8, -1])
def test_a_day_that_does_not_exist_is_refused(day: int) -> None:
    with pytest.raises(DayShapeError) as refused:
        DayShape(review_on=day).check()
    assert refused.value.field == "review_on"
