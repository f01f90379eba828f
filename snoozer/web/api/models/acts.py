"""The request bodies of acts on a snooze."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from snoozer.web.api.models.fields import Instant, Request, sentence_error, whole
from snoozer.web.api.models.recurrence import MAX_TIMES, Day


class Nothing(Request):
    """An act that takes no fields."""


class Skip(Request, json_schema_extra={"examples": [{}]}):
    """Which time is left out."""

    scheduled_for: Instant | None = Field(
        None, description="The promise that is skipped, if it is still this one; the present one unless given."
    )


class SeriesEnd(Request, json_schema_extra={"examples": [{"times": 3}, {"until": "2027-03-21"}, {}]}):
    """When what repeats ends: on a day or after so many times; without either it never does."""

    until: Day | None = None
    times: Annotated[int, *whole(1, MAX_TIMES)] | None = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.until is not None and self.times is not None:
            raise sentence_error("times", "Give until or times, not both.")
        return self


class Undo(Request, json_schema_extra={"examples": [{"event": 4711}, {}]}):
    """Which act to undo."""

    event: Annotated[int, *whole(1, 2**63 - 1)] | None = Field(
        None, description="The event of the act; your last one unless given.", json_schema_extra={"format": "int64"}
    )
