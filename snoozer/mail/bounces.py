"""RULE: what a mail system reports about a mail that it had accepted: it bounced, it is delayed, or its reader reported
it as spam.

Reports have fields (RFC 3464, RFC 5965); qmail, Exim, sendmail, Exchange and Domino also write prose. The recipient is
not read, because the address that a report comes to names the reminder. flufl.bounce knows more shapes, and returns
addresses without codes and reasons.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Literal

from snoozer.mail import automatic, headers
from snoozer.mail.charsets import decode_bytes
from snoozer.mail.html_to_text import html_to_text
from snoozer.mail.smtp.transport import masked
from snoozer.mail.structure import FORWARDED, Part, split_head, walk

Kind = Literal["bounced", "delayed", "complained"]

# Reports come before the mail that they return.
MAX_READ_BYTES = 256 * 1024
_MAX_LINES = 200
_MAX_LINE_LENGTH = 1_000
# A line with a code and fewer words ends the sentence before it.
_MIN_WORDS = 4

# No such mailbox, host or address; it has moved; the host takes no mail; the mailbox is disabled (RFC 3463, RFC 7505).
# Other codes are about a full mailbox, the way, the content or a policy, which say nothing about the next mail.
_DEAD = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"})
# These codes say nothing, so the words decide.
_VAGUE = frozenset({"", "5.0.0", "5.1.0", "5.3.0", "5.5.0"})
_NO_MAILBOX = re.compile(
    r"(?:user|recipient|mailbox|account|address(?:ee)?|alias)\b.{0,40}?"
    r"\b(?:unknown|not (?:found|exist|listed)|unavailable|doesn'?t exist|disabled|inactive)"
    r"|(?:unknown|no such|invalid|unrouteable|no) (?:local |e-?mail )?(?:user|recipient|mailbox|account|address)"
    r"|does(?:n't| not) (?:exist|have an? \S{1,30} account)|unbekannt",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\d.])([245]\.[0-7]\.\d{1,3})(?!\.?\d)")
_REPLY_CODE = re.compile(r"(?:^|[\s:(<])[45]\d\d[ -]")
_COMPLAINTS = frozenset({"abuse", "fraud", "opt-out"})

_DELAYED = re.compile(
    r"(?:will|to) (?:continue|keep) (?:to try|trying)|attempts will continue|(?:still|be) (?:trying|retried)"
    r"|has been delayed|is delayed|not yet been delivered|transient non-fatal|(?:need|have) to (?:resend|do anything)"
    r"|no action is required|delivery status notification \(delay\)|verzögert",
    re.IGNORECASE,
)
_BOUNCED = re.compile(
    r"permanent|undeliver|(?:could|can|did|was)(?:n['’]t| ?not) (?:be |reach |able to )?(?:deliver|reach|some)"
    r"|unable to deliver|deliver\w* (?:to .{0,200})?(?:has |have )?fail|returned mail|failure notice|failure\)"
    r"|address\S{0,3} failed|nicht zugestellt|unzustellbar",
    re.IGNORECASE,
)
_MAIL_SYSTEM = re.compile(
    "mailer-?daemon|postmaster|mail delivery|mail system|microsoftexchange|administrator", re.IGNORECASE
)
# Behind such a line is the mail that is returned.
_COPY = re.compile(
    r"[-_=]{2}[-_= ]*(?:below this line|this is a copy|included is a copy|enclosed|(?:unsent|returned) message"
    r"|(?:the )?(?:header of the )?original message|message (?:header|text|body))",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True)
class Report:
    """`code` is an enhanced status code, or empty; `text` is one line, as `masked`."""

    kind: Kind
    code: str = ""
    text: str = ""

    @property
    def stops_mail(self) -> bool:
        """Whether mail to this address is pointless, or not wanted, also tomorrow."""
        if self.kind != "bounced":
            return self.kind == "complained"
        return self.code in _DEAD or (self.code in _VAGUE and _NO_MAILBOX.search(self.text) is not None)


def read(original: bytes, *, has_null_sender: bool) -> Report | None:
    """The report in this mail; None if it is a person's mail, or an answer by a machine."""
    head, body = split_head(memoryview(original)[:MAX_READ_BYTES])
    if not automatic.is_automatic(head, has_null_sender=has_null_sender):
        return None
    parts = [part for part in walk(head, body) if not any(place.startswith(FORWARDED) for place in part.path)]
    lines = list(_prose(parts))
    for part in parts:
        if part.head.type == "message/feedback-report":
            return _complaint(part)
        if part.head.type in {"message/delivery-status", "message/global-delivery-status"}:
            return _status(part, lines)
    # Vacation programs use the null sender, too, and their words may be anything.
    if not _MAIL_SYSTEM.search(headers.decode_words(head.first("from") or b"")):
        return None
    return _of_prose([headers.subject(head.first("subject")) or "", *lines])


def _status(part: Part, lines: Sequence[str]) -> Report | None:
    """The worst of the reports about each recipient: a reminder has one, who may have several addresses."""
    found = [one for block in _blocks(part) if (one := _of_recipient(block, lines)) is not None]
    return min(found, key=lambda one: one.kind, default=None)


def _of_recipient(block: Message, lines: Sequence[str]) -> Report | None:
    action = _value(block, "Action").partition(" ")[0].lower()
    status, text = _value(block, "Status"), _value(block, "Diagnostic-Code").partition(";")[2]
    codes = [*_CODE.findall(status), *_CODE.findall(text)]
    code = next((code for code in codes if code not in _VAGUE), next(iter(codes), ""))
    implied: Kind = "delayed" if code[:1] == "4" else "bounced"
    kinds: dict[str, Kind] = {"failed": "bounced", "delayed": "delayed", "": implied}
    kind = kinds.get(action)
    if kind is None or not (action or code):
        return None
    return Report(kind=kind, code=code, text=masked(text) or _reason(lines, code))


def _complaint(part: Part) -> Report | None:
    kind = next((_value(block, "Feedback-Type").lower() for block in _blocks(part)), "")
    return Report(kind="complained", text=f"Feedback-Type: {kind}") if kind in _COMPLAINTS else None


def _of_prose(lines: Sequence[str]) -> Report | None:
    text = " ".join(lines)
    is_delayed = _DELAYED.search(text) is not None
    if not (is_delayed or _BOUNCED.search(text)):
        return None
    codes = [code for code in _CODE.findall(text) if code[0] != "2"]
    code = next((code for code in codes if code[0] == ("4" if is_delayed else "5")), next(iter(codes), ""))
    return Report(kind="delayed" if is_delayed else "bounced", code=code, text=_reason(lines, code))


def _reason(lines: Sequence[str], code: str) -> str:
    """The lines with the code, with a reply of SMTP, or below the address; otherwise the sentence that says so."""
    below = (at + (len(line.split()) == 1) for at, line in enumerate(lines) if "@" in line)
    places = [
        *(at for at, line in enumerate(lines) if code and code in line),
        *(at for at, line in enumerate(lines) if _REPLY_CODE.search(line)),
        *below,
        *(at for at, line in enumerate(lines) if _BOUNCED.search(line)),
    ]
    at = next((at for at in places if at < len(lines)), 0)
    is_tail = at > 0 and len(lines[at].split()) < _MIN_WORDS
    return masked(" ".join(lines[at - is_tail : at + 2 - is_tail]))


def _prose(parts: Sequence[Part]) -> Iterator[str]:
    """The lines of the first text, without the mail that is returned."""
    texts = [part for part in parts if part.head.type in {"text/plain", "text/html"}]
    if not texts:
        return
    text = decode_bytes(texts[0].content, texts[0].head.parameter("content-type", "charset"))
    text = html_to_text(text) if texts[0].head.type == "text/html" else text
    for line in text.splitlines()[:_MAX_LINES]:
        shown = line.strip()[:_MAX_LINE_LENGTH]
        if _COPY.match(shown):
            return
        if shown:
            yield shown


def _blocks(part: Part) -> list[Message]:
    pieces = re.split(rb"\r?\n(?:[ \t]*\r?\n)+", part.content.strip())[:20]
    return [BytesHeaderParser().parsebytes(piece) for piece in pieces]


def _value(block: Message, name: str) -> str:
    return _SPACE.sub(" ", str(block.get(name, ""))[: 2 * _MAX_LINE_LENGTH]).strip()
