"""Web Push: devices, the keys that sign pushes, and their ledger. One function per file in `sql/push`, of its name.

reserved (a trigger, with the fact that a message is back) → sending (mark) → sent (record)
reserved, sending → reserved or failed (release, refuse, expire) · sending → uncertain (mark_uncertain, expire)
uncertain → sent (record: a late answer); it is never sent again.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class NewDevice:
    """Columns of a device that is subscribed; `label` is its name."""

    key_id: int
    label: str
    endpoint: str = field(repr=False)
    public_key: bytes
    auth_secret: bytes = field(repr=False)
    shows_subject: bool


@dataclass(frozen=True, kw_only=True)
class ClaimedPush:
    """A push that one sender holds. `signing_key` is encrypted; `subject` is None if its device shows none."""

    id: int
    claim_token: UUID
    device_id: int
    snooze_id: int
    scheduled_for: datetime
    attempts: int
    seconds_left: int
    endpoint: str = field(repr=False)
    public_key: bytes
    auth_secret: bytes = field(repr=False)
    failures: int
    key_id: int
    signing_key: bytes = field(repr=False)
    locale: str
    subject: str | None = field(repr=False)


def lock_keys(connection: Connection) -> None:
    """Serialize making the pair of keys, until the transaction ends."""
    execute(connection, "push/lock_keys")


def create_key(connection: Connection, *, public_key: bytes, private_key: bytes) -> int:
    """Keep a new pair of keys; returns its id."""
    return int(execute(connection, "push/create_key", public_key=public_key, private_key=private_key).scalar_one())


def replace_private_key(connection: Connection, *, id: int, known: bytes, private_key: bytes) -> bool:
    """Replace an encrypted key by the same one under a newer key of the ring."""
    values = {"id": id, "known": known, "private_key": private_key}
    return execute(connection, "push/replace_private_key", **values).first() is not None


def subscribe(connection: Connection, *, account_id: int, device: NewDevice, most: int) -> int | None:
    """Add a device, or take over a device whose browser is known; returns its id, or None if the account has `most`
    others."""
    values = {**vars(device), "account_id": account_id, "most": most}
    id: int | None = execute(connection, "push/subscribe", **values).scalar_one_or_none()
    return id


def set_subject(connection: Connection, *, id: int, account_id: int, shows_subject: bool) -> bool:
    """Choose whether pushes show the subject. Returns False when this person has no such device."""
    values = {"id": id, "account_id": account_id, "shows_subject": shows_subject}
    return execute(connection, "push/set_subject", **values).first() is not None


def remove(connection: Connection, *, id: int, account_id: int) -> bool:
    """Remove a device. Returns False when this person has no such device."""
    return execute(connection, "push/remove", id=id, account_id=account_id).first() is not None


def claim(connection: Connection, *, lease: timedelta) -> ClaimedPush | None:
    """Claim the next push that is due; None if none is due."""
    return row_as(execute(connection, "push/claim", lease=lease).first(), ClaimedPush)


def mark(connection: Connection, *, push: ClaimedPush, lease: timedelta) -> bool:
    """Authorise the request of a push. Returns False if the claim is lost."""
    values = {"id": push.id, "claim_token": push.claim_token, "lease": lease}
    return execute(connection, "push/mark", **values).first() is not None


def record(connection: Connection, *, push: ClaimedPush, status: int) -> None:
    """Record that the push service accepted a push."""
    execute(connection, "push/record", id=push.id, status=status)


def release(connection: Connection, *, push: ClaimedPush, reason: str, status: int | None, delay: timedelta) -> None:
    """Release a push that was not accepted; it is tried again after `delay` until it expires."""
    values = {"reason": reason, "status": status, "delay": delay}
    execute(connection, "push/release", id=push.id, claim_token=push.claim_token, **values)


def give_back(connection: Connection, *, push: ClaimedPush) -> None:
    """Give back a push that was not begun."""
    execute(connection, "push/give_back", id=push.id, claim_token=push.claim_token)


def refuse(connection: Connection, *, push: ClaimedPush, reason: str, status: int | None, gone: bool = False) -> None:
    """End a push that was refused for good; if the device is `gone`, remove it."""
    values = {"reason": reason, "status": status, "gone": gone}
    execute(connection, "push/refuse", id=push.id, claim_token=push.claim_token, **values)


def mark_uncertain(connection: Connection, *, push: ClaimedPush, reason: str, delay: timedelta) -> None:
    """Mark a push whose request was sent and got no answer."""
    values = {"reason": reason, "delay": delay}
    execute(connection, "push/mark_uncertain", id=push.id, claim_token=push.claim_token, **values)


def expire(connection: Connection, *, batch_size: int) -> list[int]:
    """End pushes that are too late, whose device was removed or whose sender was lost; returns them."""
    return list(execute(connection, "push/expire", batch_size=batch_size).scalars())


def prune(connection: Connection, *, batch_size: int) -> int:
    """Delete pushes that ended long ago; returns how many."""
    return len(execute(connection, "push/prune", batch_size=batch_size).all())
