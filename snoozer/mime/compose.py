"""The mails that Snoozer sends, as bytes. Everything comes from the arguments: the same row gives the same bytes.

What is the same in every mail is rendered and encoded once. A template only prints words and tests whether they are
empty. So all mails with the same words have the same lines, and only lines around a word are encoded anew; no word is
ever cached.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import format_datetime
from functools import lru_cache
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from snoozer.domain import links
from snoozer.domain.reminder import MAX_NOTE_LENGTH, Send
from snoozer.mime import headers
from snoozer.mime.html_to_text import clean_text
from snoozer.mime.mime_writer import Field, Text, build_message, format_mailbox, quoted_printable
from snoozer.resources import resource_folder
from snoozer.timephrase.describe import EXACT, MONTH_NAMES, WEEKDAY_NAMES, span_in_words
from snoozer.timephrase.zones import zone_or_utc

NO_SUBJECT = "(no subject)"
LATE_AFTER = timedelta(seconds=60)

TEMPLATES = Environment(
    loader=FileSystemLoader(resource_folder("templates") / "emails"),
    autoescape=select_autoescape(disabled_extensions=("txt",), default=True, default_for_string=True),
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)

# The link of each button: its action and phrase.
BUTTONS: dict[str, tuple[links.Action, str | None]] = {
    "done": ("done", None),
    "tomorrow": ("again", "tomorrow"),
    "next_week": ("again", "next week"),
    "another_time": ("again", None),
}

_MAY_BECOME_A_LINK = re.compile("[.:@\u3002\uff0e\uff61]")
_BREAKS = re.compile(r"(?<=\w)[.\u3002\uff0e\uff61](?=[^\W\d_])|@(?=\w)|:(?=//)|(?i:\b(?:mailto|tel|sms|data):)(?=\S)")
_UNLINK = "\u200c"
# No script before Hebrew is written from right to left.
_FROM_HEBREW_ON = re.compile("[\u0590-\U0010ffff]")

_PLACEHOLDER = re.compile("\0([a-z_]+)\0")
_MARKUP = re.compile("[&<>'\"]")
_escape = TEMPLATES.filters["escape"]
# Encoding fewer characters together with their neighbours costs less than encoding them apart.
_MIN_ENCODED_LENGTH = 100


def compose_reminder(send: Send, *, mail_from: str, base_url: str, keys: Sequence[str], instance: str) -> bytes:
    """The reminder for one row of the ledger: the same bytes in every process that has the same templates.

    Links are signed with the first, newest key; a row whose bytes were fixed under an older one (`bytes_sha256`) with
    that one again. Raises ValueError when an address or id cannot be part of a header.
    """
    newest = b""
    for index in range(len(keys)):
        written = _reminder(send, mail_from=mail_from, base_url=base_url, keys=keys[index:], instance=instance)
        newest = newest or written
        if send.bytes_sha256 is None or send.bytes_sha256 == hashlib.sha256(written).hexdigest():
            return written
    if not newest:
        raise ValueError("A reminder cannot be signed without a key.")
    return newest


def compose_sign_in(
    *, to: str, link: str, code: str, minutes: int, mail_from: str, instance: str, now: datetime, message_id: str
) -> bytes:
    """The sign-in mail: a link for this browser, a code for another one. The subject contains no secret."""
    subject = TEMPLATES.get_template("sign_in/subject.txt").render().strip()
    fields = _fields(mail_from, to, subject, at=now, message_id=message_id, instance=instance)
    words = {"link": link, "code": code, "minutes": str(minutes)}
    text, html = render_qp("sign_in/body.txt", words), render_qp("sign_in/body.html", words)
    return build_message(fields, text=text, html=html, seed=message_id)


def _reminder(send: Send, *, mail_from: str, base_url: str, keys: Sequence[str], instance: str) -> bytes:
    subject = headers.sanitize_line(send.subject or "") or NO_SUBJECT
    original = headers.message_id(send.message_id)
    occurrence = links.Link(snooze_id=send.snooze_id, scheduled_for=send.scheduled_for, action="see")
    message_id = send.reminder_message_id
    fields = _fields(mail_from, send.user_email, subject, at=send.reserved_at, message_id=message_id, instance=instance)
    if original:
        fields += [("In-Reply-To", original), ("References", original)]
    fields.append(("X-Snoozer-Occurrence", links.occurrence_id(occurrence, keys=keys)))
    words = _reminder_words(send, subject=subject) | _reminder_links(send, base_url=base_url, keys=keys)
    text, html = render_qp("reminder/body.txt", words), render_qp("reminder/body.html", words)
    return build_message(fields, text=text, html=html, seed=message_id)


def _reminder_words(send: Send, *, subject: str) -> dict[str, str]:
    # sanitize_line also breaks encoded words: the row holds decoded text, which must not be decoded twice.
    sender = headers.sender(headers.sanitize_line(send.sender_email or "", limit=400))
    shown = [sender.name, sender.email] if sender.email else [headers.sanitize_line(send.sender_email or "")]
    note = clean_text(send.note).strip() if send.note else ""
    if len(note) > MAX_NOTE_LENGTH:
        note = note[: MAX_NOTE_LENGTH - 1].rstrip() + "…"
    return {
        "subject": _quoted(subject),
        "sender": _quoted(" · ".join(part for part in shown if part)),
        "note": "\n".join([_quoted(line) for line in note.split("\n")]) if note else "",
        **_time_words(send.scheduled_for, send.reserved_at, send.zone),
    }


# A batch is reserved at one time, and many of its rows were promised for the same one.
@lru_cache(maxsize=128)
def _time_words(promised: datetime, reserved: datetime, zone_name: str) -> Mapping[str, str]:
    zone, late = zone_or_utc(zone_name), format_lateness(promised, reserved)
    return {
        "promised": format_instant(promised, zone, seen_from=reserved),
        "zone": zone_label(promised, zone),
        "late": late or "",
        "ready": format_instant(reserved, zone, seen_from=promised, near=True) if late else "",
    }


def _reminder_links(send: Send, *, base_url: str, keys: Sequence[str]) -> dict[str, str]:
    page = f"{base_url.rstrip('/')}/r/"
    tokens = links.sign_all(
        list(BUTTONS.values()), snooze_id=send.snooze_id, scheduled_for=send.scheduled_for, keys=keys
    )
    return {button: page + token for button, token in zip(BUTTONS, tokens, strict=True)}


def _fields(mail_from: str, to: str, subject: str, *, at: datetime, message_id: str, instance: str) -> list[Field]:
    """The fields of every mail; some keep automatic responders silent (RFC 3834).

    A recipient that needs SMTPUTF8 is named in the envelope only.
    """
    recipient = headers.ascii_address(to)
    if recipient is None and headers.address(to) is None:
        raise ValueError("The recipient is not an address.")
    if headers.message_id(message_id) != message_id:
        raise ValueError("A mail needs a Message-ID of the form <left@right>.")
    return [
        ("From", _from_field(mail_from)),
        ("To", format_mailbox(None, recipient) if recipient else "undisclosed-recipients:;"),
        ("Subject", Text(subject)),
        ("Date", _date(at.astimezone(UTC).replace(microsecond=0))),
        ("Message-ID", message_id),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
        ("X-Snoozer-Instance", instance),
    ]


@lru_cache(maxsize=8)
def _from_field(mail_from: str) -> str:
    address = headers.mail_from_address(mail_from)
    if not address:
        raise ValueError("MAIL_FROM must be an address such as Snoozer <snoozer@example.org>.")
    return format_mailbox(headers.sender(mail_from).name or "Snoozer", address)


# A worker writes hundreds of mails in a second.
@lru_cache(maxsize=8)
def _date(second: datetime) -> str:
    return format_datetime(second)


def _quoted(text: str) -> str:
    """Text from outside in our mail: no mail program turns it into a link, and its direction ends with it."""
    turns = _FROM_HEBREW_ON.search(text) and any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    if _MAY_BECOME_A_LINK.search(text):
        text = _BREAKS.sub(lambda found: found.group() + _UNLINK, text)
    return f"\u2068{text}\u2069" if turns else text


def render_qp(template: str, words: Mapping[str, str]) -> bytes:
    """The template with its words, in quoted-printable. "" is a word that is not there.

    Words are escaped in HTML. Line breaks in a word are kept: `<br>` in HTML, two spaces before each line in text.
    """
    if template.endswith(".html"):
        shown = {name: _in_html(word) for name, word in words.items()}
    else:
        shown = {name: word.replace("\n", "\n  ") for name, word in words.items()}
    missing = tuple([name for name, word in words.items() if not word])
    return b"\r\n".join(
        [
            piece if isinstance(piece, bytes) else quoted_printable(piece.format_map(shown))
            for piece in _pieces(template, tuple(words), missing)
        ]
    )


def _in_html(word: str) -> str:
    # Most words have nothing to escape, and escaping makes a Markup object of each.
    escaped = str(_escape(word)) if _MARKUP.search(word) else word
    return escaped.replace("\n", "<br>")


@lru_cache(maxsize=32)
def _pieces(template: str, names: tuple[str, ...], missing: tuple[str, ...]) -> tuple[bytes | str, ...]:
    """The template in pieces: long stretches without a word, already encoded, and format strings for the rest."""
    placeholders = {name: "" if name in missing else f"\0{name}\0" for name in names}
    lines = TEMPLATES.get_template(template).render(placeholders).rstrip("\n").split("\n")
    stretches = [(changes, "\n".join(stretch)) for changes, stretch in groupby(lines, key=lambda line: "\0" in line)]
    pieces: list[bytes | str] = []
    for fixed, group in groupby(stretches, key=lambda one: not one[0] and len(one[1]) > _MIN_ENCODED_LENGTH):
        text = "\n".join(stretch for _, stretch in group)
        pieces.append(quoted_printable(text) if fixed else _format_string(text))
    return tuple(pieces)


def _format_string(text: str) -> str:
    return _PLACEHOLDER.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}"))


def format_instant(instant: datetime, zone: tzinfo, *, seen_from: datetime, near: bool = False) -> str:
    """`Friday 6 March, 08:00`; with the year when `seen_from` lies in another, `near` without the day on the same."""
    local, other = instant.astimezone(zone), seen_from.astimezone(zone)
    clock = f"{local.hour:02}:{local.minute:02}"
    if near and local.date() == other.date():
        return clock
    year = "" if local.year == other.year else f" {local.year}"
    return f"{WEEKDAY_NAMES[local.weekday()]} {local.day} {MONTH_NAMES[local.month - 1]}{year}, {clock}"


def zone_label(instant: datetime, zone: tzinfo) -> str:
    """`Berlin time`; an offset such as `UTC+05:30` where the zone is no place."""
    key = getattr(zone, "key", "UTC")
    if "/" in key and not key.startswith("Etc/"):
        return f"{key.rpartition('/')[2].replace('_', ' ')} time"
    minutes = int((instant.astimezone(zone).utcoffset() or timedelta()) / timedelta(minutes=1))
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"


def format_lateness(promised: datetime, ready: datetime) -> str | None:
    """`2 hours 5 minutes` when `ready` is more than a minute after the promise, else None."""
    late = ready - promised
    if late <= LATE_AFTER:
        return None
    # Begun minutes do not count: the mail must not claim more than passed.
    return span_in_words(late - late % timedelta(minutes=1), EXACT)
