"""A person's devices and services that get pushes, and the pair of keys that signs those."""

from collections.abc import Sequence

from sqlalchemy import Connection, column, select, table

from snoozer.db.queries import Found

# Not the models: workers import this, and no models.
_KEY = table("push_keys", *map(column, ("id", "public_key", "private_key")))
_DEVICE_COLUMNS = "id name endpoint service shows_subject tells_alarms problem failures sent_at created_at"
_DEVICE = table("push_devices", column("account_id"), column("address"), *map(column, _DEVICE_COLUMNS.split()))


def of_account(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All devices of a person, oldest first, without encrypted addresses."""
    columns = [_DEVICE.c[name] for name in _DEVICE_COLUMNS.split()]
    return connection.execute(select(*columns).where(_DEVICE.c.account_id == account_id).order_by(_DEVICE.c.id)).all()


def services(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All services of a person, with their encrypted addresses."""
    its = (_DEVICE.c.account_id == account_id, _DEVICE.c.service.is_not(None))
    return connection.execute(select(_DEVICE).where(*its).order_by(_DEVICE.c.id)).all()


def service(connection: Connection, *, id: int, account_id: int) -> Found | None:
    """One service of a person, with its encrypted address."""
    return next((one for one in services(connection, account_id=account_id) if one.id == id), None)


def newest_key(connection: Connection) -> Found | None:
    """The pair of keys with which devices are subscribed now; None if no pair was made yet."""
    return connection.execute(select(_KEY).order_by(_KEY.c.id.desc()).limit(1)).first()
