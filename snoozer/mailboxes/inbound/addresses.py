"""A DOOR to acts: mail to an address that names a time, such as `3d+KEY@`, which snoozes it.

The key is the person's. Without it the mail server has to prove that the mail is from the person. Of a mail to Snoozer
alone the attached messages are snoozed, if there are any; otherwise the mail itself is, also one to another person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from sqlalchemy import Connection, select

from snoozer.db.mail_acts import Heard
from snoozer.db.models import Account, MailboxMessage, is_kept_by
from snoozer.mail import authentication_results, message_parser
from snoozer.mail.structure import FORWARDED, split_head, walk
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound import doors
from snoozer.mailboxes.inbound.doors import ADDRESS_ROUTE, Mail, Site
from snoozer.mailboxes.inbox import Person
from snoozer.snoozes import acts, input
from snoozer.snoozes.acts import By, Wanted
from snoozer.snoozes.decision import MAY_ARRIVE
from snoozer.snoozes.input import Message, SnoozeError
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import gettext as _

MAX_ATTACHED = 20
_MAX_ABOUT = 300
_PROBER = Person(email="", zone="UTC", locale="en_GB")


@dataclass(frozen=True, kw_only=True)
class AddressDoor:
    """An address with a time, and with the key of a person or without one."""

    takes_replies: ClassVar[bool] = False
    site: Site
    phrase: str
    person: Person | None
    key: str = ""

    def owner(self, connection: Connection, *, original: bytes) -> Person | None:
        """The person of the key, or the proven sender."""
        if self.person is not None:
            return self.person
        head, _ = split_head(original)
        sender = authentication_results.proven_sender(head, authserv_id=self.site.authserv_id)
        return None if sender is None else inbox.person_of(connection, email=sender)

    def act(self, connection: Connection, mail: Mail) -> Heard:
        """Store and snooze. Raises SnoozeError, with addresses as suggestions, if the address names no time."""
        try:
            time = _read(self.phrase, mail)
        except SnoozeError as error:
            suggested = [phrase.replace(" ", "-") for phrase in error.suggestions if phrase.isascii()]
            addresses = tuple(f"{one}{self.key and '+'}{self.key}@{self.site.domain}" for one in suggested)
            raise SnoozeError(error.code, error.message, addresses) from None
        email = mail.person.email
        reminder_time = input.reminder_time_of(time, now=mail.now)
        originals = self._wanted(mail.original)
        mail.spend(len(originals))
        rows = [_keep(connection, email, original) for original in originals]
        wanted = {row.message_id: Wanted(message=row, time=reminder_time, reading=time) for row in rows}
        results = acts.snooze(
            connection, list(wanted.values()), By(email, ADDRESS_ROUTE), keeps_note=True, is_recorded=True
        )
        about = " · ".join(row.subject for row in rows if row.subject)[:_MAX_ABOUT]
        left = next((result.left for result in results if result.left is not None), None)
        text = doors.understood(time) if left is None else left.message
        if any(result.may_arrive for result in results):
            text += f" {_(MAY_ARRIVE)}"
        words = {"text": text} | ({"about": about} if about else {})
        return Heard(words=words, snooze_id=results[0].id, scheduled_for=reminder_time.remind_at)

    def _wanted(self, original: bytes) -> Sequence[bytes]:
        """The messages to be snoozed, byte for byte."""
        parsed = message_parser.parse(original)
        named = [one.email or "" for one in (*parsed.to.mailboxes, *parsed.cc.mailboxes)]
        if parsed.to.more or any(one.rpartition("@")[2].lower() != self.site.domain for one in named):
            return [original]
        parts = walk(*split_head(memoryview(original)), most=len(original))
        attached = [
            part.content
            for part in parts
            if part.head.type == "message/rfc822" and not any(place.startswith(FORWARDED) for place in part.path)
        ]
        return attached[:MAX_ATTACHED] or [original]


def find(connection: Connection, *, local_part: str, site: Site) -> AddressDoor | None:
    """The door of an address; None without the key of an open account, unless senders can be proven and the address
    names a time."""
    phrase, _, key = local_part.rpartition("+")
    if phrase:
        email = connection.execute(select(Account.email).where(Account.mail_key == key.lower())).scalar_one_or_none()
        person = None if email is None else inbox.person_of(connection, email=email)
        return None if person is None else AddressDoor(site=site, phrase=phrase, person=person, key=key.lower())
    door = AddressDoor(site=site, phrase=local_part, person=None)
    return door if site.authserv_id and _names_time(local_part) else None


def _names_time(phrase: str) -> bool:
    try:
        _read(phrase, Mail(original=b"", person=_PROBER, now=datetime.now(UTC)))
    except SnoozeError as error:
        return error.code != "unrecognised"
    return True


def _read(phrase: str, mail: Mail) -> ParsedTime:
    """The time of `every-monday`, `in_3_days` or `2026-03-09`."""
    try:
        return doors.read_time(phrase, mail)
    except SnoozeError as error:
        spaced = re.sub(r"[-_.]+", " ", phrase)
        if error.code != "unrecognised" or spaced == phrase:
            raise
        return doors.read_time(spaced, mail)


def _keep(connection: Connection, email: str, original: bytes) -> Message:
    """The message in the person's kept mailbox, stored unless it was there."""
    declared = message_parser.parse_head(original).message_id
    kept = select(MailboxMessage.message_id, MailboxMessage.subject, MailboxMessage.sender_email).where(
        is_kept_by(email)
    )
    row = connection.execute(kept.where(MailboxMessage.message_id == declared)).first() if declared else None
    if row is None:
        (stored,) = inbox.store_each(connection, user_email=email, originals=[original])
        row = connection.execute(kept.where(MailboxMessage.id == stored.id)).one()
    return Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
