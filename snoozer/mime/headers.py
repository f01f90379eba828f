"""Header fields of messages from anywhere: decoded once, and sanitized; and the address that MAIL_FROM names.

Functions for a field accept any input and never raise: they return text on one line, or None.
"""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import getaddresses
from functools import lru_cache
from itertools import zip_longest

from snoozer.mime.charsets import decode_bytes

MAX_TEXT_LENGTH = 200
MAX_HEADER_LENGTH = 8_000
MAX_FROM_LENGTH = 2_000
MAX_ADDRESS_LENGTH = 254
MAX_MESSAGE_ID_LENGTH = 250
MAX_REFERENCES = 10

_ENCODED_WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")
_Q_ESCAPE = re.compile(rb"=([0-9A-Fa-f]{2})")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")

_BLANKS = re.compile("[\\s\x1c-\x1f\x85\u115f\u1160\u2028\u2029\u2800\u3164\uffa0]+")
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0, DEL and C1, except those that separate words
    "\xad\u180e\u200b\u2060-\u2064\ufeff"  # invisible
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # change the direction of what follows
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # not characters
    "\U000e0000-\U000e007f]"  # tags: invisible text
)
# Joiners shape Persian, Indic scripts and emoji families; beside ASCII they are only invisible.
_STRAY_JOINER = re.compile("(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])")
_JOINERS = re.compile("([\u200c\u200d])[\u200c\u200d]+")
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_TOWER = re.compile(f"({_MARK}{{8}}){_MARK}+")

_MAIL_FROM_EXAMPLE = "it looks like Snoozer <snoozer@example.org>"

_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.:]"
_MESSAGE_ID = re.compile(rf"<{_ATEXT}+@(?:{_ATEXT}+|\[[A-Za-z0-9.:]+\])>")
# One special character of a From header, or a run of others.
_PIECE = re.compile(r'[^\\"()<>,@]+|.', re.DOTALL)
_WORD = r"[^\s<>()\[\],;:\\\"@\x00-\x1f\x7f]+"
_ATOM = re.compile(_WORD)
_ADDRESS = re.compile(f"{_WORD}@{_WORD}")
# A mailbox without quotes and comments, as most are: an address, or a name and an address in angle brackets.
_SIMPLE_MAILBOX = re.compile(rf'(?:([^\\"()<>,@]*)<)?({_WORD}@{_WORD})(?(1)>)')


@dataclass(frozen=True)
class Sender:
    """The sender that a message declares, without proof. Either part may be missing."""

    name: str | None
    email: str | None


def raw_text(raw: bytes | str) -> str:
    """A header's raw value as text, encoded words left as they are, at most `MAX_HEADER_LENGTH` characters."""
    if isinstance(raw, str):
        return raw[:MAX_HEADER_LENGTH]
    return decode_bytes(raw[:MAX_HEADER_LENGTH], None)


def decode_words(raw: bytes | str) -> str:
    """Encoded words (RFC 2047) decoded, once: the result is not decoded again."""
    text = raw_text(raw)
    return "".join(_decoded_runs(text)) if "=?" in text else text


def decode_base64(data: bytes) -> bytes:
    """The base64 digits in `data`, decoded; everything else is ignored."""
    digits = _NOT_BASE64.sub(b"", data)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return b64decode(digits + b"=" * (-len(digits) % 4))


def sanitize_line(text: str, *, limit: int = MAX_TEXT_LENGTH) -> str:
    """`text` in NFC on one line of at most `limit` characters, without invisible or direction-changing ones."""
    text = text[: 20 * limit]
    text = " ".join(text.split()) if text.isascii() and text.isprintable() else _sanitize(text)
    text = text.replace("=?", "= ?")
    if len(text) > limit:
        text = text[: limit - 1].rstrip(" \u200c\u200d") + "…"
    return text


def subject(raw: bytes | str | None) -> str | None:
    """The subject as a person reads it; None when nothing readable is there."""
    return None if raw is None else sanitize_line(decode_words(raw)) or None


def sender(raw: bytes | str | None) -> Sender:
    """The first mailbox of a From header. Its structure is parsed before encoded words are decoded, never after."""
    if raw is None:
        return Sender(None, None)
    phrase, angle, comment = _first_mailbox(raw_text(raw))
    if angle is None and '"@' in phrase:
        phrase, angle = "", phrase
    if angle is None:
        found = _ADDRESS.search(phrase)
        angle = found.group() if found else ""
        phrase = phrase.replace(angle, "", 1) if angle else phrase
        if _ADDRESS.search(phrase):
            phrase = ""
    email = address("".join(angle.split()))
    name = sanitize_line(decode_words(phrase)).strip(" ,;:")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1].strip()
    name = name or sanitize_line(decode_words(comment)) or ("" if email else sanitize_line(decode_words(angle)))
    return Sender(None if name in ("", email) else name, email)


def address(raw: str) -> str | None:
    """One bare address, `local@domain` without quotes, routes or comments, at most 254 bytes; else None."""
    text = sanitize_line(raw, limit=MAX_ADDRESS_LENGTH)
    if _ADDRESS.fullmatch(text) is None or len(text.encode("utf-8")) > MAX_ADDRESS_LENGTH:
        return None
    return text


def ascii_address(raw: str) -> str | None:
    """The address with its domain in IDNA; None when it is no address or needs SMTPUTF8."""
    plain = address(raw)
    if plain is None or plain.isascii():
        return plain
    local, _, domain = plain.rpartition("@")
    try:
        written = f"{local}@{domain.encode('idna').decode('ascii')}"
    except UnicodeError:
        return None
    return address(written) if written.isascii() else None


def message_id(raw: bytes | str | None) -> str | None:
    """The first msg-id in `raw` with its angle brackets, of RFC 5322 without quotes and comments; else None."""
    found = _MESSAGE_ID.finditer(raw_text(raw or ""))
    return next((id for id in map(re.Match.group, found) if len(id) <= MAX_MESSAGE_ID_LENGTH), None)


def references(raw: bytes | str | None) -> tuple[str, ...]:
    """Every msg-id in `raw`: the first and the newest nine when there are more than ten."""
    if raw is None:
        return ()
    ids = [found.group() for found in _MESSAGE_ID.finditer(raw_text(raw))]
    distinct = list(dict.fromkeys(text for text in ids if len(text) <= MAX_MESSAGE_ID_LENGTH))
    if len(distinct) > MAX_REFERENCES:
        distinct = [distinct[0], *distinct[1 - MAX_REFERENCES :]]
    return tuple(distinct)


def validate_mail_from(mail_from: str) -> None:
    """Raises ValueError, whose text is one sentence for people, unless it is one address, with or without a name."""
    if not mail_from.strip():
        raise ValueError(f"MAIL_FROM is not set; {_MAIL_FROM_EXAMPLE}")
    if not mail_from.isprintable():
        raise ValueError(f"MAIL_FROM has characters that no address has; {_MAIL_FROM_EXAMPLE}")
    found = [address for _, address in getaddresses([mail_from])]
    if len(found) > 1 and "@" in found[0]:
        raise ValueError(f"MAIL_FROM names more than one address, and a reminder comes from one; {_MAIL_FROM_EXAMPLE}")
    if len(found) > 1:
        raise ValueError('MAIL_FROM is not an address; a name with a comma goes into quotes, as in "Snoozer, Inc." <…>')
    if ascii_address(found[0]) is None:
        raise ValueError(f"MAIL_FROM is not an address; {_MAIL_FROM_EXAMPLE}")


@lru_cache(maxsize=8)
def mail_from_address(mail_from: str) -> str:
    """The bare address for SMTP and header fields, its domain in ASCII; empty when MAIL_FROM names none."""
    return ascii_address(sender(mail_from).email or "") or ""


def mail_from_domain(mail_from: str) -> str:
    """The domain of the sender and of the Message-IDs of reminders; empty when MAIL_FROM names no address."""
    return mail_from_address(mail_from).rpartition("@")[2]


def _sanitize(text: str) -> str:
    """`sanitize_line` for any text. Printable ASCII needs nothing of it except for runs of spaces."""
    text = _HARMFUL.sub("", unicodedata.normalize("NFC", _BLANKS.sub(" ", text)))
    if "\u200c" in text or "\u200d" in text:
        text = _JOINERS.sub(r"\1", _STRAY_JOINER.sub("", text))
    return " ".join(_TOWER.sub(r"\1", unicodedata.normalize("NFC", text)).split())


def _decoded_runs(raw: str) -> Iterator[str]:
    """Plain text and decoded words; adjacent words of one charset are joined as bytes before decoding."""
    charset: str | None = None
    pending = bytearray()
    end = 0
    for word in _ENCODED_WORD.finditer(raw):
        between = raw[end : word.start()]
        named, encoding, payload = word.groups()
        named = named.partition("*")[0].lower()
        touching = charset is not None and not between.strip()
        if not (touching and named == charset):
            yield decode_bytes(bytes(pending), charset) if pending else ""
            pending.clear()
        if not touching:
            yield between
        charset = named
        pending += _decoded_payload(encoding, payload)
        end = word.end()
    yield decode_bytes(bytes(pending), charset) if pending else ""
    yield raw[end:]


def _decoded_payload(encoding: str, payload: str) -> bytes:
    if encoding in "bB":
        return decode_base64(payload.encode("utf-8", "replace"))
    spaced = payload.replace("_", " ").encode("utf-8", "replace")
    return _Q_ESCAPE.sub(lambda escape: bytes.fromhex(escape.group(1).decode()), spaced)


def _first_mailbox(raw: str) -> tuple[str, str | None, str]:
    """The phrase, the text in angle brackets, and the comments of the first mailbox.

    Quotes are left out, except where a local part needs them: without them "a b"@c would be another address, b@c.
    """
    if simple := _SIMPLE_MAILBOX.fullmatch(raw[:MAX_FROM_LENGTH]):
        return (simple[1] or "").strip(), simple[2], ""
    phrase: list[str] = []
    comment: list[str] = []
    angle: list[str] | None = None
    depth, quoted, escaped, inside, named = 0, False, False, False, False
    opened = 0
    pieces = _PIECE.findall(raw[:MAX_FROM_LENGTH])
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        target = comment if depth else angle if inside and angle is not None else phrase
        if escaped:
            target.append(piece)
            escaped = False
        elif piece == "\\" and (quoted or depth):
            escaped = True
        elif piece == '"' and not depth:
            if quoted and following == "@" and not _ATOM.fullmatch("".join(target[opened:])):
                target[opened:] = ['"', *target[opened:], '"']
            quoted, opened = not quoted, len(target)
        elif quoted:
            target.append(piece)
        elif piece == "(":
            depth += 1
        elif piece == ")" and depth:
            depth -= 1
            comment.append(" ")
        elif depth or piece not in "<>,":
            target.append(piece)
            named = named or piece == "@"
        elif piece == "<" and angle is None:
            angle, inside = [], True
        elif piece == ">":
            inside = False
        elif piece == "," and (angle is not None or named):
            break
        else:
            target.append(piece)
    return "".join(phrase).strip(), None if angle is None else "".join(angle).strip(), "".join(comment).strip()
