"""A person's devices that get pushes, and the pair of keys that signs those."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from snoozer.db.models import PushDevice, PushKey
from snoozer.db.queries import Found, columns


def of_account(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All devices of a person, oldest first."""
    shown = select(*columns(PushDevice, "id name endpoint shows_subject problem failures sent_at created_at"))
    return connection.execute(shown.where(PushDevice.account_id == account_id).order_by(PushDevice.id)).all()


def newest_key(connection: Connection) -> Found | None:
    """The pair of keys with which devices are subscribed now; None if no pair was made yet."""
    newest = select(*columns(PushKey, "id public_key private_key")).order_by(PushKey.id.desc())
    return connection.execute(newest.limit(1)).first()
