"""The beginning of a message's text, in one line for a list: a stranger's text, and only text."""

import re
from collections.abc import Iterable

from snoozer.mail import message_parser
from snoozer.mail.charsets import decode_bytes
from snoozer.mail.headers import sanitize_line
from snoozer.mail.html_to_text import html_to_text
from snoozer.mail.transfer_encodings import decode_body

MAX_LENGTH = 140
# How far to search a text for the sender's own words.
_WITHIN = 20_000
_MAX_LINE = 600

# A line of decoration: ---, ====, ***.
_RULE = re.compile(r"[\W_]+")
_ADDRESS = re.compile(r"\(?<?(?:https?://|mailto:)[^\s<>]+>?\)?", re.IGNORECASE)
_QUOTED = re.compile(r"\s*[>|]")
# The line above a quote: "On Monday, Bob wrote:".
_INTRODUCTION = re.compile(
    r"(?:on|am|le|el|il|em|op)\b.{3,300}\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef)\b.{0,120}:"
    r"|.{2,200}\b(?:wrote (?:on|at)|schrieb am)\b.{3,100}:",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"[-_*> ]*(?:begin forwarded message|forwarded message|original message|weitergeleitete nachricht"
    r"|ursprüngliche nachricht|message transféré|mensaje reenviado)[-_*: ]*",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"[*> ]*(?:from|to|cc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|kopie|de|à|objet|envoyé)\s?:\*?\s.*",
    re.IGNORECASE,
)
# Characters without a visible sign, with which senders keep lists from showing the text after them.
_FILLER = re.compile("[\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0]+")


def snippet(text: str) -> str:
    """The first words of a text, at most MAX_LENGTH characters; empty if it has none. Quotes, and the heads of
    forwarded messages, are left out, unless there is no other text."""
    lines = [line[:_MAX_LINE] for line in text[:_WITHIN].splitlines()]
    own = _joined(line for line in lines if not (_QUOTED.match(line) or is_head(line.strip())))
    return own or _joined(line.lstrip("> |") for line in lines)


def snippet_of(original: bytes) -> str:
    """The snippet of a message, which may be truncated."""
    return snippet(message_parser.parse(original).text)


def snippet_of_part(content: bytes, *, type: str, encoding: str, charset: str | None) -> str:
    """The snippet of a message whose first text begins with these bytes, as they are transferred."""
    text = decode_bytes(decode_body(content, encoding), charset)
    return snippet(html_to_text(text) if type == "text/html" else text)


def _joined(lines: Iterable[str]) -> str:
    words: list[str] = []
    length = 0
    for line in lines:
        shown = _FILLER.sub("", _ADDRESS.sub(" ", line)).strip()
        if shown and not _RULE.fullmatch(shown):
            words.append(shown)
            length += len(shown)
        if length > 2 * MAX_LENGTH:
            break
    return sanitize_line(" ".join(words), limit=MAX_LENGTH)


def is_introduction(line: str) -> bool:
    """Whether the line introduces a quote."""
    return bool(_INTRODUCTION.fullmatch(line))


def is_head(line: str) -> bool:
    """Whether the line introduces a quote or a forwarded message, or is a header field of one."""
    return bool(is_introduction(line) or _FORWARDED.fullmatch(line) or _FIELD.fullmatch(line))
