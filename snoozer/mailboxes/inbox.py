"""USE CASE of incoming mail: store the original, byte for byte, in its owner's mailbox."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from sqlalchemy import Connection, func, select, union_all

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import EVIDENCE, Envelope, Place
from snoozer.db.models import Account, MailboxMessage, OwnAddress, is_kept_by
from snoozer.db.statements import database_time
from snoozer.mail import headers, message_parser
from snoozer.mail.message_parser import ParsedHead
from snoozer.mail.snippet import snippet_of
from snoozer.queue import ledger
from snoozer.queue.ledger import Reminded
from snoozer.snoozes import chosen_shape, replies
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.timephrase.day_shape import DayShape

# The route in events of an incoming message.
ROUTE = "inbox"
# RFC 5321, 4.5.3.1.3.
MAX_PATH_LENGTH = 256
SUBSTITUTE_ID_DOMAIN = "kept.snoozer.invalid"


@dataclass(frozen=True, kw_only=True)
class StoredMessage:
    """A message in the mailbox; `new` is False when it was stored before."""

    id: int
    new: bool


@dataclass(frozen=True, kw_only=True)
class Person:
    """The owner of an account that is open."""

    email: str
    zone: str
    locale: str
    shape: DayShape = NO_SHAPE

    def own(self) -> DayShape:
        """The shape of the person's days."""
        return self.shape


def person_of(connection: Connection, *, email: str) -> Person | None:
    """The owner of this address, of the account or another verified one; None if there is no account, or it is closed
    or unverified."""
    accounts = select(Account.id, Account.email, Account.zone, Account.locale).where(
        Account.verified_at.is_not(None), Account.disabled_at.is_(None)
    )
    by_other = accounts.join(OwnAddress, OwnAddress.account_id == Account.id).where(
        OwnAddress.email == func.lower(email)
    )
    row = connection.execute(union_all(accounts.where(Account.email == func.lower(email)), by_other)).first()
    if row is None:
        return None
    shape = chosen_shape.find(connection, account_id=row.id) or NO_SHAPE
    return Person(email=row.email, zone=row.zone, locale=row.locale, shape=shape)


def owner(connection: Connection, *, address: str) -> str | None:
    """The account that mail to `address` belongs to, as in `person_of`. Accounts have the ASCII form of a domain
    (xn--…) and the normal form of other letters; servers with SMTPUTF8 may send other ones."""
    if not address.isascii():
        address = headers.account_address(address) or address
    person = person_of(connection, email=address)
    return None if person is None else person.email


def store_each(connection: Connection, *, user_email: str, originals: Sequence[bytes]) -> list[StoredMessage]:
    """Store several messages in their order. All locks are taken first, sorted, so that concurrent calls with the same
    messages do not deadlock."""
    for digest in sorted({_digest(original) for original in originals}):
        mailbox_store.lock_original(connection, user_email=user_email, sha256=digest)
    stored = [_store(connection, user_email=user_email, original=original) for original in originals]
    heads = [message_parser.parse_reply(original) for original, one in zip(originals, stored, strict=True) if one.new]
    now = database_time(connection)
    # Some were written long ago. Handle all together, so that snoozes are locked in one order.
    arrivals = [replies.Arrival(head=head, arrived_at=min(head.date or now, now)) for head in heads]
    replies.receive(connection, user_email=user_email, arrivals=arrivals, route=ROUTE)
    return stored


def store(connection: Connection, *, user_email: str, original: bytes, return_path: str | None = None) -> StoredMessage:
    """Store one message, byte for byte, and once: a mail server delivers it again if our reply was lost. A reply to a
    snoozed message triggers what the person chose for that snooze (`replies`), unless its `return_path`, the
    sender of the envelope, is empty, as that of bounces is.

    A message without a Message-ID, or with the Message-ID of another message, gets a substitute id. Machines send
    messages with neither Message-ID nor date, and an equal one may be a new message: it is stored again once the person
    has seen the previous one. Our own reminder is merged with the message that it is about.
    """
    stored = _store(connection, user_email=user_email, original=original, return_path=return_path)
    if stored.new:
        head = message_parser.parse_reply(original, has_null_sender=return_path == "")
        arrival = replies.Arrival(head=head, arrived_at=database_time(connection))
        replies.receive(connection, user_email=user_email, arrivals=[arrival], route=ROUTE)
    return stored


def restore(
    connection: Connection,
    *,
    user_email: str,
    original: bytes,
    message_id: str | None,
    place: Place,
    return_path: str | None = None,
) -> bool:
    """Store a message that was kept elsewhere, once, under the id and at the place that it had. It is not new mail, so
    it is not handled as a reply to a snooze. Returns False if it is already kept here."""
    digest = _digest(original)
    mailbox_store.lock_original(connection, user_email=user_email, sha256=digest)
    if mailbox_store.find_kept(connection, user_email=user_email, sha256=digest, repeatable=False) is not None:
        return False
    parsed = message_parser.parse_head(original)
    envelope = _envelope(parsed, sha256=digest, snippet=snippet_of(original), return_path=return_path)
    if message_id is not None:
        envelope = replace(envelope, message_id=message_id)
    mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original, place=place)
    return True


def _store(
    connection: Connection, *, user_email: str, original: bytes, return_path: str | None = None
) -> StoredMessage:
    digest = _digest(original)
    mailbox_store.lock_original(connection, user_email=user_email, sha256=digest)
    parsed = message_parser.parse_head(original)
    repeatable = parsed.message_id is None and parsed.date is None
    known = mailbox_store.find_kept(connection, user_email=user_email, sha256=digest, repeatable=repeatable)
    if known is not None:
        return StoredMessage(id=known, new=False)
    envelope = _envelope(parsed, sha256=digest, snippet=snippet_of(original), return_path=return_path)
    if parsed.message_id is not None:
        reminded = ledger.find_reminders(
            connection, reminder_message_ids=[parsed.message_id], user_email=user_email
        ).get(parsed.message_id)
        if reminded is not None:
            return _merge(connection, user_email=user_email, reminded=reminded, envelope=envelope, original=original)
    id = mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original)
    return StoredMessage(id=id, new=True)


def _merge(
    connection: Connection, *, user_email: str, reminded: Reminded, envelope: Envelope, original: bytes
) -> StoredMessage:
    """Store our own reminder that came back: it proves its arrival (`ledger.verify`) and is not new mail.

    The person sees the message it is about. A message that is not kept here is represented by its first reminder, under
    its own Message-ID, so that snoozing it is snoozing the message.
    """
    same_message = select(MailboxMessage.id).where(
        is_kept_by(user_email), MailboxMessage.message_id == reminded.message_id
    )
    kept = connection.execute(same_message).scalar_one_or_none()
    new = kept is None
    if kept is None:
        sender = headers.sender(reminded.sender_email)
        represented = replace(
            envelope, message_id=reminded.message_id, sender_name=sender.name, sender_email=sender.email
        )
        kept = mailbox_store.store(connection, user_email=user_email, envelope=represented, original=original)
    mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original, place=EVIDENCE)
    return StoredMessage(id=kept, new=new)


def _envelope(parsed: ParsedHead, *, sha256: str, snippet: str, return_path: str | None) -> Envelope:
    substitute_id = f"<{uuid4().hex}@{SUBSTITUTE_ID_DOMAIN}>"
    return Envelope(
        message_id=parsed.message_id or substitute_id,
        substitute_id=substitute_id,
        thread_ids=" ".join(parsed.thread_ids) or None,
        sha256=sha256,
        subject=parsed.subject,
        sender_name=parsed.sender_name,
        sender_email=parsed.sender_email,
        sent_at=parsed.date,
        snippet=snippet,
        return_path=None if return_path is None else headers.sanitize_line(return_path, limit=MAX_PATH_LENGTH),
    )


def _digest(original: bytes) -> str:
    return hashlib.sha256(original).hexdigest()
