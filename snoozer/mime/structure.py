"""The parts of a message from anywhere, in one bounded pass; never an exception.

The standard library's parser needs a second for a thousand nested parts and then raises; this one stops at its limits
and keeps what it has. It forgives what mail programs forgive: a header that has no end, a boundary that is not the
declared one, a transfer encoding that is not the declared one.
"""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from urllib.parse import unquote_to_bytes

from snoozer.mime import headers
from snoozer.mime.charsets import decode_bytes

MAX_READ_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_PARTS = 100
MAX_HEADERS = 1_000
# Lines behind one that is no field in which the header may go on.
_MAX_LOOKAHEAD = 50

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:")
# Fields that say beyond doubt that the header goes on.
_SURE_FIELD = re.compile(
    rb"(?:from|to|cc|bcc|subject|date|message-id|received|mime-version|content-[a-z-]+|x-[a-z0-9-]+|list-[a-z]+"
    rb"|return-path|reply-to|sender|in-reply-to|references|delivered-to|dkim-signature|authentication-results"
    rb"|importance|precedence|user-agent|thread-[a-z]+|errors-to|organization|priority|status|resent-[a-z-]+)[ \t]*:",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^;]*)", re.DOTALL)
# Without the semicolon in front, or behind a comment.
_LOOSE_PARAMETER = r"(?<![\w.-]){}\s*=\s*(\"[^\"]*\"|[^\s;,\"]+)"
_COMMENTS = r"(?:\([^()]*\)\s*)*"
_TYPE = re.compile(rf"\s*{_COMMENTS}[\"']?([\w.+-]+)\s*/\s*{_COMMENTS}([\w.+-]+)", re.ASCII)
# Values that are one word, so what follows a blank is something else.
_ONE_WORD = frozenset({"charset", "format", "delsp"})
_FIRST_BOUNDARY = re.compile(
    rb"(?:\A|\r?\n)--([^\s-][^\r\n]{0,198}?)[ \t]*\r?\n(?=content-[a-z-]+[ \t]*:)", re.IGNORECASE
)
_STARTS_WITH_PARTS = re.compile(rb"(?:[^\r\n]*\b(?:mime|multi-part)\b[^\r\n]*)?\s*--\S", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True)
class Headers:
    """The header fields of one part, in order, names in lower case, values unfolded."""

    fields: tuple[tuple[str, bytes], ...]

    def first(self, name: str) -> bytes | None:
        """The first field of that name that says something: mail programs show the first one of several."""
        values = [value for key, value in self.fields if key == name]
        return next(filter(None, values), values[0] if values else None)

    def value(self, name: str) -> str:
        """The first word of the field in lower case, without parameters; empty when it is missing."""
        return headers.raw_text(self.first(name) or b"").partition(";")[0].strip().lower()

    @property
    def type(self) -> str:
        """The media type in lower case; text/plain when there is none that is valid."""
        found = _TYPE.match(headers.raw_text(self.first("content-type") or b""))
        return f"{found.group(1)}/{found.group(2)}".lower() if found else "text/plain"

    def parameter(self, field: str, name: str) -> str | None:
        """A parameter such as charset, RFC 2231 pieces joined and decoded."""
        text = headers.raw_text(self.first(field) or b"")
        pieces: dict[int, tuple[bool, str]] = {}
        for key, value in _PARAMETER.findall(text):
            base, _, number = key.lower().partition("*")
            digits = number.rstrip("*")
            if base == name:
                index = int(digits) if digits.isdecimal() and len(digits) < 4 else 0
                pieces.setdefault(index, (key[-1] == "*", _unquoted(value)))
        if not pieces and (loose := re.search(_LOOSE_PARAMETER.format(re.escape(name)), text, re.IGNORECASE)):
            pieces[0] = (False, _unquoted(loose.group(1)))
        if not pieces:
            return None
        joined = _joined([pieces[index] for index in sorted(pieces)])
        return re.split(r"[\s,(]", joined, maxsplit=1)[0] if name in _ONE_WORD else joined

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

    @cached_property
    def content(self) -> bytes:
        """The body with its transfer encoding decoded; one that is unknown, or not what the body is in, is ignored."""
        encoding = self.head.value("content-transfer-encoding")
        if "base64" in encoding:
            return _from_base64(self.body)
        if "quoted" in encoding and "printable" in encoding:
            return binascii.a2b_qp(self.body)
        if encoding.strip("\"' .") in {"x-uuencode", "uuencode", "x-uue", "uue"}:
            return _from_uuencode(self.body)
        return self.body


def split_head(data: bytes) -> tuple[Headers, bytes]:
    """Splits at the blank line, or where the body begins without one.

    A line that is no header is ignored where the header goes on behind it, or the blank line follows; one of blanks
    alone ends the header unless a field follows.
    """
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
        elif field is not None:
            if len(fields) < MAX_HEADERS:
                name = field.group(1).decode("ascii").lower()
                fields.append((name, bytearray(line[field.end() :])))
        elif position >= junk_ends and not line.startswith((b"From ", b">From ")):
            junk_ends = _junk_ends(data, stop) if fields else 0
            if not junk_ends:
                break
        position = stop
    return Headers(tuple((name, bytes(value).strip()) for name, value in fields)), data[position:]


def walk(head: Headers, body: bytes) -> Iterator[Part]:
    """Every leaf in reading order, at most `MAX_PARTS`, at most `MAX_DEPTH` multiparts deep."""
    waiting: list[tuple[Headers, bytes, tuple[str, ...]]] = [(head, body, ())]
    found = 0
    while waiting and found < MAX_PARTS:
        head, body, place = waiting.pop()
        if len(place) >= MAX_DEPTH:
            found += 1
            yield Part(head, body, place)
        elif place and place[-1].startswith("multipart/digest") and head.first("content-type") is None:
            # The parts of a digest are messages unless they say otherwise (RFC 2046 §5.1.5).
            inner, text = split_head(body)
            found += 1
            yield Part(Headers(()), _caption(inner), place)
            waiting.append((inner, text, (*place, f"message/rfc822#{found}.{len(waiting)}")))
        elif head.type.startswith("multipart/") or head.first("content-type") is None:
            limit = MAX_PARTS - found
            pieces = _pieces_of(head, body, limit=limit) or _pieces_of(head, _decoded(head, body), limit=limit)
            inside = (*place, f"{head.type}#{found}.{len(waiting)}")
            if not pieces:
                found += 1
                yield Part(_without_type(head), body, place)
            waiting.extend((*_split_part(piece), inside) for piece in reversed(pieces))
        else:
            found += 1
            yield Part(head, body, place)


def starts_with_field(data: bytes) -> bool:
    """Whether the first line is one of the fields that every message has some of."""
    return _SURE_FIELD.match(data) is not None


def _line_end(data: bytes, position: int) -> int:
    stop = data.find(b"\n", position)
    return len(data) if stop < 0 else stop + 1


def _is_header_line(data: bytes, position: int) -> bool:
    """Whether the header goes on here: with a field, a continuation, or its blank line."""
    line = data[position : _line_end(data, position)].rstrip(b"\r\n")
    return not line or line[:1] in b" \t" or _FIELD.match(line) is not None


def _junk_ends(data: bytes, position: int) -> int:
    """Where the header goes on behind a line that is no field; 0 where that line is the beginning of the body."""
    start = position
    for _ in range(_MAX_LOOKAHEAD):
        stop = _line_end(data, position)
        line = data[position:stop].rstrip(b"\r\n")
        if not line:
            # One line, then the blank one: the rest of a field that was broken without indentation.
            return stop if position == start and data[stop:].strip() else 0
        if _SURE_FIELD.match(line):
            return position
        position = stop
    return 0


def _split_part(piece: bytes) -> tuple[Headers, bytes]:
    """A part, whose header may be missing together with its blank line."""
    first = piece[: _line_end(piece, 0)].rstrip(b"\r\n")
    if first and not first.strip():
        return Headers(()), piece
    return split_head(piece)


def _decoded(head: Headers, body: bytes) -> bytes:
    """A multipart that a program encoded as a whole, which is forbidden; empty when it is not encoded."""
    content = Part(head, body, ()).content
    return b"" if content == body else content


def _without_type(head: Headers) -> Headers:
    """The header of a multipart without parts, whose body is read as plain text."""
    return Headers(tuple((name, value) for name, value in head.fields if name != "content-type"))


def _caption(head: Headers) -> bytes:
    """What is shown above a message of a digest."""
    shown = [
        f"{name.title()}: ".encode() + value for name in ("from", "date", "subject") if (value := head.first(name))
    ]
    return b"\n".join(headers.sanitize_line(headers.decode_words(line)).encode() for line in shown)


def _pieces_of(head: Headers, body: bytes, *, limit: int) -> list[bytes]:
    """The parts of a multipart by the declared boundary, or by the one that the body has."""
    declared = (head.parameter("content-type", "boundary") or "").strip()
    if not body or (head.first("content-type") is None and not _STARTS_WITH_PARTS.match(body)):
        return []
    candidates = [declared, declared.split()[0] if declared else "", declared.rstrip("-")]
    tried: set[bytes] = {b""}
    for boundary in (candidate.encode("utf-8", "surrogateescape") for candidate in candidates):
        pieces = [] if boundary in tried else _pieces(body, boundary, limit=limit)
        if any(piece.strip() for piece in pieces):
            return pieces
        tried.add(boundary)
    found = _FIRST_BOUNDARY.search(body)
    return _pieces(body, found.group(1), limit=limit) if found and found.group(1) not in tried else []


def _pieces(body: bytes, boundary: bytes, *, limit: int) -> list[bytes]:
    """The parts between the boundary lines, at most `limit`; the last boundary may be missing.

    The last of several that look like the end is the end: a part inside may have the same boundary with "--" behind it.
    """
    line = re.compile(rb"(?:\r?\n|\A)--" + re.escape(boundary) + rb"(--)?[ \t]*(?=\r?\n|\Z)")
    marks = list(line.finditer(body))
    ends = [index for index, mark in enumerate(marks) if mark.group(1)]
    nested = len(ends) > 2 and re.search(rb"boundary\s*=\s*\"?" + re.escape(boundary) + rb"--", body) is not None
    marks = [mark for index, mark in enumerate(marks) if not mark.group(1) or not nested or index == ends[-1]]
    pieces: list[bytes] = []
    start: int | None = None
    for mark in chain(marks, [None]):
        if start is not None:
            pieces.append(body[start : mark.start() if mark else None].removeprefix(b"\r").removeprefix(b"\n"))
        if mark is None or mark.group(1) or len(pieces) >= limit:
            break
        start = mark.end()
    return pieces


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        # Other backslashes are meant, as in C:\TEMP.
        return re.sub(r"\\([\\\"])", r"\1", value[1:-1])
    return value.strip('"') if value.count('"') == 1 else value


def _joined(pieces: list[tuple[bool, str]]) -> str:
    if not pieces[0][0]:
        return "".join(value for _, value in pieces)
    charset, _, rest = pieces[0][1].partition("'")
    first = rest.partition("'")[2]
    raw = b"".join(
        unquote_to_bytes(value.encode("utf-8", "surrogateescape"))
        if starred
        else value.encode("utf-8", "surrogateescape")
        for starred, value in [(True, first), *pieces[1:]]
    )
    return decode_bytes(raw, charset)


def _from_base64(body: bytes) -> bytes:
    """Decoded up to where the lines are base64 no more; a body that never was is returned as it is."""
    lines = [line.strip() for line in body.splitlines()]
    filled = [line for line in lines if line]
    if not filled:
        return b""
    if not _BASE64_LINE.fullmatch(filled[0]) or len(filled[0]) % 4:
        letters = sum(len(line) for line in filled)
        others = letters - sum(len(run) for line in filled for run in _BASE64_LINE.findall(line))
        if others * 6 > letters or any(b" " in line for line in filled[:2]):
            return body
    content = b"".join(headers.decode_base64(piece) for piece in _encoded_pieces(filled))
    is_short_and_odd = len(filled) == 1 and not _BASE64_LINE.fullmatch(filled[0])
    return body if is_short_and_odd and _CONTROLS.search(content) else content


def _encoded_pieces(lines: list[bytes]) -> Iterator[bytes]:
    """The base64 of a body, padded in the middle where a program encoded it in pieces, without the words behind it."""
    piece: list[bytes] = []
    ended = False
    for line in lines:
        if (ended or b" " in line) and not _BASE64_LINE.fullmatch(line):
            break
        ended = b"=" in line
        piece.append(line.partition(b"=")[0])
        if ended:
            yield b"".join(piece)
            piece.clear()
    yield b"".join(piece)


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
