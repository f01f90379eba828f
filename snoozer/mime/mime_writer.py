"""Header fields and two bodies to the bytes of a mail: 7 bit, CRLF, the same in every process and every Python.

The standard library's generator is not used: it folds differently from release to release, and before CVE-2024-6923
was fixed it let a hostile subject end the header. What is written is read back, by the library's parser where two
readers could differ.
"""

import binascii
import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from email.parser import BytesHeaderParser
from email.policy import compat32

from snoozer.mime import headers

FALLBACK_SUBJECT = "Reminder"

_WIDTH = 76
_FOLD = "\r\n "
_WORD_BYTES = 39
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")
_PLAIN_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9-]*: [!-~](?:[ -~]*[!-~])?")
# Fields in printable ASCII, folded with one space: every parser finds the same fields here.
_PLAIN_HEAD = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*: [!-~][ -~]*(?:\r\n [!-~][ -~]*)*\r\n)+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class RoundTripError(Exception):
    """The mail reads back differently from what was meant, so it was not made."""


class Text(str):
    """The value of a field in any language; a value that is a `str` must be printable ASCII."""

    __slots__ = ()


Field = tuple[str, str]


def build_message(fields: Sequence[Field], *, text: bytes, html: bytes, seed: str) -> bytes:
    """A multipart/alternative mail of two bodies in quoted-printable, text first. `seed` alone decides its boundary.

    The bytes are parsed and compared with the intent, field by field. If they differ, the subject is replaced by a
    plain one; if they still differ, raises RoundTripError.
    """
    boundary = "=_" + hashlib.sha256(seed.encode("utf-8")).hexdigest()[:32]
    body = _part(boundary, "plain", text) + _part(boundary, "html", html) + f"--{boundary}--\r\n".encode("ascii")
    whole = [*fields, ("MIME-Version", "1.0"), ("Content-Type", f'multipart/alternative; boundary="{boundary}"')]
    plain = [(name, FALLBACK_SUBJECT if name == "Subject" else value) for name, value in whole]
    for attempt in (whole, plain):
        head = "\r\n".join([_field(name, value) for name, value in attempt])
        written = b"".join([head.encode("ascii"), b"\r\n\r\n", body])
        if parses_as(written, attempt, body):
            return written
    raise RoundTripError(RoundTripError.__doc__)


def parses_as(written: bytes, fields: Sequence[Field], body: bytes) -> bool:
    """True when a parser finds exactly these fields with these values, then exactly this body."""
    head, blank, rest = written.partition(b"\r\n\r\n")
    if not blank or rest != body or not is_seven_bit(written):
        return False
    return _matches(_fields_of(head + b"\r\n"), fields)


def quoted_printable(text: str) -> bytes:
    """Lines of at most 76 characters with CRLF between them (RFC 2045 §6.7)."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # b2a_qp may exceed the length of a line where it encodes a blank before a line break.
    parts = text.split("\n") if " \n" in text or "\t\n" in text else [text]
    encoded = [binascii.b2a_qp(part.encode("utf-8", "replace"), istext=True) for part in parts]
    return b"\n".join(encoded).replace(b"\n", b"\r\n")


def is_seven_bit(data: bytes) -> bool:
    """True for ASCII without NUL, CR and LF only together (RFC 5321 §2.3.8): every server takes it unchanged."""
    whole_lines = b"\r\n".join(data.splitlines())
    return data.isascii() and b"\0" not in data and data.removesuffix(b"\r\n") == whole_lines


def _fields_of(head: bytes) -> list[tuple[str, str]]:
    """The fields that the standard library's parser finds, unfolded; plain heads are parsed here, which is faster."""
    if _PLAIN_HEAD.fullmatch(head):
        lines = head.decode("ascii").replace("\r\n ", " ").split("\r\n")[:-1]
        return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    found = BytesHeaderParser(policy=compat32).parsebytes(head + b"\r\n").items()
    return [(name, re.sub(r"\r\n(?=[ \t])", "", str(value))) for name, value in found]


def _matches(found: Sequence[tuple[str, str]], fields: Sequence[Field]) -> bool:
    """True for the same names in the same order, each value, once decoded, as it was meant."""
    if [name for name, _ in found] != [name for name, _ in fields]:
        return False
    return all(
        headers.decode_words(read) == meant if isinstance(meant, Text) else read == meant
        for (_, read), (_, meant) in zip(found, fields, strict=True)
    )


def format_mailbox(name: str | None, email: str) -> str:
    """`Name <local@domain>` in ASCII. Raises ValueError unless the address is plain ASCII."""
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


def _field(name: str, value: str) -> str:
    line = f"{name}: {value}"
    if len(line) <= _WIDTH and _PLAIN_FIELD.fullmatch(line) and "=?" not in value:
        return line
    if not _NAME.fullmatch(name):
        raise ValueError("A header field's name is letters, digits and hyphens.")
    if isinstance(value, Text):
        return f"{name}: {_FOLD.join(_encoded_words(value))}"
    if not _PRINTABLE.fullmatch(value):
        raise ValueError(f"The field {name} must be printable ASCII.")
    return line if len(line) <= _WIDTH else f"{name}: {value.replace(' ', _FOLD)}"


def _encoded_words(text: str) -> list[str]:
    """Encoded words (RFC 2047), UTF-8 in base64: no character divided, each word short enough for its own line."""
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
