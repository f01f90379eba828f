"""The recurrence of a snooze as an object: in requests, in snoozes, and in the meaning of a phrase."""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import wall_time
from snoozer.web.api.models.fields import Request, whole

# Limits for a series, because its occurrences are counted one by one from its start.
OLDEST_START = timedelta(days=366)
MAX_TIMES = 10_000
_AT = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)

Weekday = Annotated[int, *whole(0, 6)]


def _pattern(kind: type[date] | type[time], form: str, example: str) -> Any:
    def read(value: object, handler: Callable[[object], Any]) -> Any:
        if type(value) is kind:
            return value
        if isinstance(value, str) and (kind is date or _AT.fullmatch(value)):
            try:
                return kind.fromisoformat(value)
            except ValueError:
                pass
        raise PydanticCustomError("bad_date", f"must be a {form} such as {example}.")

    return WrapValidator(read)


Day = Annotated[date, _pattern(date, "day", "2027-03-21")]
TimeOfDay = Annotated[time, _pattern(time, "time", "09:00"), Field(json_schema_extra={"examples": ["09:00"]})]


class RecurrenceRule(Request):
    """Every `interval` units from `start` on, at the time `at` on the clock of the snooze's zone: what `/when` returns
    as `recurrence` is one.

    Weeks repeat on `weekdays` (Monday is 0). Months and years repeat on `day` (-1 is the last day) or on the `nth` of
    the first of `weekdays` (-1 is the last); years in `month`. An occurrence on a day of `rest` moves by
    `weekend_rule`.
    """

    unit: Literal["day", "week", "month", "year"]
    at: TimeOfDay
    interval: Annotated[int, *whole(1, 1000)] = 1
    start: Day | None = Field(None, description="Where the units are counted from; today unless given.")
    weekdays: Annotated[list[Weekday], Field(max_length=7)] = Field(default_factory=list)
    day: Annotated[int, *whole(-1, 31)] | None = None
    nth: Annotated[int, *whole(-1, 5)] | None = None
    month: Annotated[int, *whole(1, 12)] | None = None
    until: Day | None = Field(None, description="The last possible day.")
    times: Annotated[int, *whole(1, MAX_TIMES)] | None = Field(None, description="How many occurrences there are.")
    weekend_rule: Literal["none", "before", "after"] = "none"
    rest: Annotated[list[Weekday], Field(max_length=7)] = Field(default_factory=lambda: [5, 6])
    week_start: Weekday = 0
    kind: Literal["series", "ladder", "someday"] = Field(
        "series", description="A ladder ends when it is done; someday are the reviews of a snooze without a date."
    )

    def recurrence(self, *, now: datetime, zone: str) -> Recurrence:
        """Converts to the grammar's value. Raises SnoozeError if the rule never matches."""
        today = wall_time(now, zone).date()
        start = self.start or today
        if start < today - OLDEST_START:
            raise SnoozeError("bad_recurrence", "recurrence starts too long ago: name a start of the last year.")
        plain = self.model_dump(mode="json") | {"start": start.isoformat(), "at": self.at.isoformat()}
        try:
            return Recurrence.from_json(plain)
        except ValueError as error:
            raise SnoozeError("bad_recurrence", f"recurrence cannot be counted: {error}") from None


def _read(value: object, handler: Callable[[object], RecurrenceRule]) -> RecurrenceRule:
    try:
        return handler(value)
    except ValidationError as invalid:
        error = invalid.errors()[0]
        member = ".".join(str(one) for one in error["loc"])
        message = error["msg"] if error["msg"].startswith("must ") else f"is wrong: {error['msg']}."
        raise PydanticCustomError("bad_recurrence", "{reason}", {"reason": f"is no rule: {member} {message}"}) from None


Rule = Annotated[RecurrenceRule, WrapValidator(_read)]
