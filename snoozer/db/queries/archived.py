"""A finished snooze is first in the queue's tables, later in the archive."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Select, and_, select

from snoozer.db.models import ArchivedSend, ArchivedSnooze, Send, Snooze
from snoozer.db.queries import Found


def live_or_archived(
    connection: Connection, rows: Callable[..., Select[Any]], *, id: int, user_email: str, changing: bool
) -> Found | None:
    """A row of a person's `rows(snooze, send)`, live or archived. With `changing`, a live row is locked until the
    transaction ends and read after the lock, so the result includes the changes it waited for."""
    is_live = and_(Snooze.id == id, Snooze.user_email == user_email)
    if changing:
        connection.execute(select(Snooze.id).where(is_live).with_for_update(key_share=True))
    found = connection.execute(rows(Snooze, Send).where(is_live)).first()
    if found is not None:
        return found
    archived = ArchivedSnooze.__table__.c
    own = rows(ArchivedSnooze, ArchivedSend).where(archived.id == id, archived.user_email == user_email)
    return connection.execute(own).first()
