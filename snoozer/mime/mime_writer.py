"""Header fields and two bodies to the bytes of a mail: 7 bit, CRLF, the same in every process and every Python.

The standard library's generator is not used to write: it folds differently from release to release, and before
CVE-2024-6923 was fixed it let a hostile subject end the header. What is written is read back before it leaves, by the
library's parser where two readers could differ.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from email.policy import compat32

from snoozer.mime import headers

FALLBACK_SUBJECT = "Reminder"

_WIDTH = 76
_WORD_BYTES = 39
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")
_PLAIN_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9-]*: [!-~](?:[ -~]*[!-~])?")
# `Name: words`, or one space before words that go on, in printable ASCII: every reader finds the same fields here.
_PLAIN_HEAD = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*: [!-~][ -~]*(?:\r\n [!-~][ -~]*)*\r\n)+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class RoundTripError(Exception):
    """The mail reads back differently from what was meant, so it was not made."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True)
class Text:
    """A field's value in any language. Everything else in a header must be printable ASCII."""

    words: str


Field = tuple[str, str | Text]


def build_message(fields: Sequence[Field], *, text: bytes, html: bytes, seed: str) -> bytes:
    """A multipart/alternative mail of two bodies in quoted-printable, text first. `seed` alone decides its boundary.

    The bytes are read back and compared with the intent, header by header and where the body begins. If they differ
    the subject is replaced by a plain one; if that does not cure it, NotFaithful.
    """
    boundary = "=_" + hashlib.sha256(seed.encode("utf-8")).hexdigest()[:32]
    body = b"".join(
        [
            _part(boundary, "plain", text),
            _part(boundary, "html", html),
            f"--{boundary}--\r\n".encode("ascii"),
        ]
    )
    whole = [*fields, ("MIME-Version", "1.0"), ("Content-Type", f'multipart/alternative; boundary="{boundary}"')]
    plain = [(name, FALLBACK_SUBJECT if name == "Subject" else value) for name, value in whole]
    for attempt in (whole, plain):
        head = "\r\n".join([_field(name, value) for name, value in attempt])
        written = b"".join([head.encode("ascii"), b"\r\n\r\n", body])
        if parses_as(written, attempt, body):
            return written
    raise RoundTripError


def parses_as(written: bytes, fields: Sequence[Field], body: bytes) -> bool:
    """The last guard: a reader finds exactly these fields with these values, then exactly this body."""
    head, blank, rest = written.partition(b"\r\n\r\n")
    if not blank or rest != body or not is_seven_bit(written):
        return False
    return _matches(_fields_of(head + b"\r\n"), fields)


def is_seven_bit(data: bytes) -> bool:
    """ASCII without NUL, and CR and LF only together (RFC 5321 §2.3.8): what every mail server takes as it is."""
    whole_lines = b"\r\n".join(data.splitlines())
    return data.isascii() and b"\0" not in data and data.removesuffix(b"\r\n") == whole_lines


def _fields_of(head: bytes) -> list[tuple[str, str]]:
    """What the standard library's parser finds, unfolded. It is not asked about a head that leaves it no choice."""
    if _PLAIN_HEAD.fullmatch(head):
        lines = head.decode("ascii").replace("\r\n ", " ").split("\r\n")[:-1]
        return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    found = BytesHeaderParser(policy=compat32).parsebytes(head + b"\r\n").items()
    return [(name, re.sub(r"\r\n(?=[ \t])", "", str(value))) for name, value in found]


def _matches(found: Sequence[tuple[str, str]], fields: Sequence[Field]) -> bool:
    """Same names in the same order, and each value, once decoded, says what was meant."""
    if [name for name, _ in found] != [name for name, _ in fields]:
        return False
    return all(
        headers.decode_words(read) == meant.words if isinstance(meant, Text) else read == meant
        for (_, read), (_, meant) in zip(found, fields, strict=True)
    )


def format_mailbox(name: str | None, email: str) -> str:
    """`Name <local@domain>` in ASCII. ValueError when the address cannot be written so."""
    if headers.address(email) != email or not email.isascii():
        raise ValueError("A header needs a plain address: local@domain in ASCII.")
    name = headers.sanitize_line(name or "")
    if not name:
        return email
    if _ATOMS.fullmatch(name):
        return f"{name} <{email}>"
    if name.isascii():
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}" <{email}>'
    return f"{' '.join(_encoded_words(name))} <{email}>"


def _field(name: str, value: str | Text) -> str:
    words = value if isinstance(value, str) else value.words
    line = f"{name}: {words}"
    if len(line) <= _WIDTH and _PLAIN_FIELD.fullmatch(line) and "=?" not in words:
        return line
    if not _NAME.fullmatch(name):
        raise ValueError("A header field's name is letters, digits and hyphens.")
    if isinstance(value, Text):
        return f"{name}: {_folded(_encoded_words(words))}"
    if not _PRINTABLE.fullmatch(words):
        raise ValueError(f"The field {name} must be printable ASCII.")
    return line if len(line) <= _WIDTH else f"{name}: {_folded(words.split(' '))}"


def _folded(words: Sequence[str]) -> str:
    return "\r\n ".join(words)


def _encoded_words(text: str) -> list[str]:
    """RFC 2047, UTF-8 in base64, no character cut in two, each word short enough for its own line."""
    words: list[str] = []
    chunk = b""
    for char in text:
        raw = char.encode("utf-8", "replace")
        if len(chunk) + len(raw) > _WORD_BYTES:
            words.append(f"=?utf-8?b?{b64encode(chunk).decode('ascii')}?=")
            chunk = b""
        chunk += raw
    return [*words, f"=?utf-8?b?{b64encode(chunk).decode('ascii')}?="]


def _part(boundary: str, subtype: str, content: bytes) -> bytes:
    head = (
        f"--{boundary}\r\nContent-Type: text/{subtype}; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
    )
    return head.encode("ascii") + content + b"\r\n"
