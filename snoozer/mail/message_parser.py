"""Parses any message into what a person needs to see of it; never raises."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import groupby
from typing import Any

from snoozer.mail import automatic, headers
from snoozer.mail.calendar_events import CALENDAR_TYPES, FILE_NAME, MAX_EVENTS, CalendarEvent, events_in, in_words
from snoozer.mail.charsets import decode_bytes, detect, is_known
from snoozer.mail.enriched import enriched_to_text, richtext_to_text
from snoozer.mail.flowed import join_flowed
from snoozer.mail.headers import Sender
from snoozer.mail.html_to_text import MAX_LENGTH, clean_text, html_to_text
from snoozer.mail.recipients import Recipients, recipients
from snoozer.mail.structure import (
    FORWARDED,
    MAX_PARTS,
    MAX_READ_BYTES,
    Headers,
    Part,
    split_head,
    starts_with_field,
    walk,
)
from snoozer.mail.transfer_encodings import is_quoted_printable

# How far to search for a charset declaration that also applies to the raw bytes of header fields.
_LABELS_WITHIN = 65_536
_MAX_ANSWERS = 500
_LABEL = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,60})", re.IGNORECASE)
_META_WITHIN = 8_192
_FIRST_LINE = 1_000

# Before 1970 there was no mail; 9999 could not be moved to another zone.
_YEARS = range(1970, 9999)

_ENRICHED = {"text/enriched": enriched_to_text, "text/richtext": richtext_to_text}
_SHOWN_TYPES = frozenset({"text/plain", "text/html"})
# Shown as text only if there is no other text.
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "message/feedback-report"})
_NEVER_TEXT = ("image/", "audio/", "video/", "font/", "text/html")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# Kinds of text that programs read.
_FOR_PROGRAMS = re.compile(r"calendar|v-?card|directory|css|script|rtf|csv|xml|json|sgml|values|headers|html|signature")
# A plain version this short, and this much shorter than its HTML version, only refers to the HTML.
_MAX_STUB = 300
_STUB_TO_PAGE = 5


@dataclass(frozen=True)
class Attachment:
    """A part that is not shown as text. `size` in bytes after decoding; an estimate if the part was not read."""

    name: str
    type: str
    size: int


@dataclass(frozen=True, kw_only=True)
class AttachedPart:
    """An attachment with its content. `content_id` is without its brackets; None if it has none."""

    shown: Attachment
    content: bytes
    content_id: str | None


@dataclass(frozen=True, kw_only=True)
class ParsedHead:
    """The contents of a message's header, as declared, without proof.

    `message_id` is None unless well formed; `thread_ids` are the ids of the messages before it and then its own, as
    written. `date` is in UTC.
    """

    message_id: str | None
    thread_ids: tuple[str, ...]
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    date: datetime | None


@dataclass(frozen=True, kw_only=True)
class ParsedMessage(ParsedHead):
    """The contents of a message, as declared, without proof.

    `cut` is True if the message has more text than `text`. `events` are the events of its calendars; `text` has them in
    words, behind `own_text`. `instance` is the Snoozer that made it.
    """

    to: Recipients
    cc: Recipients
    text: str
    own_text: str
    events: tuple[CalendarEvent, ...]
    cut: bool
    attachments: tuple[Attachment, ...]
    in_reply_to: str | None
    instance: str | None


@dataclass(frozen=True, kw_only=True)
class ReplyHead:
    """The header fields that show whether a message is a reply, and to what: `answers` are all ids in In-Reply-To and
    References.

    `automatic` is True if a machine or a list sent it (`mail.automatic`).
    """

    message_id: str | None
    answers: tuple[str, ...]
    sender_email: str | None
    date: datetime | None
    automatic: bool


# The header fields that `parse_reply` uses, except Date: a connected mailbox knows when a message arrived.
REPLY_FIELDS = tuple(
    dict.fromkeys(("message-id", "in-reply-to", "references", "from", "sender", "reply-to", *automatic.FIELDS))
)


def parse_reply(original: bytes, *, has_null_sender: bool = False) -> ReplyHead:
    """Parses the (possibly truncated) header only. `has_null_sender` is the null return path of the envelope."""
    head, _ = split_head(_readable(original[:MAX_READ_BYTES]))
    return ReplyHead(
        message_id=next(iter(headers.every_id(head.first("message-id"))), None),
        answers=_answers(head),
        sender_email=_sender(head, None).email,
        date=_date(head.first("date")),
        automatic=automatic.is_automatic(head, has_null_sender=has_null_sender),
    )


def _answers(head: Headers) -> tuple[str, ...]:
    """The ids that a message answers: the first, and the newest if there are very many."""
    ids = headers.every_id(head.first("references"), head.first("in-reply-to"))
    return ids if len(ids) <= _MAX_ANSWERS else (ids[0], *ids[1 - _MAX_ANSWERS :])


def parse_head(original: bytes) -> ParsedHead:
    """Parses the header only."""
    data = _readable(original[:MAX_READ_BYTES])
    head, body = split_head(data)
    return ParsedHead(**_declared(head, _fallback(data, head, body)))


def parse(original: bytes) -> ParsedMessage:
    """Parses at most a megabyte of text, 100 parts, 20 levels. Returns a message for any bytes."""
    data = _readable(original)
    head, body = split_head(memoryview(data))
    fallback = _fallback(data, head, bytes(body[:_LABELS_WITHIN]))
    parts = list(walk(head, body))
    shown = _shown_parts(parts)
    text, cut = _text(shown, fallback)
    events = _events(parts, fallback)
    if not text and not events:
        text, cut = _text_of_last_resort(parts, fallback)
    return ParsedMessage(
        **_declared(head, fallback),
        to=recipients(head.joined("to"), fallback=fallback),
        cc=recipients(head.joined("cc"), fallback=fallback),
        text="\n\n".join(filter(None, (text, in_words(events)))),
        own_text=text,
        events=tuple(events),
        cut=cut or (bool(text) and (len(parts) >= MAX_PARTS or any(part.unread for part in shown))),
        attachments=tuple(_attachment(part) for part in parts if _is_listed(part, shown)),
        in_reply_to=headers.message_id(head.first("in-reply-to")),
        instance=headers.subject(head.first("x-snoozer-instance")),
    )


def parse_attachments(original: bytes) -> list[AttachedPart]:
    """The attachments in the order of `parse`, each with its full content."""
    head, body = split_head(memoryview(_readable(original)))
    parts = list(walk(head, body))
    shown = _shown_parts(parts)
    wholes = walk(head, body, most=len(original))
    listed = [whole for part, whole in zip(parts, wholes, strict=False) if _is_listed(part, shown)]
    return [AttachedPart(shown=_attachment(one), content=one.content, content_id=_content_id(one)) for one in listed]


def parse_html(original: bytes) -> str | None:
    """The HTML version of a message, unchanged: never show it without a sanitizer. None if the message is text only."""
    data = _readable(original)
    head, body = split_head(memoryview(data))
    fallback = _fallback(data, head, bytes(body[:_LABELS_WITHIN]))
    pages = [part for part in _shown_parts(list(walk(head, body))) if part.head.type == "text/html"]
    html = "\n".join(_decoded(part, fallback) for part in pages if part.content.strip())
    return html or None


def _content_id(part: Part) -> str | None:
    return headers.sanitize_line(headers.raw_text(part.head.first("content-id") or b"")).strip("<> ") or None


def _is_listed(part: Part, shown: list[Part]) -> bool:
    """Whether a part is an attachment. Attachments of a forwarded message belong to that message."""
    if any(place.startswith(FORWARDED) for place in part.path):
        return False
    return part.head.filename is not None or (part not in shown and not _is_text_in_place(part))


def _readable(original: bytes) -> bytes:
    """Normalise the bytes: remove a byte order mark and leading blank lines, and convert line ends of CR."""
    data = original.removeprefix(BOM_UTF8)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    # A program converted LF into CR LF although it already was CR LF.
    data = data.replace(b"\r\r\n", b"\r\n") if b"\r\r\n" in data else data
    stripped = data.lstrip(b"\r\n")
    junk, _, rest = stripped[:_FIRST_LINE].partition(b"\n")
    if not starts_with_field(junk) and starts_with_field(rest) and b":" not in junk.split(b" ")[0]:
        return stripped[len(junk) + 1 :]
    return stripped if stripped is not data and starts_with_field(stripped) else data


def _fallback(data: bytes, head: Headers, body: bytes) -> str | None:
    """The charset of raw bytes without one: the first declared in the message, else a guess from the bytes."""
    labels = (found.group(1).decode("ascii") for found in _LABEL.finditer(data[:_LABELS_WITHIN]))
    declared = next((label for label in labels if is_known(label) and label.lower() not in ("us-ascii", "utf-8")), None)
    if declared is not None or data[:_LABELS_WITHIN].isascii():
        return declared
    raw = b" ".join(head.first(name) or b"" for name in ("subject", "from"))
    sample = raw + b" " + body[:_LABELS_WITHIN]
    return None if _is_utf_8(sample) else detect(sample)


def _is_utf_8(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    return text.count("\ufffd") * 4 <= sum(char > "\x7f" for char in text)


def _declared(head: Headers, fallback: str | None) -> dict[str, Any]:
    """The fields of `ParsedHead`."""
    sender = _sender(head, fallback)
    ids = headers.thread_ids(head.first("message-id"))[:1]
    before = headers.thread_ids(head.first("references") or head.first("in-reply-to"))
    return {
        "message_id": headers.message_id(head.first("message-id")),
        "thread_ids": headers.thread_ids(" ".join([*before, *ids])) if ids else (),
        "subject": headers.subject(head.first("subject"), fallback=fallback),
        "sender_name": sender.name,
        "sender_email": sender.email,
        "date": _date(head.first("date")),
    }


def _sender(head: Headers, fallback: str | None) -> Sender:
    senders = (headers.sender(head.first(name), fallback=fallback) for name in ("from", "sender", "reply-to"))
    return next((found for found in senders if found.name or found.email), Sender(None, None))


def _shown_parts(parts: list[Part]) -> list[Part]:
    """The parts that are text for people; if there are none, other parts that can be read as text."""
    choices: tuple[Callable[[Part], bool], ...] = (
        lambda part: _is_text_in_place(part) or (part is parts[0] and part.head.type == "text/html"),
        lambda part: part.head.type.startswith("text/") and part.head.type not in CALENDAR_TYPES,
        lambda part: part.head.type.startswith("text/") and not events_in(_decoded(part, None)),
    )
    for choice in choices:
        found = [part for part in parts if choice(part) and not _is_attached(part)]
        if any(part.content.strip() for part in found):
            return found
    return [part for part in parts if part.head.type in _SHOWN_TYPES or part.head.type in _REPORTS]


def _events(parts: list[Part], fallback: str | None) -> list[CalendarEvent]:
    """The events of its calendars. Invitations have the same calendar twice, the second as a file."""
    calendars = (_decoded(part, fallback) for part in parts if part.head.type in CALENDAR_TYPES)
    return list(dict.fromkeys(event for calendar in calendars for event in events_in(calendar)))[:MAX_EVENTS]


def _is_text_in_place(part: Part) -> bool:
    """Text is shown regardless of its name; a page with a name is a file, and so is text for programs."""
    kind = part.head.type
    if kind == "text/plain" or _is_attached(part):
        return not _is_attached(part)
    if kind in _SHOWN_TYPES:
        return part.head.filename is None
    is_version = any(place.startswith("multipart/alternative") for place in part.path)
    return kind.startswith("text/") and not (is_version or part.head.filename or _FOR_PROGRAMS.search(kind))


def _is_attached(part: Part) -> bool:
    return part.head.value("content-disposition").startswith("attachment")


def _text(shown: list[Part], fallback: str | None) -> tuple[str, bool]:
    """Every text part in order; of alternative versions, only the best one."""
    texts: list[str] = []
    for _, group in groupby(shown, key=_alternative):
        texts += _best_version(list(group), fallback)
    text = clean_text("\n\n".join(texts))
    return text, len(text) >= MAX_LENGTH or any(len(one) >= MAX_LENGTH for one in texts)


def _best_version(versions: list[Part], fallback: str | None) -> list[str]:
    """Choose the plain version, unless it is empty or only refers to the HTML."""
    plain = _texts(versions, fallback, of="text/plain")
    length = sum(map(len, plain))
    pages = _texts(versions, fallback, of="text/html") if length <= _MAX_STUB else []
    if plain and sum(map(len, pages)) < _STUB_TO_PAGE * length:
        return plain
    others = [part for part in versions if part.head.type not in _SHOWN_TYPES]
    return pages or plain or _texts(others, fallback)


def _texts(parts: list[Part], fallback: str | None, *, of: str = "") -> list[str]:
    return [text for part in parts if part.head.type.startswith(of) and (text := _words(part, fallback))]


def _text_of_last_resort(parts: list[Part], fallback: str | None) -> tuple[str, bool]:
    """The text of forwarded messages, or any other readable text of the parts."""
    for part in parts:
        if part.head.type == "message/rfc822":
            inner = list(walk(*split_head(part.content)))
            text, cut = _text(shown, fallback) if (shown := _shown_parts(inner)) else ("", False)
        elif (
            (part.path and not part.head.type.startswith(("text/", "message/")))
            or part.head.type.startswith(_NEVER_TEXT)
            or part.head.filename
            or not _is_readable(part.content)
        ):
            continue
        else:
            text = clean_text(decode_bytes(part.content, None, fallback=fallback))
            cut = len(text) >= MAX_LENGTH
        if text:
            return text, cut
    return "", False


def _is_readable(content: bytes) -> bool:
    sample = content[:4_096]
    controls = len(_CONTROLS.findall(sample.decode("latin-1")))
    return bool(sample.strip()) and b"\0" not in sample and controls * 50 < len(sample) and _is_utf_8(sample)


def _alternative(part: Part) -> object:
    """Parts within one multipart/alternative share a key; every other part has its own."""
    alternatives = [place for place in part.path if place.startswith("multipart/alternative")]
    return alternatives[0] if alternatives else part


def _decoded(part: Part, fallback: str | None) -> str:
    """The text of a part in its charset. A page may declare one itself."""
    content = part.content
    html = part.head.type == "text/html"
    charset = part.head.parameter("content-type", "charset")
    if html and (meta := _LABEL.search(content[:_META_WITHIN])):
        fallback = meta.group(1).decode("ascii")
        charset = charset if is_known(charset) else fallback
    text = decode_bytes(content, charset, fallback=fallback)
    if content is part.body or not _CONTROLS.search(text):
        return text
    if is_quoted_printable(part.body, part.head.value("content-transfer-encoding")):
        return _CONTROLS.sub("", text)
    if _is_readable(part.body) and b" " in part.body.strip():
        # It was not in the declared transfer encoding.
        return decode_bytes(part.body, charset, fallback=fallback)
    return text


def _words(part: Part, fallback: str | None) -> str:
    text = _decoded(part, fallback)
    if part.head.type == "text/html":
        return html_to_text(text)
    if part.head.type in _ENRICHED:
        return clean_text(_ENRICHED[part.head.type](text))
    if (part.head.parameter("content-type", "format") or "").lower() == "flowed":
        delete_space = (part.head.parameter("content-type", "delsp") or "").lower() == "yes"
        return clean_text(join_flowed(text, delete_space=delete_space))
    return clean_text(text)


def _attachment(part: Part) -> Attachment:
    name = part.head.filename
    if name is None and part.head.type == "message/rfc822":
        inside = headers.subject(split_head(part.content)[0].first("subject"))
        name = f"{inside}.eml" if inside else "message.eml"
    usual = FILE_NAME if part.head.type in CALENDAR_TYPES else "unnamed"
    return Attachment(name=name or usual, type=part.head.type[:100], size=part.size)


def _date(raw: bytes | None) -> datetime | None:
    """The date in UTC; None for a year that a conversion to another zone could leave."""
    try:
        date = parsedate_to_datetime(headers.sanitize_line(headers.raw_text(raw or b"")))
        date = date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.year in _YEARS else None
