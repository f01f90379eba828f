"""What a mail server answered, sorted by what it means for the mail, in words that name no address."""

import re
from dataclasses import dataclass

from snoozer.mime import headers
from snoozer.smtp.transport import ServerReply

MAX_REPLY_LENGTH = 500

_ENHANCED = re.compile(r"\s*([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)")
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"]+@[^\s<>()\[\],;:\"]+")
_QUEUE_ID = re.compile(
    r"queued as <?([\w.+/-]{3,64})|queued mail[^\[]*\[?(?:InternalId=)?([\w.-]{3,64})|\bid=([\w-]{3,64})"
    r"|^(?:ok:?\s+)?((?=[\w.+-]*\d)[\w.+-]{6,64})\b",
    re.IGNORECASE,
)


class ServerUnavailable(Exception):
    """The mail server could not be used, and it has not taken the mail: nothing about this mail is known.

    `asks_for_less` when it said why: we ask too much of it.
    """

    def __init__(self, reason: str, *, is_throttling: bool = False) -> None:
        super().__init__(reason)
        self.is_throttling = is_throttling


class Rejected(Exception):
    """The server refused this mail: for good when `permanent` (5xx), else for now (4xx). It has not taken it.

    A 421 says that the server closes, so it speaks of the server and not of this mail.
    """

    def __init__(self, *, phase: str, code: int, enhanced: str | None, text: str) -> None:
        super().__init__(f"{phase}: {code} {enhanced or ''} {text}".replace("  ", " ").strip())
        self.phase = phase
        self.code = code
        self.enhanced = enhanced
        self.text = text
        self.permanent = code >= 500
        self.is_server_wide = code == 421

    @property
    def is_throttling(self) -> bool:
        """Does the server ask for patience with all mails? At RCPT and later it may mean this one (greylisting)."""
        return (self.phase == "mail" or self.is_server_wide) and _is_throttling_reply(self.code, self.enhanced)


class NoReplyAfterData(Exception):
    """The final dot may have left and no clear answer came: the server may have the mail, or not."""


@dataclass(frozen=True)
class Reply:
    """The 250 to the final dot. `text` is cleaned, addresses masked; `queue_id` where the server names one."""

    code: int
    enhanced: str | None
    text: str
    queue_id: str | None


def rejected_by(phase: str, answer: ServerReply) -> Rejected:
    """The 4xx or 5xx that means the server has not taken this mail."""
    enhanced, text = _parse_text(answer)
    return Rejected(phase=phase, code=answer.code, enhanced=enhanced, text=text)


def unavailable_by(did: str, answer: ServerReply, *, at_first: bool = False) -> ServerUnavailable:
    """The answer that means we cannot use the server now; `did` is what it did with these words.

    A 421 without a reason of its own is a plea only `at_first`: on a connection that stands it may be a timeout.
    """
    enhanced, _ = _parse_text(answer)
    plea = _is_throttling_reply(answer.code, enhanced) or (at_first and answer.code == 421 and enhanced is None)
    return ServerUnavailable(f"the mail server {did} {describe(answer)}", is_throttling=plea)


def _is_throttling_reply(code: int, enhanced: str | None) -> bool:
    """Any 4xx with 4.7.x (RFC 3463): too many, too fast."""
    return 400 <= code < 500 and (enhanced or "").startswith("4.7.")


def _parse_text(answer: ServerReply) -> tuple[str | None, str]:
    """The enhanced code and the words: one line, nothing that hides, every address masked."""
    enhanced = _ENHANCED.match(answer.lines[0]) if answer.lines else None
    words = " ".join(_ENHANCED.sub("", line, count=1) for line in answer.lines)
    masked = _ADDRESS.sub("…@…", headers.sanitize_line(words, limit=4 * MAX_REPLY_LENGTH))
    return enhanced.group(1) if enhanced else None, headers.sanitize_line(masked, limit=MAX_REPLY_LENGTH)


def accepted_by(answer: ServerReply) -> Reply:
    """The 250 that means the server has the mail."""
    enhanced, text = _parse_text(answer)
    return Reply(code=answer.code, enhanced=enhanced, text=text, queue_id=_queue_id(text))


def describe(answer: ServerReply) -> str:
    """The code and the words, to stand in a sentence."""
    enhanced, text = _parse_text(answer)
    return " ".join(part for part in (str(answer.code), enhanced, text) if part)


def _queue_id(text: str) -> str | None:
    found = _QUEUE_ID.search(text)
    return next((group for group in found.groups() if group), None) if found else None
