"""A ladder comes again later, unless it is done or a reply ends it; unclear lengths are asked back."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any

import pytest

from snoozer.snoozes import input
from snoozer.timephrase.recurrence import Recurrence, next_reminder_after
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.timephrase.series import rest

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
NEW_YORK = "America/New_York"
NOW = datetime(2026, 3, 5, 15, 20, tzinfo=UTC)


def steps(parsed: ParsedTime) -> list[str]:
    """The first time, and those after it, on the clock of New York."""
    assert parsed.recurrence is not None
    later = islice(parsed.recurrence.dates(), 9)
    return [f"{parsed.wall:%m-%d %H:%M}", *(f"{day:%m-%d} {parsed.recurrence.at:%H:%M}" for day in later)]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("in 2 days, then in 3 more, if no reply", ["03-07 10:20", "03-10 10:20"]),
        ("2 days then 3 more days if no one replies", ["03-07 10:20", "03-10 10:20"]),
        ("in two days, then after three days, if no reply", ["03-07 10:20", "03-10 10:20"]),
        ("in 2 days, and again 3 days later, if no reply", ["03-07 10:20", "03-10 10:20"]),
        ("in 2 days if no reply, then in another 3 days", ["03-07 10:20", "03-10 10:20"]),
        ("if no reply in 2 days, then 3 days later", ["03-07 10:20", "03-10 10:20"]),
        ("2d then 3d later if no reply", ["03-07 10:20", "03-10 10:20"]),
        ("tomorrow 9am, then a week later, if no reply", ["03-06 09:00", "03-13 09:00"]),
        ("in 2 days, then in 3 more, then in 3 more, if no reply", ["03-07 10:20", "03-10 10:20", "03-13 10:20"]),
        ("in a week, then 2 more weeks, then 2 more weeks, if no reply", ["03-12 10:20", "03-26 10:20", "04-09 10:20"]),
        (
            "jan 31 9am, then a month later, then a month later, if no reply",
            ["01-31 09:00", "02-28 09:00", "03-31 09:00"],
        ),
        ("in 1 day, then in 2 more business days, if no reply", ["03-06 10:20", "03-10 10:20"]),
        ("in 36 hours, then 2 days later, if no reply", ["03-06 22:20", "03-08 22:20"]),
    ],
)
def test_each_time_is_counted_from_the_one_before(typed: Typed, phrase: str, expected: list[str]) -> None:
    parsed = typed(phrase)
    assert (parsed.kind, parsed.condition, steps(parsed)) == ("recurring", "no_reply", expected)
    assert parsed.recurrence is not None
    assert parsed.recurrence.ends_when_done
    assert input.reminder_time_of(parsed, now=NOW).reply_policy == "cancel_on_reply"


@pytest.mark.parametrize(
    "phrase",
    [
        "in 2 Tagen, dann in 3 weiteren, wenn keine Antwort",
        "in 2 Tagen, dann nach 3 weiteren Tagen, falls niemand antwortet",
        "in 2 Tagen, dann nach 3 Tagen, falls keine Antwort kommt",
        "in 2 Tagen, und noch einmal 3 Tage später, falls keine Antwort",
        "falls keine Antwort in 2 Tagen, danach nach weiteren 3 Tagen",
    ],
)
def test_in_german(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase, locale="de_DE")
    assert (parsed.condition, steps(parsed)) == ("no_reply", ["03-07 10:20", "03-10 10:20"])
    assert parsed.sentence == (
        "Samstag, 7. März, 10:20 (in 2 Tagen), America/New York, dann noch einmal am Dienstag, 10. März 2026 um 10:20, "
        "wenn es nicht erledigt ist. Eine Antwort beendet es."
    )


def test_without_a_condition_only_done_ends_it(typed: Typed) -> None:
    parsed = typed("in 2 days, then in 3 more")
    assert (parsed.condition, steps(parsed)) == (None, ["03-07 10:20", "03-10 10:20"])
    assert input.reminder_time_of(parsed, now=NOW).reply_policy is None
    assert parsed.sentence == (
        "Saturday, March 7, 10:20 am (in 2 days), America/New York, then once more on Tuesday, March 10, 2026 at "
        "10:20 am, unless it is done."
    )


@pytest.mark.parametrize(
    ("phrase", "asked"),
    [
        ("in 2 days, then in 3 days, if no reply", "Is that counted from now"),
        ("in 2 days, then 3 days", "Is that counted from now"),
        ("in 2 hours, then in 3 more, if no reply", "It comes again after days, weeks or months"),
        ("in 2 days, then in 3 more hours, if no reply", "It comes again after days, weeks or months"),
        ("in 1 day, then in 3 more, then in 7 more, if no reply", "After the second time it repeats by one length"),
        ("in 1 day, then 2 more business days, then 2 more business days", "After the second time it repeats"),
        ("2026-03-07T09:00+05:00, then 3 days later", "A repetition needs a place"),
    ],
)
def test_other_shapes_are_asked_back(error_of: ErrorOf, phrase: str, asked: str) -> None:
    error = error_of(phrase)
    assert error.code == "unrecognised"
    assert error.message.startswith(asked)


@pytest.mark.parametrize(
    "phrase",
    [
        "in 2 days, then", "then in 3 more", "in 3 more", "3 more days", "in 2 days, then friday", "in 2 days, 3 more",
        "every friday, then 3 more", "in 2 days, then in 3 more, until they reply", "in 2 days, then in more",
        "in 2 days, then in -3 more", "friday, then in 3 more",
    ],
)  # fmt: skip
def test_half_of_it_is_refused(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase).code == "unrecognised"


def test_far_steps_are_refused(error_of: ErrorOf) -> None:
    assert error_of("in 2 days, then 30 years later").code == "too_far"
    assert error_of("in 9 years, then 5 years later").code == "too_far"


def test_a_first_time_with_two_meanings_says_so(typed: Typed) -> None:
    assert "ambiguous" in typed("4/5 9am, then 3 days later").flags


def test_the_series_knows_its_end() -> None:
    ladder = Recurrence(unit="day", interval=3, start=date(2026, 3, 10), at=time(10, 20), times=1, kind="ladder")
    plain: Any = ladder.as_json()
    assert Recurrence.from_json(plain) == ladder
    first = datetime(2026, 3, 7, 15, 20, tzinfo=UTC)
    second = next_reminder_after(plain, promised=first, now=first, zone=NEW_YORK)
    assert second == datetime(2026, 3, 10, 14, 20, tzinfo=UTC)
    assert next_reminder_after(plain, promised=second, now=second, zone=NEW_YORK) is None
    assert rest(ladder, first, NEW_YORK) == ladder


@pytest.mark.parametrize("kind", ["steps", 3, None, ["ladder"]])
def test_an_unknown_kind_is_refused(kind: object) -> None:
    plain = Recurrence(unit="day", interval=3, start=date(2026, 3, 10), at=time(9)).as_json()
    assert "kind" not in plain
    with pytest.raises(ValueError):
        Recurrence.from_json(plain | {"kind": kind})
