"""The API's responses, as far as this release knows them. Fields that a newer server adds are kept, and
are no error."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """An object of a response."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Links(Model):
    self: str
    page: str


class Snooze(Model):
    """A snooze. `scheduled_for` is when it was promised, `remind_at` the next try; `etag` is for `if_match`, and
    `event` undoes the act to which this is the response, after which a reminder in delivery `may_arrive`."""

    id: int
    state: str
    message_id: str
    subject: str | None
    sender_email: str | None
    note: str | None
    remind_at: datetime
    scheduled_for: datetime
    reading: str
    repeats: str | None
    late_seconds: float | None
    late_because: str | None
    reply_policy: str
    reply_scope: str
    at_any_hour: bool
    links: Links
    recurrence: dict[str, Any] | None = None
    priority: int = 0
    max_attempts: int = 5
    serialization_key: str | None = None
    reference: str | None = None
    etag: str = ""
    event: int | None = None
    may_arrive: bool = False
    flags: list[str] = Field(default_factory=list)


class Send(Model):
    """One reminder that was sent, or is in delivery."""

    state: str
    scheduled_for: datetime
    sent_at: datetime | None
    late: bool
    resends: int
    message_id: str


class SnoozeHistory(Snooze):
    """A snooze, and its history."""

    sent_at: datetime | None
    attempts: int
    last_error: str | None
    last_error_at: datetime | None
    sends: list[Send]


class SnoozePage(Model):
    """One page of a list; `next` is the URL of the next page."""

    snoozes: list[Snooze]
    next: str | None


class Reading(Model):
    """The meaning of a phrase; `at` is None if it only waits for a reply."""

    kind: str
    at: datetime | None
    flags: list[str]
    alternative: datetime | None
    recurrence: dict[str, Any] | None
    condition: str | None
    reading: str


class FieldError(Model):
    field: str
    detail: str


class Problem(Model):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    title: str = ""
    status: int
    code: str = ""
    detail: str = ""
    errors: list[FieldError] = Field(default_factory=list)
    suggestions: list[str] = Field(default_factory=list)


class BulkResult(Model):
    """The result for an item: its status as for a single request, and the snooze or the problem."""

    status: int
    id: int | None = None
    snooze: Snooze | None = None
    problem: Problem | None = None


class BulkReply(Model):
    """A result for each of many, in the order of the request. `undo` is for `undo_many`."""

    act: str
    done: int
    undo: str | None
    results: list[BulkResult]


class Undone(Model):
    """How many were undone, and how many not, by the reason; a reminder that was in delivery `may_arrive`."""

    done: int
    left: dict[str, int]
    may_arrive: bool = False
