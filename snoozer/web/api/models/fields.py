"""Fields that several nouns share, and their validation."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from snoozer.db.queries import Cursor, InvalidCursor
from snoozer.mail import headers
from snoozer.queue.limits import MAX_ATTEMPTS, MAX_NOTE_LENGTH, MAX_PRIORITY, MIN_PRIORITY
from snoozer.queue.reminder import ReplyPolicy, ReplyScope
from snoozer.snoozes.input import MAX_MESSAGE_ID_OCTETS
from snoozer.timephrase import locales, zones

MAX_SUBJECT_LENGTH = 998
MAX_TEXT_LENGTH = 8192
MAX_PAGE_SIZE = 200
ANY_HOUR = (
    "Whether it comes when it was promised although its owner's day has quiet hours, a day off or a vacation then."
)

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)

# In the regular expressions that Python and JSON Schema share.
_CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
NO_NUL = r"^[^\u0000]*$"
NOT_BLANK = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"


def text_check(limit: str = f"{MAX_TEXT_LENGTH} characters") -> BeforeValidator:
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


def canonical_form(lookup: Callable[[str], str | None], error: str, message: str) -> AfterValidator:
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


def whole(least: int, most: int, *, step: int = 1) -> tuple[BeforeValidator, FieldInfo]:
    """Returns a validator for an integer within these limits, which also declares them in its schema."""

    def check(value: object) -> object:
        if type(value) is not int or not least <= value <= most or value % step:
            steps = "" if step == 1 else f" and a multiple of {step}"
            raise PydanticCustomError("not_whole", f"must be a whole number from {least} to {most}{steps}.")
        return value

    bounds: dict[str, Any] = {"minimum": least, "maximum": most} | ({} if step == 1 else {"multipleOf": step})
    return BeforeValidator(check), Field(json_schema_extra=bounds)


def _key(text: str) -> str:
    if not text.strip() or len(text) > MAX_KEY_LENGTH:
        raise PydanticCustomError("bad_key", f"must be a text of 1 to {MAX_KEY_LENGTH} characters.")
    return _identifier(text)


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
        raise sentence_error("cursor", f"{error} Take it from `next`, unchanged.") from None
    return cursor


def sentence_error(field: str, sentence: str) -> PydanticCustomError:
    """Returns an error about `field` whose message is a sentence of its own."""
    return PydanticCustomError("sentence", sentence, {"field": field})


MessageId = Annotated[
    str,
    text_check(f"{MAX_MESSAGE_ID_OCTETS} octets"),
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
Subject = Annotated[
    str,
    text_check(f"{MAX_SUBJECT_LENGTH} characters"),
    AfterValidator(_subject),
    Field(json_schema_extra={"maxLength": MAX_SUBJECT_LENGTH, "pattern": NO_NUL}),
]
Address = Annotated[
    str,
    text_check(),
    AfterValidator(_identifier),
    canonical_form(headers.declared_address, "bad_address", "must be a bare address such as ann@example.org."),
    Field(
        description="The address that the message names as its sender, also one to which no mail can be sent.",
        json_schema_extra={"pattern": f"^[^{_CONTROLS}]+@[^{_CONTROLS}]+$", "examples": ["bob@mail.example"]},
    ),
]
Note = Annotated[
    str,
    text_check(f"{MAX_NOTE_LENGTH} characters"),
    Field(json_schema_extra={"maxLength": MAX_NOTE_LENGTH, "pattern": NO_NUL}),
]
Phrase = Annotated[
    str,
    text_check(),
    Field(
        description="A phrase for one instant or for what repeats, such as every monday 9am. One that ends with if no "
        "reply has a reply cancel the snooze; one that only waits for a reply can be read but not snoozed to.",
        json_schema_extra={"maxLength": 200, "pattern": NOT_BLANK, "examples": ["tomorrow 8am"]},
    ),
]
Zone = Annotated[
    str,
    text_check(),
    canonical_form(zones.canonical, "unknown_zone", "must be an IANA name such as Europe/Berlin, or UTC."),
    Field(
        description="IANA name; the account's zone unless given.",
        json_schema_extra={"pattern": "^[A-Za-z0-9_+/-]+$", "examples": ["Europe/Berlin"]},
    ),
]
LocaleName = Annotated[
    str,
    text_check(),
    canonical_form(locales.canonical, "unknown_locale", "must be a language and a country such as en_GB or de_DE."),
    Field(
        description="Decides the order of dates; the account's locale unless given. An unknown one is refused.",
        json_schema_extra={"pattern": "^[A-Za-z][A-Za-z0-9_.@-]*$", "examples": ["en_GB"]},
    ),
]
Instant = Annotated[
    datetime,
    PlainValidator(_instant, json_schema_input_type=str),
    text_check(),
    Field(
        description="ISO 8601 date and time. Without an offset it is a time on the clock in `zone`.",
        json_schema_extra={"pattern": f"^{_INSTANT.pattern}$", "examples": ["2027-03-21T09:00:00+01:00"]},
    ),
]
PageCursor = Annotated[
    Cursor,
    PlainValidator(_cursor, json_schema_input_type=str),
    text_check(),
    Field(description="Opaque; comes with `next`.", json_schema_extra={"pattern": "^[A-Za-z0-9_-]{1,52}$"}),
]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE), BeforeValidator(_limit)]
POLICIES = (
    "What a reply to the message does: keep brings it back at its time anyway, cancel_on_reply ends the snooze and all "
    "that it repeats, until_reply brings it back at once. "
)
GivenPolicy = Annotated[
    ReplyPolicy,
    Field(description=f"{POLICIES}Keeps what the snooze has unless given: at first keep, or what the phrase says."),
]
GivenScope = Annotated[
    ReplyScope,
    Field(description="Whether only a reply to the message counts, or one to any message of its thread."),
]
MAX_KEY_LENGTH = 200
PRIORITY_STEP = 100
Priority = Annotated[
    int,
    *whole(MIN_PRIORITY, MAX_PRIORITY, step=PRIORITY_STEP),
    Field(
        description="Larger ones are delivered first; at first 0. A person may put what is theirs behind, down to "
        "-1000; above 0 needs the role of an operator, because it comes before what other people wait for."
    ),
]
MaxAttempts = Annotated[
    int,
    *whole(1, MAX_ATTEMPTS),
    Field(description="How often a delivery may fail before it becomes a case for the operators; at first 5."),
]
SerializationKey = Annotated[
    str,
    text_check(f"{MAX_KEY_LENGTH} characters"),
    AfterValidator(_key),
    Field(
        description="Of the snoozes with one key of yours only one is delivered at a time, in the order of their "
        "promises. Keys of other people are others.",
        json_schema_extra={
            "minLength": 1,
            "maxLength": MAX_KEY_LENGTH,
            "pattern": rf"^[^{_CONTROLS}]*[^{_CONTROLS}\s][^{_CONTROLS}]*$",
        },
    ),
]
Reference = Annotated[
    str,
    text_check(f"{MAX_KEY_LENGTH} characters"),
    AfterValidator(_key),
    Field(
        description="What your program calls the snooze, such as an id of a record; webhooks name it.",
        json_schema_extra={
            "minLength": 1,
            "maxLength": MAX_KEY_LENGTH,
            "pattern": rf"^[^{_CONTROLS}]*[^{_CONTROLS}\s][^{_CONTROLS}]*$",
        },
    ),
]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class Request(BaseModel, extra="forbid"):
    """A request. Unknown fields are refused; null is the same as absent, except for the note of a change."""
