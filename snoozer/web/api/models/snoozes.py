"""A snooze in requests, changes, lists and responses."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from snoozer.db.state_words import State
from snoozer.queue.promise import CHOICES, CONDITIONS, OPTIONS
from snoozer.queue.reminder import ReplyPolicy, ReplyScope
from snoozer.web.api.models.fields import (
    ANY_HOUR,
    NOT_BLANK,
    POLICIES,
    Address,
    GivenPolicy,
    GivenScope,
    Instant,
    LocaleName,
    MaxAttempts,
    MessageId,
    Note,
    PageCursor,
    PageSize,
    Phrase,
    Priority,
    Reference,
    Request,
    SerializationKey,
    Subject,
    Timestamp,
    Url,
    Zone,
    sentence_error,
    text_check,
    whole,
)
from snoozer.web.api.models.recurrence import RecurrenceRule, Rule

MAX_QUERY_LENGTH = 200
MAX_MESSAGES = 50


class Times(Request):
    """When a message comes back, and on which terms."""

    remind_at: Instant | None = None
    when: Phrase | None = None
    recurrence: Rule | None = None
    zone: Zone | None = None
    locale: LocaleName | None = None
    note: Note | None = None
    reply_policy: GivenPolicy | None = None
    reply_scope: GivenScope | None = None
    at_any_hour: bool | None = Field(None, strict=True, description=ANY_HOUR)

    def has_time(self) -> bool:
        return (self.remind_at, self.when, self.recurrence) != (None, None, None)

    def check_one_time(self) -> Self:
        given = [name for name in ("remind_at", "when", "recurrence") if getattr(self, name) is not None]
        if len(given) != 1:
            raise sentence_error(
                given[0] if given else "when",
                "Give exactly one of remind_at (a date and time), when (a phrase such as tomorrow 8am) and recurrence.",
            )
        return self


class Timed(Times):
    """When a message comes back, on which terms, and how workers treat that."""

    priority: Priority | None = None
    max_attempts: MaxAttempts | None = None
    serialization_key: SerializationKey | None = None
    reference: Reference | None = None


def _given(field: str) -> dict[str, Any]:
    """The schema of an object in which the field exists and is not null."""
    return {"required": [field], "properties": {field: {"type": _JSON_TYPES.get(field, "string")}}}


_JSON_TYPES = {"at_any_hour": "boolean", "recurrence": "object", "priority": "integer", "max_attempts": "integer"}
_TIMELESS = {"note", *CHOICES}
_WITHOUT_TIME = {
    "propertyNames": {"enum": sorted(_TIMELESS)},
    "anyOf": [
        *({"required": [name]} for name in ("note", "serialization_key")),
        *map(_given, sorted(_TIMELESS - {"note", "serialization_key"})),
    ],
}
_visible_subject = {"required": ["subject"], "properties": {"subject": {"type": "string", "pattern": NOT_BLANK}}}


class NewSnooze(
    Timed,
    json_schema_extra={
        "oneOf": [_given("remind_at"), _given("when"), _given("recurrence")],
        "anyOf": [_given("message_id"), _visible_subject],
        "examples": [
            {"message_id": "<a@mail.example>", "subject": "Offer", "when": "tomorrow 8am"},
            {
                "subject": "Timesheet",
                "recurrence": {"unit": "week", "weekdays": [4], "at": "16:00"},
                "priority": -100,
                "serialization_key": "timesheets",
            },
        ],
    },
):
    """Give remind_at, when or recurrence. message_id may be missing if there is a subject; it is generated then."""

    message_id: MessageId | None = None
    subject: Subject | None = None
    sender_email: Address | None = None
    mailbox: Annotated[int, *whole(1, 2**63 - 1)] | None = Field(
        None,
        description="The id of one of your connected mailboxes: the message is searched for and put away in it alone. "
        "Without it in all of them, and put away if one has one such message.",
        json_schema_extra={"format": "int64"},
    )
    conversation: bool = Field(
        True,
        strict=True,
        description="In a connected mailbox, older messages of its conversation that lie in the same folder leave and "
        "return with the message, as one snooze. Newer ones stay. With false the message leaves alone.",
    )

    _check_time = model_validator(mode="after")(Timed.check_one_time)


class Change(
    Timed,
    json_schema_extra={
        "oneOf": [_given("remind_at"), _given("when"), _given("recurrence"), _WITHOUT_TIME],
        "examples": [{"when": "in 3 days"}, {"when": "friday 11am", "occurrence": "once"}],
    },
):
    """A new time, a new note, another reply policy or scope, other options, or several of these. A note or a
    serialization_key of null removes it."""

    occurrence: Literal["once", "every"] | None = Field(
        None,
        description="Of what repeats, with a new time that does not: `once` moves its next time only, `every` this and "
        "all after it. Without it the repetition ends, with the flag repetition_ended.",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.has_time() and (not self._names_a_change() or not self.model_fields_set <= _TIMELESS):
            raise sentence_error(
                "when", "Give a new time (remind_at, when or recurrence), a note, an option, or several."
            )
        return self.check_one_time() if self.has_time() else self

    def _names_a_change(self) -> bool:
        return bool(self.model_fields_set & {"note", "serialization_key"}) or self._names_any(_TIMELESS)

    def _names_any(self, fields: Iterable[str]) -> bool:
        return any(getattr(self, name) is not None for name in fields)

    def moves_occurrence(self) -> bool:
        """Whether a series continues after a new time."""
        return self.occurrence is not None and self.has_time()

    def changes_promise(self) -> bool:
        """Whether it changes more than options, which do not affect the promise and its attempts."""
        return self._names_any(CONDITIONS) or self.has_time() or "note" in self.model_fields_set

    def changes_note_alone(self) -> bool:
        """Whether the note is the only change to the promise."""
        return "note" in self.model_fields_set and not self._names_any(CONDITIONS) and not self.has_time()

    def changes_options(self) -> bool:
        """Whether it changes how workers treat the snooze."""
        return self._names_any(OPTIONS) or "serialization_key" in self.model_fields_set


class SnoozeQuery(Request):
    """Which snoozes a list holds."""

    limit: PageSize = 50
    cursor: PageCursor | None = None
    state: State | None = None
    q: Annotated[
        str | None,
        text_check(f"{MAX_QUERY_LENGTH} characters"),
        Field(
            description="Words and filters, as the search of the page takes them: from:, subject:, note:, due:<friday, "
            "state:late, repeats:. What has not come back, the next one first; not together with `state`.",
            json_schema_extra={"maxLength": MAX_QUERY_LENGTH, "examples": ["from:ann due:<friday"]},
        ),
    ] = None

    message_id: Annotated[
        list[MessageId],
        Field(
            description="The live snooze of this message, or else the newest of the last weeks; several if it "
            f"is repeated, up to {MAX_MESSAGES} times. One page, in the order of the parameters, without messages that "
            "were never snoozed; not together with other parameters. Its ETag changes only if a snooze or its state "
            "does.",
            json_schema_extra={"maxItems": MAX_MESSAGES, "examples": [["<a@mail.example>", "<b@mail.example>"]]},
        ),
    ] = Field(default_factory=list)

    @model_validator(mode="after")
    def _messages_alone(self) -> Self:
        if not all(map(str.strip, self.message_id)):
            raise sentence_error("message_id", "message_id names no message.")
        if len(self.message_id) > MAX_MESSAGES:
            raise sentence_error("message_id", f"message_id may be repeated up to {MAX_MESSAGES} times.")
        if self.message_id and self.model_fields_set > {"message_id"}:
            raise sentence_error("message_id", "message_id takes no other parameter beside it.")
        return self

    @model_validator(mode="after")
    def _one_filter(self) -> Self:
        if self.q is not None and (self.state is not None or not self.q.strip() or len(self.q) > MAX_QUERY_LENGTH):
            raise sentence_error("q", f"q takes 1 to {MAX_QUERY_LENGTH} characters, and no state beside it.")
        return self


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
    recurrence: RecurrenceRule | None = Field(
        description="How it repeats, as a request takes it; null also where this release cannot read it."
    )
    late_seconds: float | None = Field(
        description="How much later than promised the reminder was sent, or is by now; null up to half a minute."
    )
    late_because: str | None = Field(
        description="Why it is late, as far as is known.", examples=["because the mail server was away"]
    )
    reply_policy: ReplyPolicy = Field(description=POLICIES.strip())
    reply_scope: ReplyScope = Field(description="Whether replies to other messages of its thread count, too.")
    at_any_hour: bool = Field(description=ANY_HOUR)
    priority: int
    max_attempts: int
    serialization_key: str | None
    reference: str | None
    etag: str = Field(
        description="The ETag of the snooze as it is here, for If-Match. It changes with the snooze and its state, not "
        "with the distance in `reading` nor with `late_seconds`.",
        examples=['"5d1e0c6f7a"'],
    )
    links: Links
    event: int | None = Field(
        None,
        description="The event by which this request can be undone. Only in the answer to the request that did it.",
        json_schema_extra={"format": "int64"},
    )
    may_arrive: bool = Field(
        False,
        description="Whether a reminder that was on its way before this request may still arrive. Only in the answer "
        "to the request that changed the snooze.",
    )
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
