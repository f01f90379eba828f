"""Reads a message from anywhere in one bounded pass: what a person needs to see of it, never an exception.

The standard library's parser needs a second for a thousand nested parts and then raises; this one stops at its limits
and keeps what it has.
"""

import binascii
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain, groupby
from urllib.parse import unquote_to_bytes

from snoozer.mime import headers
from snoozer.mime.charsets import decode_bytes
from snoozer.mime.html_to_text import clean_text, html_to_text

MAX_READ_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_PARTS = 100
MAX_HEADERS = 1_000

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:")
_PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^;]*)", re.DOTALL)
_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)", re.ASCII)
_BULK = frozenset({"bulk", "list", "junk", "auto_reply", "auto-reply"})
_MACHINES = ("list-id", "list-unsubscribe", "list-post", "x-autoreply", "x-autorespond", "x-auto-response-suppress")
# Before 1970 there was no mail; 9999 could not be moved to another zone.
_YEARS = range(1970, 9999)


@dataclass(frozen=True)
class Headers:
    """The header fields of one part, in order, names in lower case, values unfolded."""

    fields: tuple[tuple[str, bytes], ...]

    def first(self, name: str) -> bytes | None:
        """The first field of that name: mail programs show the first one of several."""
        return next((value for key, value in self.fields if key == name), None)

    def value(self, name: str) -> str:
        """The first word of the field in lower case, without parameters; empty when it is missing."""
        return headers.raw_text(self.first(name) or b"").partition(";")[0].strip().lower()

    @property
    def type(self) -> str:
        """The media type in lower case; text/plain when there is none that is valid."""
        found = _TYPE.match(headers.raw_text(self.first("content-type") or b""))
        return found.group(1).lower() if found else "text/plain"

    def parameter(self, field: str, name: str) -> str | None:
        """A parameter such as charset, RFC 2231 pieces joined and decoded."""
        pieces: dict[int, tuple[bool, str]] = {}
        for key, value in _PARAMETER.findall(headers.raw_text(self.first(field) or b"")):
            base, _, number = key.lower().partition("*")
            digits = number.rstrip("*")
            if base == name:
                index = int(digits) if digits.isdecimal() and len(digits) < 4 else 0
                pieces.setdefault(index, (key[-1] == "*", _unquoted(value)))
        if not pieces:
            return None
        return _joined([pieces[index] for index in sorted(pieces)])

    @property
    def filename(self) -> str | None:
        """The declared name of an attachment, sanitized and without folders; None when it has none."""
        name = self.parameter("content-disposition", "filename") or self.parameter("content-type", "name") or ""
        return headers.sanitize_line(headers.decode_words(name)).replace("\\", "/").rpartition("/")[2].strip() or None


@dataclass(frozen=True)
class Part:
    """One leaf: its headers and its raw body. `path` names the multiparts around it, outermost first."""

    head: Headers
    body: bytes
    path: tuple[str, ...]

    def content(self) -> bytes:
        """The body with its transfer encoding decoded; an unknown encoding is left as it is."""
        encoding = self.head.value("content-transfer-encoding").strip("\"' .")
        if encoding == "base64":
            return headers.decode_base64(self.body.partition(b"=")[0])
        if encoding == "quoted-printable":
            return binascii.a2b_qp(self.body)
        if encoding in {"x-uuencode", "uuencode", "x-uue", "uue"}:
            return _from_uuencode(self.body)
        return self.body


@dataclass(frozen=True)
class Attachment:
    """A part that is not shown as text. `size` in bytes after decoding; an estimate for a part cut by the limit."""

    name: str
    type: str
    size: int


@dataclass(frozen=True, kw_only=True)
class ParsedMessage:
    """What a message declares, without proof.

    `message_id` is None unless well formed. `date` is in UTC. `auto_submitted` is True for everything that a machine
    or a list sent, which must never be replied to. `instance` is the Snoozer that made it.
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
    """Reads at most the first megabyte, 100 parts, 20 levels. Returns a message whatever the bytes are."""
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


def split_head(data: bytes) -> tuple[Headers, bytes]:
    """Splits at the blank line. Lines that are no header are ignored, unless the message begins with one."""
    fields: list[tuple[str, bytearray]] = []
    position, end = 0, len(data)
    while position < end and len(fields) < MAX_HEADERS:
        stop = data.find(b"\n", position)
        stop = end if stop < 0 else stop + 1
        line = data[position:stop].rstrip(b"\r\n")
        field = _FIELD.match(line)
        if not line:
            position = stop
            break
        if line[:1] in b" \t":
            if fields and len(fields[-1][1]) < MAX_READ_BYTES // 16:
                fields[-1][1].extend(line)
        elif field is not None:
            fields.append((field.group(1).decode("ascii").lower(), bytearray(line[field.end() :])))
        elif not fields and not line.startswith((b"From ", b">From ")):
            break
        position = stop
    return Headers(tuple((name, bytes(value).strip()) for name, value in fields)), data[position:]


def walk(head: Headers, body: bytes) -> Iterator[Part]:
    """Every leaf in reading order, at most `MAX_PARTS`, at most `MAX_DEPTH` multiparts deep."""
    waiting: list[tuple[Headers, bytes, tuple[str, ...]]] = [(head, body, ())]
    found = 0
    while waiting and found < MAX_PARTS:
        head, body, place = waiting.pop()
        if not head.type.startswith("multipart/") or len(place) >= MAX_DEPTH:
            found += 1
            yield Part(head, body, place)
            continue
        boundary = (head.parameter("content-type", "boundary") or "").strip()
        inside = (*place, f"{head.type}#{found}.{len(waiting)}")
        pieces = _pieces(body, boundary.encode("utf-8", "replace"), limit=MAX_PARTS - found) if boundary else []
        if not pieces:
            found += 1
            yield Part(Headers(()), body, place)
        waiting.extend((*split_head(piece), inside) for piece in reversed(pieces))


def _pieces(body: bytes, boundary: bytes, *, limit: int) -> list[bytes]:
    """The parts between the boundary lines, at most `limit`; the last boundary may be missing."""
    line = re.compile(rb"(?:\r?\n|\A)--" + re.escape(boundary) + rb"(--)?[ \t]*(?=\r?\n|\Z)")
    pieces: list[bytes] = []
    start: int | None = None
    for mark in chain(line.finditer(body), [None]):
        if start is not None:
            pieces.append(body[start : mark.start() if mark else None].removeprefix(b"\r").removeprefix(b"\n"))
        if mark is None or mark.group(1) or len(pieces) >= limit:
            break
        start = mark.end()
    return pieces


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if len(value) > 1 and value[0] == value[-1] == '"' else value.strip()


def _joined(pieces: list[tuple[bool, str]]) -> str:
    if not pieces[0][0]:
        return "".join(value for _, value in pieces)
    charset, _, rest = pieces[0][1].partition("'")
    first = rest.partition("'")[2]
    raw = b"".join(
        unquote_to_bytes(value) if starred else value.encode("utf-8", "replace")
        for starred, value in [(True, first), *pieces[1:]]
    )
    return decode_bytes(raw, charset)


def _text(parts: list[Part]) -> str:
    """Every text part in order; of the versions of one alternative, the plain one unless it is empty."""
    shown: list[str] = []
    for _, group in groupby((part for part in parts if _is_text(part)), key=_alternative):
        versions = list(group)
        plain = [text for part in versions if part.head.type == "text/plain" and (text := _words(part))]
        shown += plain or [text for part in versions if (text := _words(part))]
    return clean_text("\n\n".join(shown))


def _alternative(part: Part) -> object:
    """Parts within one multipart/alternative share a key; every other part is its own."""
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
    """In UTC; None for a year that a conversion to another zone could leave."""
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


def _from_uuencode(body: bytes) -> bytes:
    _, begin, encoded = body.partition(b"\nbegin ")
    if not begin and not body.startswith(b"begin "):
        return body
    out = bytearray()
    for line in (encoded or body).splitlines()[1:]:
        if line.strip() in {b"end", b"`", b""}:
            break
        try:
            out += binascii.a2b_uu(line)
        except binascii.Error:
            break
    return bytes(out)
