"""Phrases typed in New York on Thursday 5 March 2026, 10:20: `typed("tomorrow 9am")`, `error_of("9ish")`."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]


@pytest.fixture
def typed() -> Typed:
    def parse_typed(
        phrase: str,
        *,
        now: str = "2026-03-05T10:20:00",
        zone: str = "America/New_York",
        locale: str = "en_US",
        hours: WorkingHours | None = None,
        back: datetime | None = None,
        review_on: int = 5,
    ) -> ParsedTime:
        away: dict[str, Any] = {} if back is None else {"back_on": back.date(), "work_from": back.time()}
        shape = DayShape(review_on=review_on, **away)
        moment = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(zone))
        return parse(phrase, now=moment, zone=zone, locale=locale, hours=hours or WorkingHours(), own=lambda: shape)

    return parse_typed


@pytest.fixture
def error_of(typed: Typed) -> ErrorOf:
    def parse_error(phrase: str, **desk: Any) -> ParseError:
        with pytest.raises(ParseError) as caught:
            typed(phrase, **desk)
        for suggestion in caught.value.suggestions:
            typed(suggestion, **desk)
        assert len(caught.value.suggestions) <= 3
        return caught.value

    return parse_error
