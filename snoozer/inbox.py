"""USE CASE of mail that comes in: keep the original, byte for byte, in its owner's mailbox."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Connection, func, select

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Envelope
from snoozer.db.models import Account
from snoozer.mime import headers
from snoozer.mime import message_parser as reading

SUBSTITUTE_ID_DOMAIN = "kept.snoozer.invalid"


@dataclass(frozen=True, kw_only=True)
class StoredMessage:
    """A message in the mailbox; `new` is False when it was there already."""

    id: int
    new: bool


def owner(connection: Connection, *, address: str) -> str | None:
    """The account address that mail to `address` belongs to; None when nobody may receive it here. Accounts have the
    domain as the wire has it, xn--…; mail servers that know SMTPUTF8 may say it in its own letters."""
    if not address.isascii():
        address = headers.ascii_address(address) or address
    return connection.execute(
        select(Account.email).where(
            Account.email == func.lower(address), Account.verified_at.is_not(None), Account.disabled_at.is_(None)
        )
    ).scalar_one_or_none()


def store_each(connection: Connection, *, user_email: str, originals: Sequence[bytes]) -> list[StoredMessage]:
    """Keep several messages in their order. Who keeps some of the same at this moment is waited for in an order that is
    everybody's, so that no two wait for each other."""
    for digest in sorted({_digest(original) for original in originals}):
        mailbox_store.lock(connection, user_email=user_email, sha256=digest)
    return [store(connection, user_email=user_email, original=original) for original in originals]


def store(connection: Connection, *, user_email: str, original: bytes) -> StoredMessage:
    """Keep one message, byte for byte, and once: a mail server whose reply was lost delivers it again.

    A message without a Message-ID, or with one that another message has, is known by a stand-in. One that names neither
    itself nor a date, as machines write them, may be news in the same words: it is kept again once the person has seen
    the one before.
    """
    digest = _digest(original)
    mailbox_store.lock(connection, user_email=user_email, sha256=digest)
    seen = reading.parse(original)
    repeatable = seen.message_id is None and seen.date is None
    known = mailbox_store.find(connection, user_email=user_email, sha256=digest, repeatable=repeatable)
    if known is not None:
        return StoredMessage(id=known, new=False)
    substitute_id = f"<{uuid4().hex}@{SUBSTITUTE_ID_DOMAIN}>"
    envelope = Envelope(
        message_id=seen.message_id or substitute_id,
        substitute_id=substitute_id,
        sha256=digest,
        subject=seen.subject,
        sender_name=seen.sender_name,
        sender_email=seen.sender_email,
        sent_at=seen.date,
    )
    return StoredMessage(
        id=mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original), new=True
    )


def _digest(original: bytes) -> str:
    return hashlib.sha256(original).hexdigest()
