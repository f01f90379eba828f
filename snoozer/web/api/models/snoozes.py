"""A snooze: as it is asked for, changed, listed and shown."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from snoozer.domain.reminder import ReplyPolicy, ReplyScope
from snoozer.domain.state import State
from snoozer.web.api.models.fields import (
    ANY_HOUR,
    NOT_BLANK,
    POLICIES,
    Address,
    GivenPolicy,
    GivenScope,
    Instant,
    LocaleName,
    MessageId,
    Note,
    PageCursor,
    PageSize,
    Phrase,
    Request,
    Subject,
    Timestamp,
    Url,
    Zone,
    sentence_error,
)


class _Timed(Request):
    remind_at: Instant | None = None
    when: Phrase | None = None
    zone: Zone | None = None
    locale: LocaleName | None = None
    note: Note | None = None
    reply_policy: GivenPolicy | None = None
    reply_scope: GivenScope | None = None
    at_any_hour: bool | None = Field(None, strict=True, description=ANY_HOUR)

    def has_time(self) -> bool:
        return self.remind_at is not None or self.when is not None

    def check_one_time(self) -> Self:
        if (self.remind_at is None) == (self.when is None):
            raise sentence_error(
                "when" if self.remind_at is None else "remind_at",
                "Give exactly one of remind_at (a date and time) and when (a phrase such as tomorrow 8am).",
            )
        return self


def _given(field: str) -> dict[str, Any]:
    """The schema of an object in which the field is there and not null."""
    return {"required": [field], "properties": {field: {"type": "boolean" if field == "at_any_hour" else "string"}}}


_TIMELESS = {"note", "reply_policy", "reply_scope", "at_any_hour"}
_WITHOUT_TIME = {
    "propertyNames": {"enum": sorted(_TIMELESS)},
    "anyOf": [{"required": ["note"]}, *map(_given, ("reply_policy", "reply_scope", "at_any_hour"))],
}
_visible_subject = {"required": ["subject"], "properties": {"subject": {"type": "string", "pattern": NOT_BLANK}}}


class NewSnooze(
    _Timed,
    json_schema_extra={
        "oneOf": [_given("remind_at"), _given("when")],
        "anyOf": [_given("message_id"), _visible_subject],
        "examples": [{"message_id": "<a@mail.example>", "subject": "Offer", "when": "tomorrow 8am"}],
    },
):
    """Exactly one of remind_at and when. message_id may be missing where there is a subject; it is then made up."""

    message_id: MessageId | None = None
    subject: Subject | None = None
    sender_email: Address | None = None

    _check_time = model_validator(mode="after")(_Timed.check_one_time)


class Change(
    _Timed,
    json_schema_extra={
        "oneOf": [_given("remind_at"), _given("when"), _WITHOUT_TIME],
        "examples": [{"when": "in 3 days"}],
    },
):
    """A new time, a new note, another reply policy or scope, or several of these. A note of null removes it."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.has_time() and (not self._names_a_change() or not self.model_fields_set <= _TIMELESS):
            raise sentence_error(
                "when", "Give a new time (remind_at or when), a new note, a new reply_policy, or several."
            )
        return self.check_one_time() if self.has_time() else self

    def _names_a_change(self) -> bool:
        return "note" in self.model_fields_set or {self.reply_policy, self.reply_scope, self.at_any_hour} != {None}


class SnoozeQuery(Request):
    """Which snoozes a list holds."""

    limit: PageSize = 50
    cursor: PageCursor | None = None
    state: State | None = None


class Links(BaseModel):
    self: Url
    page: Url


class Snooze(BaseModel):
    """A snooze."""

    id: Annotated[int, Field(json_schema_extra={"format": "int64"})]
    state: State
    message_id: str
    subject: str | None
    sender_email: str | None
    note: str | None
    remind_at: Timestamp = Field(description="The next try; later than `scheduled_for` after a failed one.")
    scheduled_for: Timestamp = Field(description="The instant that was promised.")
    reading: str = Field(description="The promise in words.", examples=["Friday 6 March, 08:00, Europe/Berlin."])
    repeats: str | None = Field(description="How it repeats, and when that ends, in words; null for what comes once.")
    late_seconds: float | None = Field(
        description="How much later than promised the reminder was sent, or is by now; null up to half a minute."
    )
    late_because: str | None = Field(
        description="Why it is late, as far as is known.", examples=["because the mail server was away"]
    )
    reply_policy: ReplyPolicy = Field(description=POLICIES.strip())
    reply_scope: ReplyScope = Field(description="Whether replies to other messages of its thread count, too.")
    at_any_hour: bool = Field(description=ANY_HOUR)
    links: Links
    flags: list[str] = Field(
        default_factory=list,
        description="What to know about the reading of a phrase, such as ambiguous or dst_gap; and repetition_ended "
        "where the new time replaced a repetition. Only in the answer to the request that gave the time.",
    )


class Send(BaseModel):
    """One reminder in the ledger."""

    state: Literal["reserved", "sending", "sent", "failed", "uncertain"]
    scheduled_for: Timestamp
    sent_at: Timestamp | None
    late: bool = Field(description="The server's answer came after the claim was lost.")
    resends: int
    message_id: str = Field(description="The reminder's own Message-ID.")


class SnoozeHistory(Snooze):
    """A snooze and what became of it."""

    sent_at: Timestamp | None = Field(description="When the mail server took the reminder.")
    attempts: int
    last_error: str | None = Field(description="Without addresses.")
    last_error_at: Timestamp | None
    sends: list[Send]


class SnoozePage(BaseModel):
    """One page of a list."""

    snoozes: list[Snooze]
    next: Url | None = Field(description="The next page, or null at the end.")
