"""The parts of any message, in one bounded pass; never raises.

The standard library's parser needs a second for a thousand nested parts and then raises; this one stops at its limits
and keeps what it has. It tolerates what mail programs tolerate: a header without an end, a boundary or a transfer
encoding that differs from the declared one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TypeVar

from snoozer.mail import headers, parameters
from snoozer.mail.signed_data import signed_content
from snoozer.mail.transfer_encodings import decode_body

MAX_READ_BYTES = 1024 * 1024
# Bytes of a part to read, to detect its type, after other parts have used up the limit.
_MIN_READ_BYTES = 1_024
# Nested parts at this depth, behind more than `MAX_READ_BYTES`, are ignored.
_MAX_DEPTH_OF_LARGE = 4
_MAX_BOUNDARIES = 20_000
MAX_DEPTH = 20
MAX_PARTS = 100
MAX_HEADERS = 1_000
# The first element in the path of a message that is shown below another one.
FORWARDED = "forwarded message"
# If a line is not a field, how many further lines to search for the rest of the header.
_MAX_LOOKAHEAD = 50

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:")
# Fields that show beyond doubt that the header continues.
_SURE_FIELD = re.compile(
    rb"(?:from|to|cc|bcc|subject|date|message-id|received|mime-version|content-[a-z-]+|x-[a-z0-9-]+|list-[a-z]+"
    rb"|return-path|reply-to|sender|in-reply-to|references|delivered-to|dkim-signature|authentication-results"
    rb"|importance|precedence|user-agent|thread-[a-z]+|errors-to|organization|priority|status|resent-[a-z-]+)[ \t]*:",
    re.IGNORECASE,
)
_HTML_NAMES = dict.fromkeys(("html", "text/htm", "application/xhtml+xml", "text/xhtml"), "text/html")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_FIRST_BOUNDARY = re.compile(
    rb"(?:\A|\r?\n)--([^\s-][^\r\n]{0,198}?)[ \t]*\r?\n(?=content-[a-z-]+[ \t]*:)", re.IGNORECASE
)
# Beginnings of files: PDF, ZIP and Office, PNG, JPEG, GIF, older Office, gzip, RAR,
# 7-Zip, TIFF, Ogg and programs.
_MAGIC = (
    b"%PDF-", b"PK\x03\x04", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"\xd0\xcf\x11\xe0", b"\x1f\x8b",
    b"Rar!\x1a", b"7z\xbc\xaf", b"II*\0", b"MM\0*", b"OggS", b"\x7fELF",
)  # fmt: skip
_STARTS_WITH_PARTS = re.compile(rb"(?:[^\r\n]*\b(?:mime|multi-part)\b[^\r\n]*)?\s*--\S", re.IGNORECASE)


_Bytes = TypeVar("_Bytes", bytes, memoryview)


@dataclass(frozen=True)
class Headers:
    """The header fields of one part, in order, names in lower case, values unfolded."""

    fields: tuple[tuple[str, bytes], ...]

    def first(self, name: str) -> bytes | None:
        """The first non-empty field of that name: if there are several, mail programs show the first."""
        values = [value for key, value in self.fields if key == name]
        return next(filter(None, values), values[0] if values else None)

    def joined(self, name: str) -> bytes:
        """All fields of that name, as one list."""
        return b", ".join(value for key, value in self.fields if key == name)

    def value(self, name: str) -> str:
        """The first word of the field in lower case, without parameters; empty when it is missing."""
        return self._structured(name).partition(";")[0].strip().lower()

    @property
    def type(self) -> str:
        """The media type in lower case; text/plain if there is no valid one."""
        declared = self._structured("content-type")
        found = parameters.media_type(declared)
        written = found or declared.partition(";")[0].strip().lower()
        is_file = written and not written.startswith("text") and written not in _HTML_NAMES
        if not found and is_file and self.filename is not None:
            return "application/octet-stream"
        return _HTML_NAMES.get(written, found or "text/plain")

    @property
    def has_type(self) -> bool:
        """Whether it declares a valid media type."""
        return parameters.media_type(self._structured("content-type")) is not None

    def parameter(self, field: str, name: str) -> str | None:
        """A parameter such as charset, RFC 2231 pieces joined and decoded."""
        return parameters.find(self._structured(field), name)

    def _structured(self, name: str) -> str:
        """The raw value of a field with parameters. Some programs encode the whole of it, which is forbidden."""
        text = headers.raw_text(self.first(name) or b"")
        return headers.decode_words(text) if text.lstrip().startswith("=?") else text

    @property
    def filename(self) -> str | None:
        """The declared name of an attachment, sanitized and without folders; None if it has none."""
        name = self.parameter("content-disposition", "filename") or self.parameter("content-type", "name") or ""
        return headers.sanitize_line(headers.decode_words(name)).replace("\\", "/").rpartition("/")[2].strip() or None


@dataclass(frozen=True)
class Part:
    """One leaf: its headers and its raw body. `path` names the multiparts around it, outermost first.

    `unread` is the number of bytes after `body`.
    """

    head: Headers
    body: bytes
    path: tuple[str, ...]
    unread: int = 0

    @cached_property
    def content(self) -> bytes:
        """The body with its transfer encoding decoded; an unknown or wrong encoding is ignored."""
        return decode_body(self.body, self.head.value("content-transfer-encoding"))

    @property
    def size(self) -> int:
        """The size of the content; an estimate if not all was read."""
        if not self.unread or "base64" not in self.head.value("content-transfer-encoding"):
            return len(self.content) + self.unread
        line = self.body.partition(b"\n")[0]
        letters = len(line.rstrip()) / (len(line) + 1) if len(line) < len(self.body) else 1
        return len(self.content) + int(self.unread * letters * 3 / 4)


def split_head(data: _Bytes) -> tuple[Headers, _Bytes]:
    """Splits at the blank line, or where the body begins without one.

    A line that is not a field is ignored if the header continues after it, and otherwise is text; a line of only blanks
    ends the header unless a field follows.
    """
    fields, position = _split_head(bytes(data[:MAX_READ_BYTES]))
    if position == MAX_READ_BYTES and (blank := _BLANK_LINE.search(data, position - 2)) is not None:
        position = blank.end()
    return Headers(tuple((name, bytes(value).strip()) for name, value in fields)), data[position:]


def _split_head(data: bytes) -> tuple[list[tuple[str, bytearray]], int]:
    """The fields, and the start of the body."""
    fields: list[tuple[str, bytearray]] = []
    position, end = 0, len(data)
    junk_ends = 0
    while position < end:
        stop = _line_end(data, position)
        line = data[position:stop].rstrip(b"\r\n")
        field = _FIELD.match(line)
        if not line:
            position = stop
            break
        if line[:1] in b" \t":
            if not line.strip() and not _is_header_line(data, stop):
                position = stop
                break
            if fields and len(fields[-1][1]) < MAX_READ_BYTES // 16:
                fields[-1][1].extend(line)
            elif fields and fields[-1][0] == "references":
                # The newest ids are at the end.
                fields[-1][1].extend(line)
                del fields[-1][1][: len(line)]
        elif field is not None:
            if len(fields) < MAX_HEADERS:
                name = field.group(1).decode("ascii").lower()
                fields.append((name, bytearray(line[field.end() :])))
        elif _starts_parts(fields, line):
            break
        elif position >= junk_ends and not line.startswith((b"From ", b">From ")):
            junk_ends = _junk_ends(data, stop) if fields else 0
            if not junk_ends:
                break
        position = stop
    return fields, position


def walk(head: Headers, body: bytes | memoryview, *, most: int = MAX_READ_BYTES) -> Iterator[Part]:
    """Every leaf in reading order, at most `MAX_PARTS`, at most `MAX_DEPTH` multiparts deep.

    `most` bytes are read of all texts together, and as much of all other parts: pictures often come first.
    """
    waiting: list[tuple[Headers, memoryview, tuple[str, ...]]] = [(head, memoryview(body), ())]
    left = {True: most, False: most}
    found = 0

    def leaf(head: Headers, body: memoryview, place: tuple[str, ...]) -> Part:
        nonlocal found
        found += 1
        kind = head.type.startswith("text/")
        read = bytes(body[: max(left[kind], _MIN_READ_BYTES)])
        left[kind] -= len(read)
        part = Part(head, read, place, len(body) - len(read))
        return part if head.has_type or not _is_file(part.content) else replace(part, head=_as_file(head))

    while waiting and found < MAX_PARTS:
        head, view, place = waiting.pop()
        inside = (*place, f"{head.type}#{found}.{len(waiting)}")
        if len(place) >= MAX_DEPTH:
            yield leaf(head, view, place)
        elif _is_message(head, place):
            inner, text = split_head(_message(head, view))
            is_forwarded = not place[-1].startswith("multipart/digest")
            if is_forwarded:
                yield leaf(head, view, place)
                inside = (*place, f"{FORWARDED}#{found}.{len(waiting)}")
            if not is_forwarded or found > 1:
                yield leaf(Headers(()), memoryview(_caption(inner)), place)
            waiting.append((inner, text, inside))
        elif (signed := _signed(head, view)) is not None:
            waiting.append((*split_head(signed), inside))
        elif head.type.startswith("multipart/") or head.first("content-type") is None:
            pieces = _pieces_of(head, view, place, limit=MAX_PARTS - found)
            if not pieces:
                yield leaf(_without_type(head), view, place)
            waiting.extend((*_split_part(piece), inside) for piece in reversed(pieces))
        else:
            yield leaf(head, view, place)


def starts_with_field(data: bytes) -> bool:
    """Whether the first line is a field that is certainly part of a mail header."""
    return _SURE_FIELD.match(data) is not None


def _starts_parts(fields: list[tuple[str, bytearray]], line: bytes) -> bool:
    """Whether a line of the header is the first boundary, because the blank line in front of it is missing."""
    return line.startswith(b"--") and any(
        name == "content-type" and value.strip()[:10].lower() == b"multipart/" for name, value in fields
    )


def _line_end(data: bytes, position: int) -> int:
    stop = data.find(b"\n", position)
    return len(data) if stop < 0 else stop + 1


def _is_header_line(data: bytes, position: int) -> bool:
    """Whether the header continues here: with a field, a continuation, or its blank line."""
    line = data[position : _line_end(data, position)].rstrip(b"\r\n")
    return not line or line[:1] in b" \t" or _FIELD.match(line) is not None


def _junk_ends(data: bytes, position: int) -> int:
    """Where the header continues after a line that is not a field; 0 if that line is the beginning of the body."""
    for _ in range(_MAX_LOOKAHEAD):
        stop = _line_end(data, position)
        line = data[position:stop].rstrip(b"\r\n")
        if not line:
            return 0
        if _SURE_FIELD.match(line):
            return position
        position = stop
    return 0


def _split_part(piece: memoryview) -> tuple[Headers, memoryview]:
    """A part, whose header may be missing together with its blank line."""
    start = bytes(piece[:1_000])
    first = start[: _line_end(start, 0)].rstrip(b"\r\n")
    if first and not first.strip():
        return Headers(()), piece
    head, body = split_head(piece)
    # A text that begins with "Note:" or "http:".
    is_text = head.fields and not any(_SURE_FIELD.match(name.encode() + b":") for name, _ in head.fields)
    return (Headers(()), piece) if is_text else (head, body)


def _is_message(head: Headers, place: tuple[str, ...]) -> bool:
    """Whether a part is a message to be shown in its place: in a digest (RFC 2046 §5.1.5), or forwarded."""
    around = place[-1].partition("#")[0] if place else ""
    if around == "multipart/digest":
        return head.first("content-type") is None or head.type == "message/rfc822"
    is_attached = head.value("content-disposition").startswith("attachment")
    return around == "multipart/mixed" and head.type == "message/rfc822" and not is_attached


def _message(head: Headers, body: memoryview) -> memoryview:
    """The message in a part."""
    if head.value("content-transfer-encoding") in {"", "7bit", "8bit", "binary"}:
        return body
    return memoryview(Part(head, bytes(body[:MAX_READ_BYTES]), ()).content)


def _signed(head: Headers, body: memoryview) -> memoryview | None:
    """The content of an opaque signature."""
    if not head.type.endswith("pkcs7-mime"):
        return None
    content = signed_content(Part(head, bytes(body[:MAX_READ_BYTES]), ()).content)
    return None if content is None else memoryview(content)


def _decoded(head: Headers, body: memoryview) -> memoryview:
    """A multipart that a program encoded as a whole, which is forbidden; empty if it is not encoded."""
    read = bytes(body[:MAX_READ_BYTES])
    content = Part(head, read, ()).content
    return memoryview(b"" if content == read else content)


def _without_type(head: Headers) -> Headers:
    """The header of a multipart without parts, whose body is read as plain text."""
    return Headers(tuple((name, value) for name, value in head.fields if name != "content-type"))


def _is_file(content: bytes) -> bool:
    """Whether the content is no text, although no media type says so."""
    return content.startswith(_MAGIC)


def _as_file(head: Headers) -> Headers:
    rest = (head.first("content-type") or b"").partition(b";")[2]
    return Headers((*_without_type(head).fields, ("content-type", b"application/octet-stream;" + rest)))


def _caption(head: Headers) -> bytes:
    """The caption above a message of a digest."""
    shown = [
        f"{name.title()}: ".encode() + value for name in ("from", "date", "subject") if (value := head.first(name))
    ]
    return b"\n".join(headers.sanitize_line(headers.decode_words(line)).encode() for line in shown)


def _pieces_of(head: Headers, body: memoryview, place: tuple[str, ...], *, limit: int) -> list[memoryview]:
    """The parts of a multipart, even if it is encoded as a whole."""
    if len(place) >= _MAX_DEPTH_OF_LARGE:
        body = body[:MAX_READ_BYTES]
    return _parts_in(head, body, limit=limit) or _parts_in(head, _decoded(head, body), limit=limit)


def _parts_in(head: Headers, body: memoryview, *, limit: int) -> list[memoryview]:
    """The parts by the declared boundary, or by the boundary found in the body."""
    declared = (head.parameter("content-type", "boundary") or "").strip()
    start = bytes(body[:MAX_READ_BYTES])
    if not body or (head.first("content-type") is None and not _STARTS_WITH_PARTS.match(start)):
        return []
    candidates = [declared, declared.split()[0] if declared else "", declared.rstrip("-")]
    tried: set[bytes] = {b""}
    for boundary in (candidate.encode("utf-8", "surrogateescape") for candidate in candidates):
        pieces = [] if boundary in tried else _pieces(body, boundary, limit=limit)
        if any(bytes(piece[:MAX_READ_BYTES]).strip() for piece in pieces):
            return pieces
        tried.add(boundary)
    found = _FIRST_BOUNDARY.search(start)
    return _pieces(body, found.group(1), limit=limit) if found and found.group(1) not in tried else []


def _pieces(body: memoryview, boundary: bytes, *, limit: int) -> list[memoryview]:
    """The parts between the boundary lines, at most `limit`; the last boundary may be missing.

    If several lines look like the end, the last one is: a part inside may have the same boundary followed by "--".
    """
    marks = list(_boundary_lines(body, boundary))
    ends = [index for index, (_, _, is_end) in enumerate(marks) if is_end]
    declared_inside = re.compile(rb"boundary\s*=\s*\"?" + re.escape(boundary) + rb"--")
    nested = len(ends) > 2 and declared_inside.search(body[:MAX_READ_BYTES]) is not None
    marks = [mark for index, mark in enumerate(marks) if not mark[2] or not nested or index == ends[-1]]
    pieces: list[memoryview] = []
    start: int | None = None
    for before, behind, is_end in [*marks, (len(body), len(body), True)]:
        if start is not None:
            pieces.append(body[min(start, before) : before])
        if is_end or len(pieces) >= limit:
            break
        start = behind
    return pieces


def _boundary_lines(body: memoryview, boundary: bytes) -> Iterator[tuple[int, int, bool]]:
    """The start of the line break before each boundary, the start of the next line, and whether it is the last
    boundary.

    A pattern that begins with literal characters is fast, so the surrounding characters are checked afterwards.
    """
    line = re.compile(b"--" + re.escape(boundary) + rb"(--)?[ \t]{0,1000}(?:\r?(\n)|\Z)?")
    for mark in islice(line.finditer(body), _MAX_BOUNDARIES):
        before = bytes(body[max(0, mark.start() - 2) : mark.start()])
        is_line = mark.group(2) is not None or mark.end() == len(body)
        if is_line and (not before or before.endswith(b"\n")):
            yield (
                mark.start() - (len(before) - len(before.removesuffix(b"\n").removesuffix(b"\r"))),
                mark.end(),
                bool(mark.group(1)),
            )
