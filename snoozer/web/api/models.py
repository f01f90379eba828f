"""The JSON of the API as pydantic models: requests are validated by them, responses are made of them, and
`openapi.json` is generated from them.

The message of an error continues a sentence that begins with the name of the field, unless its type is "sentence".
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, RootModel, model_validator
from pydantic_core import PydanticCustomError

from snoozer.db.queries import Cursor, InvalidCursor
from snoozer.domain.reminder import MAX_NOTE_LENGTH, ReplyPolicy, ReplyScope
from snoozer.domain.state import State
from snoozer.mime import headers
from snoozer.snoozing import MAX_MESSAGE_ID_OCTETS
from snoozer.timephrase import locales, zones

MAX_SUBJECT_LENGTH = 998
MAX_TEXT_LENGTH = 8192
MAX_PAGE_SIZE = 200
_ANY_HOUR = (
    "Whether it comes when it was promised although its owner's day has quiet hours, a day off or a vacation then."
)

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)

# In the notation that Python and JSON Schema share.
_CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
_NO_NUL = r"^[^\u0000]*$"
_NOT_BLANK = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"


def _text(limit: str = f"{MAX_TEXT_LENGTH} characters") -> BeforeValidator:
    """Returns a check that a value is a text that can be stored. `limit` is the field's own limit, for the message."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise PydanticCustomError("not_text", "must be a text.")
        if len(value) > MAX_TEXT_LENGTH or re.search("[\x00\ud800-\udfff]", value):
            message = f"must be a text of at most {limit}, without NUL or halves of characters."
            raise PydanticCustomError("not_storable", message)
        return value

    return BeforeValidator(check)


def _identifier(text: str) -> str:
    if re.search(f"[{_CONTROLS}]", text):
        raise PydanticCustomError("control", "must be in one line, without line breaks and other control characters.")
    return text


def _subject(text: str) -> str | None:
    """The subject as a person reads it, in one line; None when nothing visible is left."""
    if len(text) > MAX_SUBJECT_LENGTH:
        raise PydanticCustomError("too_long", f"has more than {MAX_SUBJECT_LENGTH} characters.")
    return headers.sanitize_line(text) or None


def _canonical(lookup: Callable[[str], str | None], error: str, message: str) -> AfterValidator:
    """Returns a validator that replaces a text by its canonical form, which `lookup` returns, or None."""

    def replace(text: str) -> str:
        found = lookup(text)
        if found is None:
            raise PydanticCustomError(error, message)
        return found

    return AfterValidator(replace)


def _instant(text: str) -> datetime:
    """An ISO 8601 date and time; naive when it has no offset."""
    if not _INSTANT.fullmatch(text):
        raise PydanticCustomError("not_instant", "must be a date and time such as 2027-03-21T09:00:00+01:00.")
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        raise PydanticCustomError("no_instant", "names a date or time that does not exist.") from None


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise PydanticCustomError("bad_limit", f"must be a number from 1 to {MAX_PAGE_SIZE}.")


def _cursor(text: str) -> Cursor:
    try:
        cursor = Cursor.parse(text)
        if str(cursor) != text:
            raise InvalidCursor("That is not a cursor this list gave out.")
    except (InvalidCursor, OverflowError) as error:
        raise _sentence("cursor", f"{error} Take it from `next`, unchanged.") from None
    return cursor


def _sentence(field: str, sentence: str) -> PydanticCustomError:
    """Returns an error about `field` whose message is a sentence of its own."""
    return PydanticCustomError("sentence", sentence, {"field": field})


_MessageId = Annotated[
    str,
    _text(f"{MAX_MESSAGE_ID_OCTETS} octets"),
    AfterValidator(_identifier),
    Field(
        description="Any text in one line that names the message for you, of 998 octets in UTF-8 at most.",
        json_schema_extra={
            "minLength": 1,
            "maxLength": MAX_MESSAGE_ID_OCTETS,
            "pattern": rf"^[^{_CONTROLS}]*[^{_CONTROLS}\s][^{_CONTROLS}]*$",
        },
    ),
]
_Subject = Annotated[
    str,
    _text(f"{MAX_SUBJECT_LENGTH} characters"),
    AfterValidator(_subject),
    Field(json_schema_extra={"maxLength": MAX_SUBJECT_LENGTH, "pattern": _NO_NUL}),
]
_Address = Annotated[
    str,
    _text(),
    AfterValidator(_identifier),
    _canonical(headers.address, "bad_address", "must be a bare address such as ann@example.org."),
    Field(json_schema_extra={"format": "idn-email", "pattern": f"^[^{_CONTROLS}]+@[^{_CONTROLS}]+$"}),
]
_Note = Annotated[
    str,
    _text(f"{MAX_NOTE_LENGTH} characters"),
    Field(json_schema_extra={"maxLength": MAX_NOTE_LENGTH, "pattern": _NO_NUL}),
]
_Phrase = Annotated[
    str,
    _text(),
    Field(
        description="A phrase for one instant or for what repeats, such as every monday 9am. One that ends with if no "
        "reply has a reply cancel the snooze; one that only waits for a reply can be read but not snoozed to.",
        json_schema_extra={"maxLength": 200, "pattern": _NOT_BLANK, "examples": ["tomorrow 8am"]},
    ),
]
_Zone = Annotated[
    str,
    _text(),
    _canonical(zones.canonical, "unknown_zone", "must be an IANA name such as Europe/Berlin, or UTC."),
    Field(
        description="IANA name; the account's zone unless given.",
        json_schema_extra={"pattern": "^[A-Za-z0-9_+/-]+$", "examples": ["Europe/Berlin"]},
    ),
]
_Locale = Annotated[
    str,
    _text(),
    _canonical(locales.canonical, "unknown_locale", "must be a language and a country such as en_GB or de_DE."),
    Field(
        description="Decides the order of dates; the account's locale unless given. An unknown one is refused.",
        json_schema_extra={"pattern": "^[A-Za-z][A-Za-z0-9_.@-]*$", "examples": ["en_GB"]},
    ),
]
_Instant = Annotated[
    datetime,
    PlainValidator(_instant, json_schema_input_type=str),
    _text(),
    Field(
        description="ISO 8601 date and time. Without an offset it is a time on the clock in `zone`.",
        json_schema_extra={"pattern": f"^{_INSTANT.pattern}$", "examples": ["2027-03-21T09:00:00+01:00"]},
    ),
]
_Cursor = Annotated[
    Cursor,
    PlainValidator(_cursor, json_schema_input_type=str),
    _text(),
    Field(description="Opaque; comes with `next`.", json_schema_extra={"pattern": "^[A-Za-z0-9_-]{1,52}$"}),
]
_POLICIES = (
    "What a reply to the message does: keep brings it back at its time anyway, cancel_on_reply ends the snooze and all "
    "that it repeats, until_reply brings it back at once. "
)
_ReplyPolicy = Annotated[
    ReplyPolicy,
    Field(description=f"{_POLICIES}Keeps what the snooze has unless given: at first keep, or what the phrase says."),
]
_ReplyScope = Annotated[
    ReplyScope,
    Field(description="Whether only a reply to the message counts, or one to any message of its thread."),
]
_Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class Request(BaseModel, extra="forbid"):
    """What a client sends. Unknown fields are refused; null is the same as absent, except for the note of a change."""


class _Timed(Request):
    remind_at: _Instant | None = None
    when: _Phrase | None = None
    zone: _Zone | None = None
    locale: _Locale | None = None
    note: _Note | None = None
    reply_policy: _ReplyPolicy | None = None
    reply_scope: _ReplyScope | None = None
    at_any_hour: bool | None = Field(None, strict=True, description=_ANY_HOUR)

    def has_time(self) -> bool:
        return self.remind_at is not None or self.when is not None

    def check_one_time(self) -> Self:
        if (self.remind_at is None) == (self.when is None):
            raise _sentence(
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
_visible_subject = {"required": ["subject"], "properties": {"subject": {"type": "string", "pattern": _NOT_BLANK}}}


class NewSnooze(
    _Timed,
    json_schema_extra={
        "oneOf": [_given("remind_at"), _given("when")],
        "anyOf": [_given("message_id"), _visible_subject],
        "examples": [{"message_id": "<a@mail.example>", "subject": "Offer", "when": "tomorrow 8am"}],
    },
):
    """Exactly one of remind_at and when. message_id may be missing where there is a subject; it is then made up."""

    message_id: _MessageId | None = None
    subject: _Subject | None = None
    sender_email: _Address | None = None

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
            raise _sentence("when", "Give a new time (remind_at or when), a new note, a new reply_policy, or several.")
        return self.check_one_time() if self.has_time() else self

    def _names_a_change(self) -> bool:
        return "note" in self.model_fields_set or {self.reply_policy, self.reply_scope, self.at_any_hour} != {None}


class SnoozeQuery(Request):
    """Which snoozes a list holds."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE), BeforeValidator(_limit)] = 50
    cursor: _Cursor | None = None
    state: State | None = None


class WhenQuery(Request):
    """A phrase and what it is read by."""

    phrase: _Phrase
    zone: _Zone | None = None
    locale: _Locale | None = None
    now: _Instant | None = Field(
        None, description="ISO 8601, wall time in `zone` without an offset; the database's clock unless given."
    )


class IdempotencyHeaders(BaseModel):
    """Headers of a request that may be repeated."""

    key: str | None = Field(
        None,
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern="^[ -~]+$",
        description="A request that is repeated with the same key and body within a day is done once and answered "
        "alike, with Idempotency-Replayed: true. The same key with another body is refused with 422.",
    )


class Links(BaseModel):
    self: _Url
    page: _Url


class Snooze(BaseModel):
    """A snooze."""

    id: Annotated[int, Field(json_schema_extra={"format": "int64"})]
    state: State
    message_id: str
    subject: str | None
    sender_email: str | None
    note: str | None
    remind_at: _Timestamp = Field(description="The next try; later than `scheduled_for` after a failed one.")
    scheduled_for: _Timestamp = Field(description="The instant that was promised.")
    reading: str = Field(description="The promise in words.", examples=["Friday 6 March, 08:00, Europe/Berlin."])
    repeats: str | None = Field(description="How it repeats, and when that ends, in words; null for what comes once.")
    late_seconds: float | None = Field(
        description="How much later than promised the reminder was sent, or is by now; null up to half a minute."
    )
    late_because: str | None = Field(
        description="Why it is late, as far as is known.", examples=["because the mail server was away"]
    )
    reply_policy: ReplyPolicy = Field(description=_POLICIES.strip())
    reply_scope: ReplyScope = Field(description="Whether replies to other messages of its thread count, too.")
    at_any_hour: bool = Field(description=_ANY_HOUR)
    links: Links
    flags: list[str] = Field(
        default_factory=list,
        description="What to know about the reading of a phrase, such as ambiguous or dst_gap; and repetition_ended "
        "where the new time replaced a repetition. Only in the answer to the request that gave the time.",
    )


class Send(BaseModel):
    """One reminder in the ledger."""

    state: Literal["reserved", "sending", "sent", "failed", "uncertain"]
    scheduled_for: _Timestamp
    sent_at: _Timestamp | None
    late: bool = Field(description="The server's answer came after the claim was lost.")
    resends: int
    message_id: str = Field(description="The reminder's own Message-ID.")


class SnoozeHistory(Snooze):
    """A snooze and what became of it."""

    sent_at: _Timestamp | None = Field(description="When the mail server took the reminder.")
    attempts: int
    last_error: str | None = Field(description="Without addresses.")
    last_error_at: _Timestamp | None
    sends: list[Send]


class SnoozePage(BaseModel):
    """One page of a list."""

    snoozes: list[Snooze]
    next: _Url | None = Field(description="The next page, or null at the end.")


class Reading(BaseModel):
    """What a phrase means."""

    kind: Literal["instant", "recurring", "condition"]
    at: _Timestamp | None
    flags: list[str]
    alternative: _Timestamp | None
    recurrence: dict[str, Any] | None
    condition: str | None
    reading: str


class FieldError(BaseModel):
    field: str
    detail: str


class Problem(BaseModel, extra="allow"):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str = Field(examples=["invalid_fields"])
    detail: str
    errors: list[FieldError] = Field(default_factory=list, description="Each field that is wrong, and why.")
    suggestions: list[str] = Field(default_factory=list, description="At most three phrases that would have worked.")
    state: State | None = Field(None, description="With 409: where the snooze stands.")
    error: str | None = Field(None, description="With /when: the same as code.")
    message: str | None = Field(None, description="With /when: the same as detail.")


class Document(RootModel[dict[str, Any]]):
    """An OpenAPI document."""
