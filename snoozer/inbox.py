"""USE CASE of incoming mail: store the original, byte for byte, in its owner's mailbox."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Connection, func, select

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Envelope
from snoozer.db.models import Account
from snoozer.mime import headers, message_parser

SUBSTITUTE_ID_DOMAIN = "kept.snoozer.invalid"


@dataclass(frozen=True, kw_only=True)
class StoredMessage:
    """A message in the mailbox; `new` is False when it was stored before."""

    id: int
    new: bool


def owner(connection: Connection, *, address: str) -> str | None:
    """The account that mail to `address` belongs to; None when there is none, or it is closed or unverified. Accounts
    have the ASCII form of a domain (xn--…); servers with SMTPUTF8 may send the other one."""
    if not address.isascii():
        address = headers.ascii_address(address) or address
    open_account = select(Account.email).where(
        Account.email == func.lower(address), Account.verified_at.is_not(None), Account.disabled_at.is_(None)
    )
    return connection.execute(open_account).scalar_one_or_none()


def store_each(connection: Connection, *, user_email: str, originals: Sequence[bytes]) -> list[StoredMessage]:
    """Store several messages in their order. All locks are taken first, sorted, so that concurrent calls with the same
    messages do not deadlock."""
    for digest in sorted({_digest(original) for original in originals}):
        mailbox_store.lock(connection, user_email=user_email, sha256=digest)
    return [store(connection, user_email=user_email, original=original) for original in originals]


def store(connection: Connection, *, user_email: str, original: bytes) -> StoredMessage:
    """Store one message, byte for byte, and once: a mail server whose reply was lost delivers it again.

    A message without a Message-ID, or with that of another message, gets a substitute id. One with neither Message-ID
    nor date, as machines write them, may be a new message in the same words: it is stored again once the person has
    seen the one before.
    """
    digest = _digest(original)
    mailbox_store.lock(connection, user_email=user_email, sha256=digest)
    parsed = message_parser.parse(original)
    repeatable = parsed.message_id is None and parsed.date is None
    known = mailbox_store.find(connection, user_email=user_email, sha256=digest, repeatable=repeatable)
    if known is not None:
        return StoredMessage(id=known, new=False)
    substitute_id = f"<{uuid4().hex}@{SUBSTITUTE_ID_DOMAIN}>"
    envelope = Envelope(
        message_id=parsed.message_id or substitute_id,
        substitute_id=substitute_id,
        sha256=digest,
        subject=parsed.subject,
        sender_name=parsed.sender_name,
        sender_email=parsed.sender_email,
        sent_at=parsed.date,
    )
    id = mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original)
    return StoredMessage(id=id, new=True)


def _digest(original: bytes) -> str:
    return hashlib.sha256(original).hexdigest()
