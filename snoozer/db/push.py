"""Web Push: devices, and the keys that sign pushes. The pushes themselves: `notifications.py`."""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from snoozer.db import notifications
from snoozer.db.roles import GROUP_ROLE_LIFETIME
from snoozer.db.statements import execute


@dataclass(frozen=True, kw_only=True)
class NewDevice:
    """Columns of a device that is subscribed; `label` is its name."""

    key_id: int
    label: str
    endpoint: str = field(repr=False)
    public_key: bytes
    auth_secret: bytes = field(repr=False)
    shows_subject: bool


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


def add_service(
    connection: Connection,
    *,
    account_id: int,
    label: str,
    service: str,
    address: bytes,
    shows_subject: bool,
    most: int,
) -> int | None:
    """Add a service with its encrypted address; returns its id, or None if the account has `most` devices."""
    values = {"label": label, "service": service, "address": address, "shows_subject": shows_subject, "most": most}
    id: int | None = execute(connection, "push/add_service", account_id=account_id, **values).scalar_one_or_none()
    return id


def replace_address(connection: Connection, *, id: int, known: bytes, address: bytes) -> bool:
    """Replace an encrypted address by the same one under a newer key of the ring."""
    return execute(connection, "push/replace_address", id=id, known=known, address=address).first() is not None


def enter_test(connection: Connection, *, id: int, account_id: int) -> bool:
    """Enter a test of a service. Returns False if another one waits, or this person has no such service."""
    return execute(connection, "push/enter_test", id=id, account_id=account_id).first() is not None


def set_alarms(connection: Connection, *, id: int, account_id: int, tells_alarms: bool) -> bool:
    """Choose whether a service gets alarms. Returns False when this person has no such service."""
    values = {"id": id, "account_id": account_id, "tells_alarms": tells_alarms}
    return execute(connection, "push/set_alarms", **values).first() is not None


def begin_alarm(connection: Connection, *, sentence: str) -> bool:
    """Enter an alarm, and its pushes to operators. Returns False if an alarm goes on."""
    values = {"sentence": sentence, "role_lifetime": GROUP_ROLE_LIFETIME}
    return execute(connection, "push/begin_alarm", **values).first() is not None


def end_alarm(connection: Connection) -> bool:
    """End the alarm that goes on, and enter the pushes about that. Returns False if none goes on."""
    return execute(connection, "push/end_alarm").first() is not None


def set_subject(connection: Connection, *, id: int, account_id: int, shows_subject: bool) -> bool:
    """Choose whether pushes show the subject. Returns False when this person has no such device."""
    values = {"id": id, "account_id": account_id, "shows_subject": shows_subject}
    return execute(connection, "push/set_subject", **values).first() is not None


def remove(connection: Connection, *, id: int, account_id: int) -> bool:
    """Remove a device; waiting pushes to it are not sent. Returns False when this person has no such device."""
    is_removed = execute(connection, "push/remove", id=id, account_id=account_id).first() is not None
    if is_removed:
        notifications.end_waiting(connection, "push", target=id, reason="removed")
    return is_removed
