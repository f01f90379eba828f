"""Header fields and two bodies to the bytes of a mail: 7 bit, CRLF, the same in every process and every Python.

The standard library's generator is not used: it folds differently from release to release, and before CVE-2024-6923 was
fixed it let a hostile subject end the header. If a field is not a plain line, it is read back, by the library's parser
if two readers could differ. Fields and pieces of bodies are checked one by one, and stay correct in any combination: a
field begins with its name and ends with its line, and a piece stands between soft line breaks.

The constant parts of bodies are rendered, encoded and checked once. A template only prints words and tests whether they
are empty, so only the words of a mail are encoded for it, each between soft line breaks. No word of a person is cached.
"""

import binascii
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from email.parser import BytesHeaderParser
from email.policy import compat32

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from snoozer import translations
from snoozer.mail import headers
from snoozer.resources import resource_folder
from snoozer.translations import speaking

TEMPLATES = Environment(
    loader=FileSystemLoader(resource_folder("templates") / "emails"),
    autoescape=select_autoescape(disabled_extensions=("txt",), default=True, default_for_string=True),
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)
translations.use_in_templates(TEMPLATES)
TEMPLATES.globals["language"] = translations.current_language

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
_PLACE = re.compile("\0([a-z_]+)\0")
_MARKUP = re.compile("[&<>'\"\n]")
_escape = TEMPLATES.filters["escape"]
NO_WORDS: Mapping[str, bytes] = {}


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


def place(word: str) -> str:
    """The placeholder at which `BodyTemplate.fill` writes the word with that name."""
    return f"\0{word}\0"


class BodyTemplate:
    """Both bodies of a mail. All except the words is rendered, encoded and checked once."""

    def __init__(
        self, template: str, *, words: Sequence[str], texts: Mapping[str, object], language: str = "en"
    ) -> None:
        """`words` are the names of the arguments of `fill`. `texts` are the template's other variables: constant in
        each mail, except that they may contain the `place` of a word; "" means absent."""
        values = {**texts, **{word: place(word) for word in words}}
        with speaking(language):
            text, html = self._encode(f"{template}/body.txt", values), self._encode(f"{template}/body.html", values)
        pieces = multipart(text=text, html=html).split(b"\0")
        places, count = [word.decode("ascii") for word in pieces[1::2]], text.count(b"\0") // 2
        self._in_text, self._in_html = places[:count], places[count:]
        self._format = b"%b".join([fixed.replace(b"%", b"%%") for fixed in pieces[::2]])

    @staticmethod
    def _encode(template: str, values: Mapping[str, object]) -> bytes:
        """The rendered template in quoted-printable, except for places."""
        pieces = _PLACE.split(TEMPLATES.get_template(template).render(values).rstrip("\n"))
        encoded = [quoted_piece(piece) for piece in pieces]
        encoded[1::2] = [place(word).encode("ascii") for word in pieces[1::2]]
        return SOFT_BREAK.join(encoded)

    def fill(self, words: Mapping[str, str], encoded: Mapping[str, bytes] = NO_WORDS) -> bytes:
        """The multipart body with these words, escaped in HTML, and words of ours that are encoded and need no escape.

        Line breaks in a word are kept: `<br>` in HTML, two spaces before each line in text.
        """
        text = {name: quoted_piece(word.replace("\n", "\n  ")) for name, word in words.items()}
        html = {
            name: quoted_piece(str(_escape(word)).replace("\n", "<br>")) if _MARKUP.search(word) else text[name]
            for name, word in words.items()
        }
        text |= encoded
        html |= encoded
        return self._format % tuple([text[name] for name in self._in_text] + [html[name] for name in self._in_html])


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
