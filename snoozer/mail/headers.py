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

from snoozer.mail.charsets import decode_bytes

MAX_TEXT_LENGTH = 200
MAX_HEADER_LENGTH = 8_000
MAX_FROM_LENGTH = 2_000
MAX_ADDRESS_LENGTH = 254
MAX_MESSAGE_ID_LENGTH = 250
MAX_REFERENCES = 10
# Ids of messages without a usable one end like this; no other program knows them.
SUBSTITUTE_ENDING = ".snoozer.invalid>"
MAX_IDS_LENGTH = 65_536

# The payload may contain a "?"; the last word may be truncated.
_ENCODED_WORD = re.compile(r"=\?\s?([^?\s]{0,60})\s?\?([bBqQ])\?(?:((?:[^?]|\?(?!=))*)\?=|([^?\s]+)\??\Z)")
_NO_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_SMUGGLED = re.compile("[\udc80-\udcff\x1b]|~\\{")
_Q_ESCAPE = re.compile(rb"=([0-9A-Fa-f]{2})")
_NOT_BASE64 = re.sub(rb"[A-Za-z0-9+/]", b"", bytes(range(256)))

_BLANKS = re.compile("[\\s\x1c-\x1f\x85\u115f\u1160\u2028\u2029\u2800\u3164\uffa0]+")
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0, DEL and C1, except characters that separate words
    "\xad\u180e\u200b\u2060-\u2064\ufeff"  # invisible
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # change the direction of the text after them
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # not characters
    "\U000e0000-\U000e007f]"  # tags: invisible text
)
# Joiners shape Persian, Indic scripts and emoji families; next to ASCII they are only invisible.
_STRAY_JOINER = re.compile("(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])")
_JOINERS = re.compile("([\u200c\u200d])[\u200c\u200d]+")
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_TOWER = re.compile(f"({_MARK}{{8}}){_MARK}+")

_MAIL_FROM_EXAMPLE = "it looks like Snoozer <snoozer@example.org>"

_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.:]"
_MESSAGE_ID = re.compile(rf"<{_ATEXT}+@(?:{_ATEXT}+|\[[A-Za-z0-9.:]+\])>")
# The characters that a backslash escapes. Before a letter it is literal: "DOMAIN\\ann".
_ESCAPABLE = frozenset('\\"()')
# Ids in the form that mail programs compare, even if RFC 5322 does not allow it.
_ANY_ID = re.compile(r"<([^<>]{1,998})>?")
_SHOWN_ID = re.compile(rf"[!-;=?-~]{{1,{MAX_MESSAGE_ID_LENGTH - 2}}}")
# An encoded word, which may have any characters, one special character of a From header, or a run of others.
_PIECE = re.compile(r'=\?[^?\s]{1,60}\?[bBqQ]\?[^?\s]*\?=|(?:(?!=\?)[^\\"()<>,;@])+|.', re.DOTALL)
_WORD_CHARACTER = r"[^\s<>()\[\],;:\\\"@\x00-\x1f\x7f]"
_WORD = f"{_WORD_CHARACTER}+"
_ATOM = re.compile(_WORD)
# Tried only where a word begins, else a long word takes quadratic time.
_ADDRESS = re.compile(f"(?<!{_WORD_CHARACTER}){_WORD}(?:@{_WORD})+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_ONE_ADDRESS = re.compile(f"{_WORD}@{_WORD}")
_SHOWN_ADDRESS = re.compile(rf"{_WORD}(?:@{_WORD})+|{_WORD}@\[[A-Za-z0-9.:]+\]")
# `@relay.example,@other.example:` in front of an address (RFC 5322 §4.4), or the prefix that a web page adds.
_ROUTE = re.compile(r"\A(?:@[^:]*:|mailto:)", re.IGNORECASE)
# Used if brackets or quotes before it are not in pairs.
_LAST_ANGLE = re.compile(rf"<\s*({_WORD}@{_WORD})[\s,;]*>+[\s\"']*\Z")
_IN_APOSTROPHES = re.compile(r"\A'(.+)'\Z")
_ATTACHED = re.compile(r"\bmailto:", re.IGNORECASE)
_AROUND_AT = re.compile(r"(?<=[^\s<>,;\"])[ \t]+@[ \t]*(?=[^\s<>,;\"])|(?<=[^\s<>,;\"])@[ \t]+(?=[^\s<>,;\"])")
# The members of `Friends: ann@a.example, bob@b.example;`
_GROUP = re.compile(r"\A[^\"<>@,;:]*:([^;]*@[^;]*);.*\Z", re.DOTALL)
# A mailbox without quotes and comments, as most are: an address, or a name and an address in angle brackets.
_SIMPLE_MAILBOX = re.compile(rf'(?:([^\\"()<>,@]*)<)?({_WORD}@{_WORD})(?(1)>)')


@dataclass(frozen=True)
class Sender:
    """The sender that a message declares, without proof. Either part may be missing."""

    name: str | None
    email: str | None


def is_at_start(content: bytes) -> bool:
    """Whether the content starts with a header field (RFC 5322), possibly after mbox "From " lines."""
    for line in content[:65_536].lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 50)[:50]:
        name, colon = line.rstrip(b"\r").partition(b":")[:2]
        if colon and name and all(33 <= byte <= 126 for byte in name.rstrip(b" ")):
            return True
        if not line.startswith((b"From ", b">From ")):
            return False
    return False


def raw_text(raw: bytes | str) -> str:
    """A header's raw value, encoded words left as they are, at most `MAX_HEADER_LENGTH` characters.

    Bytes that are not UTF-8 are lone surrogates (PEP 383): `decode_words` reads them once the field's structure is
    known.
    """
    if isinstance(raw, str):
        return _NO_BYTES.sub("", raw[:MAX_HEADER_LENGTH])
    return raw[:MAX_HEADER_LENGTH].decode("utf-8", "surrogateescape")


def decode_words(raw: bytes | str, *, fallback: str | None = None) -> str:
    """Decode encoded words (RFC 2047) once: the result is not decoded again. `fallback` is the charset of undeclared
    bytes."""
    text = raw_text(raw)
    runs = _decoded_runs(text, fallback) if "=?" in text else iter([decode_plain(text, fallback)])
    return "".join(runs)


def decode_plain(text: str, fallback: str | None) -> str:
    """Text outside of encoded words, which may be in any charset."""
    if not _SMUGGLED.search(text):
        return text
    return decode_bytes(text.encode("utf-8", "surrogateescape"), None, fallback=fallback)


def decode_base64(data: bytes) -> bytes:
    """The base64 digits in `data`, decoded; everything else is ignored."""
    digits = data.translate(None, _NOT_BASE64)
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


def subject(raw: bytes | str | None, *, fallback: str | None = None) -> str | None:
    """The subject as a person reads it; None if no readable character remains."""
    return None if raw is None else sanitize_line(decode_words(raw, fallback=fallback)) or None


def sender(raw: bytes | str | None, *, fallback: str | None = None) -> Sender:
    """The first mailbox of a From header. Its structure is parsed before encoded words are decoded, never after; only
    if there is no address outside of them, because a program encoded the whole field, are they searched."""
    if raw is None:
        return Sender(None, None)
    # Bytes of other charsets may look like brackets and quotes.
    found = _sender(decode_plain(raw_text(raw), fallback), fallback)
    if found.email is None and found.name and "=?" in raw_text(raw):
        inside = _sender(decode_words(raw, fallback=fallback).replace("=?", "= ?"), None)
        return inside if inside.email else found
    return found


def _sender(raw: str, fallback: str | None) -> Sender:
    text = _GROUP.sub(r"\1", raw)
    text = text if "<" in text or "(" in text else _AROUND_AT.sub("@", text)
    phrase, angle, comment = _first_mailbox(text)
    if (angle is None or "@" not in angle or "<" in angle or "," in angle) and (last := _LAST_ANGLE.search(text)):
        phrase, angle, comment = text[: last.start()].strip(' "<'), last.group(1), ""
    if angle is None and '"@' in phrase:
        phrase, angle = "", phrase
    if angle is None or ("@" not in angle and _ADDRESS.search(phrase)):
        found = _ADDRESS.search(_ATTACHED.sub("", phrase))
        angle = found.group() if found else angle or ""
        phrase = _ATTACHED.sub("", phrase).replace(angle, "", 1) if angle else phrase
        if _ADDRESS.search(phrase):
            phrase = ""
    declared = _ROUTE.sub("", "".join(angle.split()))
    declared = _IN_APOSTROPHES.sub(r"\1", declared)
    email = declared_address(declared)
    name = sanitize_line(decode_words(phrase.replace("[]", ""), fallback=fallback)).strip(" ,;:")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1].strip()
    beside = sanitize_line(decode_words(comment, fallback=fallback))
    if name and beside and not email:
        # In "ann (Ann Else)" the word in front is an address without its domain.
        name = beside if _ATOM.fullmatch(name) else f"{name} ({beside})"
    name = name or beside
    name = name or ("" if email else sanitize_line(decode_words(angle, fallback=fallback)))
    return Sender(None if name in ("", email) else name, email)


def declared_address(raw: str) -> str | None:
    """The text that a sender wrote as an address, for display: also with two @ or an address literal. No mail is sent
    to it."""
    text = sanitize_line(raw, limit=MAX_ADDRESS_LENGTH)
    return text if _SHOWN_ADDRESS.fullmatch(text) and len(text.encode("utf-8")) <= MAX_ADDRESS_LENGTH else None


def address(raw: str) -> str | None:
    """One bare address, `local@domain` without quotes, routes or comments, at most 254 bytes; else None."""
    text = sanitize_line(raw, limit=MAX_ADDRESS_LENGTH)
    if _ONE_ADDRESS.fullmatch(text) is None or len(text.encode("utf-8")) > MAX_ADDRESS_LENGTH:
        return None
    return text


def ascii_address(raw: str) -> str | None:
    """The address with its domain in IDNA; None if it is not an address or needs SMTPUTF8."""
    written = _with_ascii_domain(address(raw) or "")
    return address(written) if written and written.isascii() else None


def account_address(raw: str) -> str | None:
    """The address in the spelling that accounts use: in lower case and NFC, its domain in IDNA. None if it is no
    address; its local part has signs of ASCII, and letters and digits of any script."""
    folded = unicodedata.normalize("NFC", raw.strip().lower())
    written = _with_ascii_domain(folded) if address(folded) == folded else None
    if written is None or address(written) != written:
        return None
    local, _, host = written.rpartition("@")
    is_plain = all(char.isascii() or unicodedata.category(char)[0] in "LMN" for char in local)
    return written if is_plain and _HOST.fullmatch(host) else None


def _with_ascii_domain(plain: str) -> str | None:
    local, _, domain = plain.rpartition("@")
    try:
        return plain if domain.isascii() else f"{local}@{domain.encode('idna').decode('ascii')}"
    except UnicodeError:
        return None


def message_id(raw: bytes | str | None) -> str | None:
    """The first msg-id in `raw` with its angle brackets, of RFC 5322 without quotes and comments; else None."""
    found = _MESSAGE_ID.finditer(raw_text(raw or ""))
    return next((id for id in map(re.Match.group, found) if len(id) <= MAX_MESSAGE_ID_LENGTH), None)


def references(raw: bytes | str | None) -> tuple[str, ...]:
    """Every msg-id in `raw`: the first and the newest nine if there are more than ten."""
    if raw is None:
        return ()
    ids = [found.group() for found in _MESSAGE_ID.finditer(raw_text(raw))]
    distinct = list(dict.fromkeys(text for text in ids if len(text) <= MAX_MESSAGE_ID_LENGTH))
    if len(distinct) > MAX_REFERENCES:
        distinct = [distinct[0], *distinct[1 - MAX_REFERENCES :]]
    return tuple(distinct)


def thread_ids(*fields: bytes | str | None) -> tuple[str, ...]:
    """Every id in these fields of a message, oldest first: for In-Reply-To and References of its reply.

    Ids are parsed as in `every_id`; the first and the newest nine if there are more than ten.
    """
    ids = every_id(*fields)
    return ids if len(ids) <= MAX_REFERENCES else (ids[0], *ids[1 - MAX_REFERENCES :])


def every_id(*fields: bytes | str | None) -> tuple[str, ...]:
    """Every id in these fields of a message, each at its last place.

    Ids as strangers write them, which mail programs compare letter by letter: any printable ASCII, even without an @ or
    without angle brackets. Of a longer field than `MAX_IDS_LENGTH` the end is read, where the newest ids are.
    """
    found: dict[str, None] = {}
    for raw in fields:
        text = _end_of(raw or b"")
        ids = _ANY_ID.findall(text) if "<" in text else text.split()[:1]
        for id in ("".join(id.split()) for id in ids):
            if _SHOWN_ID.fullmatch(id) and "=?" not in id:
                found.pop(f"<{id}>", None)
                found[f"<{id}>"] = None
    return tuple(found)


def _end_of(raw: bytes | str) -> str:
    """The raw value without the beginning of what is too long, from a whole id on."""
    text = raw if isinstance(raw, str) else raw[-MAX_IDS_LENGTH:].decode("utf-8", "surrogateescape")
    if len(raw) <= MAX_IDS_LENGTH:
        return _NO_BYTES.sub("", text)
    text = text[-MAX_IDS_LENGTH:]
    return _NO_BYTES.sub("", text[max(0, text.find("<")) :])


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
    """`sanitize_line` for any text, with a shortcut: printable ASCII only needs its runs of spaces joined."""
    text = _HARMFUL.sub("", unicodedata.normalize("NFC", _BLANKS.sub(" ", text)))
    if "\u200c" in text or "\u200d" in text:
        text = _JOINERS.sub(r"\1", _STRAY_JOINER.sub("", text))
    return " ".join(_TOWER.sub(r"\1", unicodedata.normalize("NFC", text)).split())


def _decoded_runs(raw: str, fallback: str | None) -> Iterator[str]:
    """Plain text and decoded words; adjacent words of one charset are joined as bytes before decoding."""
    charset: str | None = None
    pending = bytearray()
    end = 0
    for word in _ENCODED_WORD.finditer(raw):
        between = raw[end : word.start()]
        named, encoding, payload, cut = word.groups()
        named = named.partition("*")[0].lower()
        touching = charset is not None and not between.strip()
        if not (touching and named == charset):
            yield _decoded_word(bytes(pending), charset, fallback)
            pending.clear()
        if not touching:
            yield decode_plain(between, fallback)
        charset = named
        pending += _decoded_payload(encoding, payload if cut is None else cut)
        end = word.end()
    yield _decoded_word(bytes(pending), charset, fallback)
    yield decode_plain(raw[end:], fallback)


def _decoded_word(data: bytes, charset: str | None, fallback: str | None) -> str:
    return decode_bytes(data, charset, fallback=fallback) if data else ""


def _decoded_payload(encoding: str, payload: str) -> bytes:
    data = payload.encode("utf-8", "surrogateescape")
    if encoding in "bB":
        return decode_base64(data)
    return _Q_ESCAPE.sub(lambda escape: bytes.fromhex(escape.group(1).decode()), data.replace(b"_", b" "))


def _first_mailbox(raw: str) -> tuple[str, str | None, str]:
    """The phrase, the text in angle brackets, and the comments of the first mailbox.

    Quotes are removed, except if a local part needs them: without them "a b"@c would be another address, b@c.
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
        elif piece == "\\" and (quoted or depth) and following[:1] in _ESCAPABLE:
            escaped = True
        elif piece == '"' and not depth:
            if quoted and following == "@" and not _ATOM.fullmatch("".join(target[opened:])):
                target[opened:] = ['"', *target[opened:], '"']
            quoted, opened = not quoted, len(target)
        elif quoted:
            target.append(piece)
        elif piece == "(":
            comment.append(piece if depth else "")
            depth += 1
        elif piece == ")" and depth:
            depth -= 1
            comment.append(piece if depth else " ")
        elif depth or piece not in "<>,;":
            target.append(piece)
            named = named or piece == "@"
        elif piece == "<" and angle is None:
            angle, inside = [], True
        elif piece == "<" and not inside:
            break
        elif piece == ">":
            inside = False
        elif piece in ",;" and not inside and (angle is not None or named):
            break
        else:
            target.append(piece)
    remark = "".join(comment).strip()
    return (
        "".join(phrase).strip(),
        None if angle is None else "".join(angle).strip(),
        remark.replace("(", "") if depth else remark,
    )
