"""Composes reminders, as bytes, and has the parts of all mails that Snoozer sends. The result depends only on the
arguments: the same send gives the same bytes.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from email.utils import format_datetime
from functools import lru_cache
from itertools import chain

from snoozer.mail import headers, links
from snoozer.mail.html_to_text import clean_text
from snoozer.mail.mime_writer import (
    MULTIPART,
    BodyTemplate,
    Field,
    Text,
    format_mailbox,
    place,
    quoted_piece,
    write_fields,
)
from snoozer.queue.limits import MAX_NOTE_LENGTH
from snoozer.queue.reminder import Member, Send
from snoozer.timephrase.date_format import DateFormat, short_weekday
from snoozer.timephrase.describe import span_in_words
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.zones import zone_in_words, zone_or_utc
from snoozer.translations import N_, catalogue, language_of, speaking
from snoozer.translations import gettext as _

NO_SUBJECT = N_("(no subject)")
# For sends that were entered before the ledger had a locale.
DEFAULT_LOCALE = "en_GB"

# The path of each button after the token; each value is a key of `links.ACTS`.
BUTTONS = {"done": "done", "another_time": "again"}
# Buttons that state a time: the act, the words around the time, and whether it has a date.
_OFFERS = {
    "tomorrow": ("tomorrow", N_("Tomorrow, %(when)s"), False),
    "next_week": ("next-week", N_("Next week, %(when)s"), True),
}
_LATE_FACT = N_("This comes %(span)s late.")
# By `delayed_by` of the ledger; other reasons say nothing to a person.
_LATE = {
    "mail server": N_("This comes %(span)s late, because our mail server could not be reached."),
    "recipient": N_("This comes %(span)s late, because your mail server did not take it at first."),
}

# Limit for a note in a digest: with `MAX_DIGEST_SIZE` notes the mail stays near the size that no mail program
# truncates.
_LISTED_NOTE_LENGTH = 300

_MAY_BECOME_A_LINK = re.compile("[.:@\u3002\uff0e\uff61]")
_BREAKS = re.compile(r"(?<=\w)[.\u3002\uff0e\uff61](?=[^\W\d_])|@(?=\w)|:(?=//)|(?i:\b(?:mailto|tel|sms|data):)(?=\S)")
_PLAIN_ADDRESS = re.compile(r"(?!www\.)[a-z0-9][a-z0-9._+-]*@(?:[a-z0-9-]+\.)+[a-z]{2,}", re.IGNORECASE)
_UNLINK = "\u200c"
# No script before Hebrew is written from right to left.
_FROM_HEBREW_ON = re.compile("[\u0590-\U0010ffff]")


class ReminderWriter:
    """Writes reminders: the same send has the same bytes in every process with the same templates and arguments."""

    def __init__(
        self,
        *,
        mail_from: str,
        base_url: str,
        keys: Sequence[str],
        instance: str,
        inbound_domain: str = "",
        sign: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """Raises ValueError without a key, and for values that cannot be part of a header. With an `inbound_domain`,
        a person can answer reminders. `sign` returns a mail with its signature, the same for the same mail."""
        if not keys:
            raise ValueError("A reminder cannot be signed without a key.")
        self._keys, self._inbound_domain, self._sign = keys, inbound_domain, sign
        self._mail_from = headers.mail_from_address(mail_from)
        self._fields = write_fields(fixed_fields(mail_from, instance))
        self._links = f"{base_url.rstrip('/')}/r/"
        page = f"{self._links}{place('token')}"
        self._texts = {button: f"{page}/{act}" for button, act in BUTTONS.items()}
        self._texts |= {button: f"{page}/{place(f'{button}_act')}" for button in _OFFERS} | {"stop": f"{page}/stop"}
        # By language, whether it repeats, and the words that not every reminder has.
        self._bodies: dict[tuple[str | bool, ...], BodyTemplate] = {}
        offers = [f"{button}_{part}" for button in _OFFERS for part in ("act", "label")]
        for given in ((), ("sender",), ("note",), ("sender", "note")):
            self._body("en", (*given, *offers), repeats=False)

    def envelope_sender(self, send: Send) -> str:
        """The address to which mail systems return this reminder: that of its occurrence, if mail to it comes here."""
        if not self._inbound_domain:
            return self._mail_from
        local_part = links.sign_address(send.snooze_id, send.scheduled_for, keys=self._keys, action="bounce")
        return f"{local_part}@{self._inbound_domain}"

    def write(self, send: Send) -> bytes:
        """The reminder of one row of the ledger. Raises ValueError when an address or id cannot be part of a header.

        Links are signed with the first, newest key. If a row's bytes were fixed before (`bytes_sha256`) under an older
        key, or before its series ended or the excerpt was known, they are written again as they were.
        """
        newest = self._sign(self._write(send, keys=self._keys))
        if send.bytes_sha256 is None:
            return newest
        rows = [
            replace(send, repeats=repeats, excerpt=excerpt)
            for repeats in (send.repeats, not send.repeats)
            for excerpt in dict.fromkeys((send.excerpt, None))
        ]
        older = (self._write(row, keys=self._keys[index:]) for row in rows for index in range(len(self._keys)))
        copies = chain([newest], map(self._sign, older))
        same = (copy for copy in copies if hashlib.sha256(copy).hexdigest() == send.bytes_sha256)
        return next(same, newest)

    def _write(self, send: Send, *, keys: Sequence[str]) -> bytes:
        if send.members:
            return self._write_digest(send, keys=keys)
        wording = _wording(send.locale or DEFAULT_LOCALE)
        token, subject = _token(send, keys=keys), _subject(send.subject, wording)
        fields = address_fields(
            to=address_of(send), subject=subject, at=send.dated, message_id=send.reminder_message_id
        )
        if thread := headers.thread_ids(send.thread_ids) or _own_id(send.message_id):
            fields += [("In-Reply-To", thread[-1]), ("References", " ".join(thread))]
        fields.append(("X-Snoozer-Occurrence", links.occurrence_id(token)))
        if self._inbound_domain:
            answer = links.sign_address(send.snooze_id, send.scheduled_for, keys=keys)
            fields.append(("Reply-To", f"{answer}@{self._inbound_domain}"))
        if send.repeats and not send.is_review:
            fields += self._unsubscribe(token)
        words = {"subject": quoted(subject), "token": token, **_promise(send.scheduled_for, send.zone, wording)}
        excerpt = quoted(headers.sanitize_line(send.excerpt or ""))
        optional = (
            ("late", _late(send.late_by, send.delayed_by, wording)),
            ("sender", _sender(send.sender_email)),
            ("excerpt", excerpt),
            ("note", _note(send.note)),
        )
        given = {name: word for name, word in optional if word}
        offers = _encoded_offers(*_day_of(send.as_of or send.dated, send.zone), wording)
        body = self._body(wording.language, (*given, *offers), repeats=send.repeats)
        return b"".join([self._fields, write_fields(fields), b"\r\n", body.fill(words | given, offers)])

    def _write_digest(self, send: Send, *, keys: Sequence[str]) -> bytes:
        """The mail lists its own promise first. It belongs to no thread, because it is about several messages."""
        wording = _wording(send.locale or DEFAULT_LOCALE)
        listed: list[Send | Member] = [send, *send.members]
        offers = _offers(*_day_of(send.as_of or send.dated, send.zone), wording)
        reminders = [self._list_one(one, offers=offers, zone=send.zone, wording=wording, keys=keys) for one in listed]
        with speaking(wording.language):
            text = N_("%(count)s messages for someday") if send.is_review else N_("%(count)s reminders")
            subject = _(text, count=len(reminders))
        fields = address_fields(
            to=address_of(send), subject=subject, at=send.dated, message_id=send.reminder_message_id
        )
        token = _token(send, keys=keys)
        fields.append(("X-Snoozer-Occurrence", links.occurrence_id(token)))
        fields += [] if send.is_review else self._unsubscribe(token)
        late = _late(send.late_by, send.delayed_by, wording)
        stop = "" if send.is_review else f"{self._links}{token}/{links.STOP}"
        texts = {"reminders": reminders, "is_review": send.is_review, "late": late, "stop": stop}
        body = BodyTemplate("digest", words=(), texts=texts, language=wording.language)
        return b"".join([self._fields, write_fields(fields), b"\r\n", body.fill({})])

    def _unsubscribe(self, token: str) -> list[Field]:
        """The fields by which a mail program offers to stop this series or the digests (RFC 2369, RFC 8058)."""
        one_click = [("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")]
        return [
            ("List-Unsubscribe", f"<{self._links}{token}/{links.STOP}>"),
            *(one_click if self._links.startswith("https://") else []),
        ]

    def _list_one(
        self,
        one: Send | Member,
        *,
        offers: Mapping[str, str],
        zone: str,
        wording: "_Wording",
        keys: Sequence[str],
    ) -> dict[str, str]:
        page = self._links + _token(one, keys=keys)
        acts = BUTTONS | {button: offers.get(f"{button}_act", "") for button in _OFFERS}
        return {
            "subject": quoted(_subject(one.subject, wording)),
            "sender": _sender(one.sender_email),
            "note": _note(one.note, limit=_LISTED_NOTE_LENGTH),
            **{button: act and f"{page}/{act}" for button, act in acts.items()},
            **offers,
            **_promise(one.scheduled_for, zone, wording),
        }

    def _body(self, language: str, given: tuple[str, ...], *, repeats: bool) -> BodyTemplate:
        found = self._bodies.get((language, repeats, *given))
        if found is None:
            absent = {"late", "sender", "excerpt", "note"} | ({"stop"} if not repeats else set())
            absent |= {button for button in _OFFERS if f"{button}_act" not in given}
            words, texts = ("subject", "promised", "zone", *given), self._texts | dict.fromkeys(absent, "")
            found = BodyTemplate("reminder", words=words, texts=texts, language=language)
            self._bodies[language, repeats, *given] = found
        return found


def address_of(send: Send) -> str:
    """The address to which a reminder goes."""
    return send.recipient or send.user_email


def fixed_fields(mail_from: str, instance: str, submitted: str = "auto-generated") -> list[Field]:
    """The fields that all mails have; some prevent automatic replies (RFC 3834)."""
    address = headers.mail_from_address(mail_from)
    if not address:
        raise ValueError("MAIL_FROM must be an address such as Snoozer <snoozer@example.org>.")
    return [
        ("From", format_mailbox(headers.sender(mail_from).name or "Snoozer", address)),
        ("Auto-Submitted", submitted),
        ("X-Auto-Response-Suppress", "All"),
        ("X-Snoozer-Instance", instance),
        *MULTIPART,
    ]


def _own_id(message_id: str) -> tuple[str, ...]:
    """The Message-ID of the original, unless Snoozer made it up for a message without one."""
    is_own = message_id.startswith("<") and not message_id.endswith(headers.SUBSTITUTE_ENDING)
    return headers.thread_ids(message_id)[:1] if is_own else ()


def address_fields(*, to: str, subject: str, at: datetime, message_id: str) -> list[Field]:
    """The fields of one mail. A recipient that needs SMTPUTF8 is named in the envelope only."""
    recipient = headers.ascii_address(to)
    if recipient is None and headers.address(to) is None:
        raise ValueError("The recipient is not an address.")
    if headers.message_id(message_id) != message_id:
        raise ValueError("A mail needs a Message-ID of the form <left@right>.")
    return [
        ("To", recipient or "undisclosed-recipients:;"),
        ("Subject", Text(subject)),
        ("Date", format_datetime(at.astimezone(UTC))),
        ("Message-ID", message_id),
    ]


def _token(one: Send | Member, *, keys: Sequence[str]) -> str:
    return links.sign(links.Link(snooze_id=one.snooze_id, scheduled_for=one.scheduled_for), keys=keys)


def _subject(raw: str | None, wording: "_Wording") -> str:
    return headers.sanitize_line(raw or "") or wording.no_subject


def _sender(raw: str | None) -> str:
    # sanitize_line also breaks encoded words: the row holds decoded text, which must not be decoded twice.
    line = headers.sanitize_line(raw or "", limit=400)
    sender = headers.sender(line)
    if sender.email is None:
        return quoted(headers.sanitize_line(raw or ""))
    # A plain address can be copied; if a mail program makes it a link, it writes to the sender and opens no page.
    email = sender.email if _PLAIN_ADDRESS.fullmatch(sender.email) else quoted(sender.email)
    return f"{quoted(sender.name)} · {email}" if sender.name else email


def _note(raw: str | None, *, limit: int = MAX_NOTE_LENGTH) -> str:
    note = clean_text(raw).strip() if raw else ""
    if len(note) > limit:
        note = note[: limit - 1].rstrip() + "…"
    return "\n".join([quoted(line) for line in note.split("\n")])


def quoted(text: str) -> str:
    """Foreign text in our mail: no mail program turns it into a link, and its direction ends with it."""
    turns = _FROM_HEBREW_ON.search(text) and any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    if _MAY_BECOME_A_LINK.search(text):
        text = _BREAKS.sub(lambda found: found.group() + _UNLINK, text)
    return f"\u2068{text}\u2069" if turns else text


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wording:
    """The words of reminders in one locale: made once, not for each reminder.

    `zone` has a place for the name of a place; `hours` has each hour's clock with a place for the minute.
    """

    language: str
    no_subject: str
    dates: DateFormat
    zone: str
    hours: tuple[str, ...]

    def instant(self, local: datetime) -> str:
        """`Friday 6 March 2026, 08:00`, and in the United States `Friday, March 6, 2026, 8:00 am`."""
        return f"{_day(self, local.date())}, {self.hours[local.hour] % local.minute}"

    def offer(self, label: str, local: datetime, *, has_date: bool) -> str:
        """`Tomorrow, Sat 08:00`, `Next week, Mon 9 Mar 08:00`."""
        with speaking(self.language):
            day = self.dates.day(local.date(), year=False, short=True) if has_date else short_weekday(local.date())
            return _(label, when=f"{day} {self.hours[local.hour] % local.minute}")

    def zone_label(self, instant: datetime, zone: tzinfo) -> str:
        """`Berlin time`; an offset such as `UTC+05:30` if the zone is not named after a place."""
        key = getattr(zone, "key", "UTC")
        if "/" in key and not key.startswith("Etc/"):
            return self.zone % {"place": zone_in_words(key.rpartition("/")[2])}
        minutes = int((instant.astimezone(zone).utcoffset() or timedelta()) / timedelta(minutes=1))
        return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"


@lru_cache(maxsize=1024)
def _day(wording: _Wording, day: date) -> str:
    with speaking(wording.language):
        return wording.dates.day(day)


@lru_cache(maxsize=256)
def _wording(locale: str) -> _Wording:
    language, dates = language_of(locale), DateFormat.of(locale)
    translated = catalogue(language).gettext
    return _Wording(
        language=language,
        no_subject=translated(NO_SUBJECT),
        dates=dates,
        zone=translated(N_("%(place)s time")),
        hours=tuple(dates.hour(time(hour)).replace(":00", ":%02d") for hour in range(24)),
    )


# Many reminders are promised for the same time.
@lru_cache(maxsize=128)
def _promise(instant: datetime, zone_name: str, wording: _Wording) -> Mapping[str, str]:
    zone = zone_or_utc(zone_name)
    return {"promised": wording.instant(instant.astimezone(zone)), "zone": wording.zone_label(instant, zone)}


def _day_of(instant: datetime, zone_name: str) -> tuple[date, tzinfo]:
    """The day in that zone, from which the buttons of a mail count, and the zone."""
    zone = zone_or_utc(zone_name)
    return instant.astimezone(zone).date(), zone


@lru_cache(maxsize=256)
def _encoded_offers(day: date, zone: tzinfo, wording: _Wording) -> Mapping[str, bytes]:
    return {name: quoted_piece(word) for name, word in _offers(day, zone, wording).items()}


@lru_cache(maxsize=256)
def _offers(day: date, zone: tzinfo, wording: _Wording) -> Mapping[str, str]:
    """The path and the label of each button that states a time, and no time twice. No phrase of a button depends on
    the hour."""
    noon, found, seen = datetime.combine(day, time(12), zone), dict[str, str](), set[datetime | None]()
    for button, (act, label, has_date) in _OFFERS.items():
        try:
            at = parse(links.ACTS[act][1] or "", now=noon, zone=str(zone), locale=DEFAULT_LOCALE).at
        except ParseError:
            continue
        if at is not None and at not in seen:
            seen.add(at)
            found[f"{button}_act"] = links.act_path(act, at)
            found[f"{button}_label"] = wording.offer(label, at.astimezone(zone), has_date=has_date)
    return found


@lru_cache(maxsize=256)
def _late(late_by: timedelta | None, delayed_by: str | None, wording: _Wording) -> str:
    """The sentence of a late mail, with the reason if a person can make use of it; "" if it is on time."""
    if late_by is None:
        return ""
    with speaking(wording.language):
        return _(_LATE.get(delayed_by or "", _LATE_FACT), span=span_in_words(late_by))
