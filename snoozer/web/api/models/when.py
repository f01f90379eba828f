"""A phrase for a time, and its meaning."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from snoozer.web.api.models.fields import Instant, LocaleName, Phrase, Request, Timestamp, Zone


class WhenQuery(Request):
    """A phrase and what it is read by."""

    phrase: Phrase
    zone: Zone | None = None
    locale: LocaleName | None = None
    now: Instant | None = Field(
        None, description="ISO 8601, wall time in `zone` without an offset; the database's clock unless given."
    )


class Reading(BaseModel):
    """The meaning of a phrase."""

    kind: Literal["instant", "recurring", "condition"]
    at: Timestamp | None
    flags: list[str]
    alternative: Timestamp | None
    recurrence: dict[str, Any] | None
    condition: str | None
    reading: str
