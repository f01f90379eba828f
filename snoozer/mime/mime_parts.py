"""The parts of a stranger's message, found in one bounded pass: no input raises, recurses without end or takes long.

The standard library's parser needs a second for a thousand nested parts and then raises; this one stops at its limits
and keeps what it has.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from snoozer.mime.charsets import decode_bytes
from snoozer.mime.headers import decode_words, raw_text, sanitize_line

MAX_READ_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_PARTS = 100
MAX_HEADERS = 1_000

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:")
_PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^;]*)", re.DOTALL)
_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)", re.ASCII)
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


@dataclass(frozen=True)
class Headers:
    """The header fields of one part, in order, names in lower case, values unfolded."""

    fields: tuple[tuple[str, bytes], ...]

    def first(self, name: str) -> bytes | None:
        """The first field of that name: where a sender repeats one, the first is what mail programs show."""
        return next((value for key, value in self.fields if key == name), None)

    def value(self, name: str) -> str:
        """The first word of the field in lower case, without parameters; empty when it is missing."""
        return raw_text(self.first(name) or b"").partition(";")[0].strip().lower()

    @property
    def type(self) -> str:
        """The media type in lower case, text/plain where there is none that can be read."""
        found = _TYPE.match(raw_text(self.first("content-type") or b""))
        return found.group(1).lower() if found else "text/plain"

    def parameter(self, field: str, name: str) -> str | None:
        """A parameter such as charset, RFC 2231 pieces joined and decoded."""
        pieces: dict[int, tuple[bool, str]] = {}
        for key, value in _PARAMETER.findall(raw_text(self.first(field) or b"")):
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
        """The name an attachment asks for, as one harmless line without folders; None when it has none."""
        name = self.parameter("content-disposition", "filename") or self.parameter("content-type", "name")
        return sanitize_line(decode_words(name)).replace("\\", "/").rpartition("/")[2].strip() or None if name else None


@dataclass(frozen=True)
class Part:
    """One leaf: its head and its body as it stood in the message. `place` is the path of multiparts around it."""

    head: Headers
    body: bytes
    path: tuple[str, ...]

    def content(self) -> bytes:
        """The body with its transfer encoding undone; what cannot be undone stays as it is."""
        encoding = self.head.value("content-transfer-encoding").strip("\"' .")
        if encoding == "base64":
            return _from_base64(self.body)
        if encoding == "quoted-printable":
            return binascii.a2b_qp(self.body)
        if encoding in {"x-uuencode", "uuencode", "x-uue", "uue"}:
            return _from_uuencode(self.body)
        return self.body


def split_head(data: bytes) -> tuple[Headers, bytes]:
    """Split at the blank line. Lines that are no header are passed over, unless they begin the text."""
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
    """Every leaf in reading order, at most `MOST_PARTS`, at most `DEEPEST` multiparts inside one another."""
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
        pieces = _pieces(body, boundary.encode("utf-8", "replace"), most=MAX_PARTS - found) if boundary else []
        if not pieces:
            found += 1
            yield Part(Headers(()), body, place)
        waiting.extend((*split_head(piece), inside) for piece in reversed(pieces))


def _pieces(body: bytes, boundary: bytes, *, most: int) -> list[bytes]:
    """What stands between the boundary lines; a missing last one is forgiven."""
    line = re.compile(rb"(?:\r?\n|\A)--" + re.escape(boundary) + rb"(--)?[ \t]*(?=\r?\n|\Z)")
    pieces: list[bytes] = []
    start: int | None = None
    for mark in line.finditer(body):
        if start is not None:
            pieces.append(body[start : mark.start()])
        start = mark.end()
        if mark.group(1) or len(pieces) >= most:
            return [piece.removeprefix(b"\r").removeprefix(b"\n") for piece in pieces]
    if start is not None:
        pieces.append(body[start:])
    return [piece.removeprefix(b"\r").removeprefix(b"\n") for piece in pieces]


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


def _from_base64(body: bytes) -> bytes:
    digits = _NOT_BASE64.sub(b"", body.partition(b"=")[0])
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return b64decode(digits + b"=" * (-len(digits) % 4))


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
