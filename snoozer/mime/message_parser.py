"""Reading a stranger's message: what a person needs to see of it, never an exception."""

from codecs import BOM_UTF8
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import groupby

from snoozer.mime import headers
from snoozer.mime.charsets import decode_bytes
from snoozer.mime.html_to_text import clean_text, html_to_text
from snoozer.mime.mime_parts import MAX_READ_BYTES, Headers, Part, split_head, walk

_BULK = frozenset({"bulk", "list", "junk", "auto_reply", "auto-reply"})
_MACHINES = ("list-id", "list-unsubscribe", "list-post", "x-autoreply", "x-autorespond", "x-auto-response-suppress")
# Mail is younger than the first of them.
_YEARS = range(1970, 9999)


@dataclass(frozen=True)
class Attachment:
    """A part that is not shown as text. `size` in bytes once decoded; for a part cut off by the limit, an estimate."""

    name: str
    type: str
    size: int


@dataclass(frozen=True, kw_only=True)
class ParsedMessage:
    """What a message says of itself. Nothing here is proof of anything.

    `message_id` is None when there is none that is well formed. `date` is in UTC. `auto_submitted` is True for
    everything a machine or a list sent, which must never be answered. `instance` is the Snoozer that made it.
    """

    message_id: str | None
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    date: datetime | None
    text: str
    attachments: tuple[Attachment, ...]
    in_reply_to: str | None
    auto_submitted: bool
    instance: str | None


def parse(original: bytes) -> ParsedMessage:
    """Read at most the first megabyte, 100 parts, 20 levels. Whatever the bytes are, there is an Original."""
    head, body = split_head(original[:MAX_READ_BYTES].removeprefix(BOM_UTF8))
    parts = list(walk(head, body))
    sender = headers.sender(head.first("from") or head.first("sender") or head.first("reply-to"))
    unread = len(original) - MAX_READ_BYTES
    return ParsedMessage(
        message_id=headers.message_id(head.first("message-id")),
        subject=headers.subject(head.first("subject")),
        sender_name=sender.name,
        sender_email=sender.email,
        date=_date(head.first("date")),
        text=_text(parts),
        attachments=tuple(
            _attachment(part, beyond=unread if unread > 0 and part is parts[-1] else 0)
            for part in parts
            if not _is_text(part)
        ),
        in_reply_to=headers.message_id(head.first("in-reply-to")),
        auto_submitted=_is_automatic(head),
        instance=headers.subject(head.first("x-snoozer-instance")),
    )


def _text(parts: list[Part]) -> str:
    """Every text part in order; of the versions of one alternative, the plain one where it says anything."""
    shown: list[str] = []
    for _, group in groupby((part for part in parts if _is_text(part)), key=_choice):
        versions = list(group)
        plain = [text for part in versions if part.head.type == "text/plain" and (text := _words(part))]
        shown += plain or [text for part in versions if (text := _words(part))]
    return clean_text("\n\n".join(shown))


def _choice(part: Part) -> object:
    """Parts within one multipart/alternative are one choice; every other part stands for itself."""
    alternatives = [place for place in part.path if place.startswith("multipart/alternative")]
    return alternatives[0] if alternatives else part


def _words(part: Part) -> str:
    text = decode_bytes(part.content(), part.head.parameter("content-type", "charset"))
    return html_to_text(text) if part.head.type == "text/html" else clean_text(text)


def _is_text(part: Part) -> bool:
    if part.head.type not in {"text/plain", "text/html"}:
        return False
    return part.head.value("content-disposition") != "attachment" and not part.head.filename


def _attachment(part: Part, *, beyond: int) -> Attachment:
    if part.head.type == "message/rfc822":
        inner, _ = split_head(part.content())
        inside = headers.subject(inner.first("subject"))
        name = part.head.filename or (f"{inside}.eml" if inside else "message.eml")
    else:
        name = part.head.filename or "unnamed"
    if beyond and part.head.value("content-transfer-encoding") == "base64":
        beyond = beyond * 3 // 4
    return Attachment(name=name, type=part.head.type[:100], size=len(part.content()) + beyond)


def _date(raw: bytes | None) -> datetime | None:
    """In UTC; None for one that a reader's own zone could carry out of the calendar."""
    try:
        date = parsedate_to_datetime(headers.sanitize_line(headers.raw_text(raw or b"")))
        date = date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.year in _YEARS else None


def _is_automatic(head: Headers) -> bool:
    auto = head.value("auto-submitted")
    return (
        (bool(auto) and auto != "no")
        or head.value("precedence") in _BULK
        or head.type == "multipart/report"
        or head.first("return-path") == b"<>"
        or any(head.first(name) is not None for name in _MACHINES)
    )
