"""Header fields and two bodies to the bytes of a mail: 7 bit, CRLF, the same in every process and every Python.

The standard library's generator is not used: it folds differently from release to release, and before CVE-2024-6923 was
fixed it let a hostile subject end the header. If a field is not a plain line, it is read back, by the library's parser
if two readers could differ. Fields and pieces of bodies are checked one by one, and stay correct in any combination: a
field begins with its name and ends with its line, and a piece stands between soft line breaks.
"""

import binascii
import re
from base64 import b64encode
from collections.abc import Sequence
from email.parser import BytesHeaderParser
from email.policy import compat32

from snoozer.mail import headers

FALLBACK_SUBJECT = "Reminder"

_WIDTH = 76
_FOLD = "\r\n "
_WORD_BYTES = 39
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")
_PLAIN_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9-]*: [!-~](?:[ -~]*[!-~])?")
# Fields in printable ASCII, folded with one space: every parser finds the same fields here.
_PLAIN_HEAD = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*: [!-~][ -~]*(?:\r\n [!-~][ -~]*)*\r\n)+")
# Fits into a line before a soft line break, needs no encoding, and does not begin with text that some servers change.
_PLAIN_PIECE = re.compile(r"(?![.F])[ -<>-~]{1,75}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class RoundTripError(Exception):
    """The mail reads back differently from what was meant, so it was not made."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class Text(str):
    """The value of a field in any language; a value that is a `str` must be printable ASCII."""

    __slots__ = ()


Field = tuple[str, str]

# Quoted-printable has no "=_", so no line of a body is a boundary (RFC 2045 §6.7).
_BOUNDARY = "=_snoozer"
MULTIPART: tuple[Field, ...] = (
    ("MIME-Version", "1.0"),
    ("Content-Type", f'multipart/alternative; boundary="{_BOUNDARY}"'),
)
SOFT_BREAK = b"=\r\n"


def write_fields(fields: Sequence[Field]) -> bytes:
    """The fields as lines, each with the value that a parser finds in it.

    A field that is not a plain line is parsed and compared with the intent. If they differ, the subject is replaced by
    a plain one; any other field raises RoundTripError, or ValueError if it cannot be written at all.
    """
    return "".join([f"{_field(name, value)}\r\n" for name, value in fields]).encode("ascii")


def multipart(*, text: bytes, html: bytes) -> bytes:
    """The body after fields with `MULTIPART`: two bodies in quoted-printable, text first."""
    return _part("plain", text) + _part("html", html) + f"--{_BOUNDARY}--\r\n".encode("ascii")


def parses_as(written: bytes, fields: Sequence[Field], body: bytes) -> bool:
    """True if a parser finds exactly these fields with these values, then exactly this body."""
    head, blank, rest = written.partition(b"\r\n\r\n")
    if not blank or rest != body or not is_seven_bit(written):
        return False
    return _matches(_fields_of(head + b"\r\n"), fields)


def quoted_printable(text: str) -> bytes:
    """Lines of at most 76 characters with CRLF between them (RFC 2045 §6.7)."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # b2a_qp may exceed the length of a line if it encodes a blank before a line break.
    parts = text.split("\n") if " \n" in text or "\t\n" in text else [text]
    encoded = [binascii.b2a_qp(part.encode("utf-8", "replace"), istext=True) for part in parts]
    return b"\n".join(encoded).replace(b"\n", b"\r\n")


def quoted_piece(text: str) -> bytes:
    """Quoted-printable for a place between soft line breaks: adjacent pieces decode independently."""
    if _PLAIN_PIECE.fullmatch(text):
        return text.encode("ascii")
    # Appending a letter leaves a blank at the end unencoded, and room for the break in the last line.
    written = quoted_printable(text + "x")[:-1]
    if written.startswith((b".", b"From ")):
        # Some servers double such a dot or put a ">" before such a word.
        written = b"=%02X=\r\n" % written[0] + written[1:]
    if not is_seven_bit(written):
        raise RoundTripError
    return written


def is_seven_bit(data: bytes) -> bool:
    """True for ASCII without NUL, CR and LF only together (RFC 5321 §2.3.8): every server takes it unchanged."""
    return data.isascii() and b"\0" not in data and data.count(b"\r\n") == data.count(b"\r") == data.count(b"\n")


def _fields_of(head: bytes) -> list[tuple[str, str]]:
    """The fields that the standard library's parser finds, unfolded; plain heads are parsed here, which is faster."""
    if _PLAIN_HEAD.fullmatch(head):
        lines = head.decode("ascii").replace("\r\n ", " ").split("\r\n")[:-1]
        return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    found = BytesHeaderParser(policy=compat32).parsebytes(head + b"\r\n").items()
    return [(name, re.sub(r"\r\n(?=[ \t])", "", str(value))) for name, value in found]


def _matches(found: Sequence[tuple[str, str]], fields: Sequence[Field]) -> bool:
    """True for the same names in the same order, if each value, once decoded, is the intended one."""
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
    # In a plain line, every parser finds this name and this value.
    if len(line) <= _WIDTH and _PLAIN_FIELD.fullmatch(line) and "=?" not in value:
        return line
    if not _NAME.fullmatch(name):
        raise ValueError("A header field's name is letters, digits and hyphens.")
    for meant in (value, FALLBACK_SUBJECT if name == "Subject" else value):
        folded = f"{name}: {_folded(name, meant)}"
        if parses_as(f"{folded}\r\n\r\n".encode("ascii"), [(name, meant)], b""):
            return folded
    raise RoundTripError


def _folded(name: str, value: str) -> str:
    if isinstance(value, Text):
        return _FOLD.join(_encoded_words(value))
    if not _PRINTABLE.fullmatch(value):
        raise ValueError(f"The field {name} must be printable ASCII.")
    return value.replace(" ", _FOLD) if len(name) + len(value) + 2 > _WIDTH else value


def _encoded_words(text: str) -> list[str]:
    """Encoded words (RFC 2047), UTF-8 in base64: no character divided, each word short enough for its own line."""
    raw = text.encode("utf-8", "replace")
    words: list[str] = []
    start = 0
    while start < len(raw) or not words:
        end = start + _WORD_BYTES
        # A byte 10xxxxxx continues a character.
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end -= 1
        words.append(f"=?utf-8?b?{b64encode(raw[start:end]).decode('ascii')}?=")
        start = end
    return words


def _part(subtype: str, content: bytes) -> bytes:
    head = (
        f"--{_BOUNDARY}\r\nContent-Type: text/{subtype}; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
    )
    return head.encode("ascii") + content + b"\r\n"
