"""A person's devices that get pushes, and the pair of keys that signs those."""

from collections.abc import Sequence

from sqlalchemy import Connection, column, select, table

from snoozer.db.queries import Found

# Not the models: workers import this, and no models.
_KEY = table("push_keys", *map(column, ("id", "public_key", "private_key")))
_DEVICE_COLUMNS = "id name endpoint shows_subject problem failures sent_at created_at"
_DEVICE = table("push_devices", column("account_id"), *map(column, _DEVICE_COLUMNS.split()))


def of_account(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All devices of a person, oldest first."""
    return connection.execute(select(_DEVICE).where(_DEVICE.c.account_id == account_id).order_by(_DEVICE.c.id)).all()


def newest_key(connection: Connection) -> Found | None:
    """The pair of keys with which devices are subscribed now; None if no pair was made yet."""
    return connection.execute(select(_KEY).order_by(_KEY.c.id.desc()).limit(1)).first()
