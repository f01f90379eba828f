"""Mail by which a person acts: an answer to a reminder, or mail to an address that names a time.

Each mail acts once, in the transaction that its 250 confirms, and is answered by one mail. Mail of machines and lists
does nothing, and nothing answers it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar, Protocol

from sqlalchemy import Connection

from snoozer.db import mail_acts
from snoozer.db.mail_acts import Heard
from snoozer.db.statements import database_time
from snoozer.mail import message_parser, notices
from snoozer.mailboxes.inbox import Person
from snoozer.snoozes import input
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import gettext as _
from snoozer.translations import language_of, speaking

ADDRESS_ROUTE = "address"
REFUSED = "550 5.7.1 This mail does not prove that it is from the owner of an account here"
# People write to Snoozer in their own language or in the other one.
_LOCALES = {"en": "de_DE", "de": "en_GB"}


def _spend_nothing(count: int) -> None:
    """Without limits."""


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mail to a door; `now` is the database's time. `spend` counts snoozes, and raises QuotaReached."""

    original: bytes
    person: Person
    now: datetime
    spend: Callable[[int], None] = _spend_nothing


@dataclass(frozen=True, kw_only=True)
class Site:
    """The domain of the doors' addresses, empty if there are none, and the keys that signed them. `authserv_id` is the
    host whose Authentication-Results count, empty if there is none. `separator` ends the user in a local part, empty if
    nothing does."""

    domain: str = ""
    keys: Sequence[str] = ()
    authserv_id: str = ""
    separator: str = ""


NO_DOORS = Site()


class Door(Protocol):
    """The act of mail to one address. `takes_replies` if people answer Snoozer's answers there; at other addresses an
    autoresponder does, even if the mail has no other sign of one."""

    takes_replies: ClassVar[bool]

    def owner(self, connection: Connection, *, original: bytes) -> Person | None:
        """The person who acts by this mail; None if the mail does not prove who that is."""

    def act(self, connection: Connection, mail: Mail) -> Heard:
        """Act, and return what to answer. Raises SnoozeError for what cannot be read."""


def receive(
    connection: Connection,
    door: Door,
    person: Person,
    *,
    original: bytes,
    address: str,
    has_null_sender: bool,
    spend: Callable[[int], None],
) -> None:
    """Have a mail act, and enter its answer. A mail that comes again does nothing."""
    head = message_parser.parse_reply(original, has_null_sender=has_null_sender)
    if head.automatic or (not door.takes_replies and any(map(notices.is_answer_id, head.answers))):
        return
    sha256 = hashlib.sha256(original + address.lower().encode()).hexdigest()
    id = mail_acts.begin(connection, email=person.email, sha256=sha256)
    if id is None:
        return
    mail = Mail(original=original, person=person, now=database_time(connection), spend=spend)
    with speaking(language_of(person.locale)):
        try:
            heard = door.act(connection, mail)
        except SnoozeError as error:
            heard = unread(error)
    mail_acts.answer(connection, id=id, heard=heard, message_id=head.message_id)


def read_time(phrase: str, mail: Mail) -> ParsedTime:
    """The time of a phrase in the person's language or the other one. Raises SnoozeError in the person's."""
    read = partial(input.parse_phrase, phrase, now=mail.now, zone=mail.person.zone, own=mail.person.own)
    try:
        return read(locale=mail.person.locale)
    except SnoozeError as error:
        if error.code != "unrecognised":
            raise
        try:
            return read(locale=_LOCALES[language_of(mail.person.locale)])
        except SnoozeError:
            raise error from None


def understood(time: ParsedTime) -> str:
    return _("Snoozed: %(reading)s", reading=time.sentence)


def unread(error: SnoozeError) -> Heard:
    """Nothing was done, because the text is no time that can be set."""
    text = _("Your mail was not understood, so nothing was changed.")
    words = {"text": text, "reason": error.message}
    if error.suggestions:
        words["suggestions"] = " · ".join(error.suggestions)
    return Heard(understood=False, words=words)
