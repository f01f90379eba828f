"""The history of a snooze: its events and the sends of its reminders, page by page."""

from typing import Any

from pydantic import BaseModel, Field

from snoozer.web.api.models.fields import PageCursor, PageSize, Request, Timestamp, Url
from snoozer.web.api.models.snoozes import Send


class HistoryQuery(Request):
    """Which page."""

    limit: PageSize = 50
    cursor: PageCursor | None = None


class EventEntry(BaseModel):
    """Something that happened to a snooze."""

    id: int = Field(json_schema_extra={"format": "int64"})
    at: Timestamp
    kind: str = Field(examples=["edited"], description="Other kinds may be added.")
    by: str = Field(description="user, operator, or the part of Snoozer that did it.", examples=["user"])
    route: str | None = Field(description="By which way.", examples=["api"])
    program: str | None = Field(description="The name of the token by which it was done.", examples=["Assistant"])
    own: bool = Field(description="Whether it was done by the token of this request.")
    detail: dict[str, Any] = Field(description="More about it, without addresses.")


class EventPage(BaseModel):
    """One page of events, newest first."""

    events: list[EventEntry]
    next: Url | None = Field(description="The next page, or null at the end.")


class SendPage(BaseModel):
    """One page of sends, the newest promise first."""

    sends: list[Send]
    next: Url | None = Field(description="The next page, or null at the end.")
