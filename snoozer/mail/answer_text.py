"""The one line that a person writes above a quoted mail. Other text of theirs is not read.

Doubt means that nothing is understood. It has the signs of quotes of `snippet`. (docs/decisions/0046)
"""

import re

from snoozer.mail import message_parser
from snoozer.mail.html_to_text import html_to_text
from snoozer.mail.snippet import is_head, is_introduction

MAX_COMMAND_LENGTH = 100
# How far to search for it, in lines.
_WITHIN = 400
_WRAPPED = 3
_MIN_WRAPPED = 40

_QUOTED = re.compile(r"\s*[>|]")
_SIGNATURE = re.compile(r"\s*(?:--|__|[-_–—*]{5,})\s*")
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|hallo|moin|servus|liebes?r?|guten (?:tag|morgen|abend)|good (?:morning|evening))"
    r"(?:\s[\w.-]{1,30}){0,2}\s?[,!.]?|snoozer[,:!]",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:many |kind |best |warm )?(?:thanks|thank you|thx|cheers|regards|wishes|best)"
    r"|(?:vielen )?danke?|lg|vg|mfg"
    r"|(?:viele|liebe|beste|schöne|herzliche)n? grüße|(?:mit )?freundlichen grüßen|gruß)\b.{0,40}"
    r"|(?:sent|get|gesendet|von meinem|diese nachricht wurde|yahoo mail|holen sie sich)\b.{0,120}",
    re.IGNORECASE,
)
_BLOCKQUOTE = re.compile(r"<(/?)blockquote\b[^<>]*>", re.IGNORECASE)


def command(original: bytes) -> str | None:
    """The first paragraph of what the person wrote, without a greeting, if it is one line; None otherwise, and if all
    of the text is quoted."""
    html = message_parser.parse_html(original)
    text = message_parser.parse(original).text if html is None else html_to_text(_without_quotes(html))
    paragraph: list[str] = []
    for line in (line.strip("\ufeff\u200b\xa0 \t*") for line in own_lines(text)):
        if paragraph and (not line or _CLOSING.fullmatch(line)):
            break
        if line and (paragraph or not _GREETING.fullmatch(line)):
            paragraph.append(line)
    if len(paragraph) != 1 or len(paragraph[0]) > MAX_COMMAND_LENGTH:
        return None
    return paragraph[0].strip("\"'“”„`").rstrip(" .!,;")


def own_lines(text: str) -> list[str]:
    """The lines that are neither quoted nor a signature. Behind an introduction without marked lines, all is quoted."""
    lines, own, at = text.splitlines()[:_WITHIN], [], 0
    while at < len(lines):
        line = lines[at]
        if introduced := _introduction(lines, at):
            at = _next(lines, at + introduced)
            if at < len(lines) and not _QUOTED.match(lines[at]):
                break
        elif _QUOTED.match(line):
            at += 1
        elif _SIGNATURE.fullmatch(line) or is_head(line.strip()):
            break
        else:
            own.append(line)
            at += 1
    return own


def _introduction(lines: list[str], at: int) -> int:
    """How many lines from here on introduce a quote: programs wrap a long one."""
    for count in range(1, _WRAPPED + 1):
        piece = [line.strip() for line in lines[at : at + count]]
        is_wrapped = count == 1 or (len(piece) == count and all(piece) and len(piece[0]) >= _MIN_WRAPPED)
        if is_wrapped and is_introduction(" ".join(piece)):
            return count
    return 0


def _next(lines: list[str], at: int) -> int:
    """The next line with text."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _without_quotes(html: str) -> str:
    """The page without what is marked as quoted, up to its end if a mark does not end."""
    kept, depth, start = [], 0, 0
    for tag in _BLOCKQUOTE.finditer(html):
        if not tag.group(1):
            if not depth:
                kept.append(html[start : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    return "\n".join([*kept, "" if depth else html[start:]])
