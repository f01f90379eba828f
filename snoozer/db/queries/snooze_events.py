"""The events of one snooze for its owner; the caller has checked the ownership."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from snoozer.db.models import ArchivedSend, Event, Send
from snoozer.db.queries import Cursor, Found, Page, columns, make_page

# Acts of the owner that can be undone.
UNDOABLE = ("edited", "skipped", "paused", "resumed", "back", "cancelled", "noted", "done")


def page(connection: Connection, *, id: int, after: Cursor | None, size: int) -> Page[Found]:
    """The events of a snooze, newest first."""
    rows = _events().where(Event.snooze_id == id)
    if after is not None:
        rows = rows.where(Event.id < after.id)
    found: Sequence[Found] = connection.execute(rows.order_by(Event.id.desc()).limit(size + 1)).all()
    return make_page(found, size=size, at=lambda row: row.at)


def last_act(connection: Connection, *, id: int) -> Found | None:
    """The newest act of a snooze's owner, undone or not, if it can be undone."""
    acts = _events().where(Event.snooze_id == id, Event.actor == "user")
    row = connection.execute(acts.order_by(Event.id.desc()).limit(1)).first()
    return None if row is None or row.kind not in UNDOABLE else row


def last_promise(connection: Connection, *, id: int) -> Any:
    """The newest promise of a snooze in the ledger, live or archived; None if it has no entry."""
    for send in (Send, ArchivedSend.__table__.c):
        newest = connection.execute(select(func.max(send.scheduled_for)).where(send.snooze_id == id)).scalar_one()
        if newest is not None:
            return newest
    return None


def _events() -> Select[*tuple[Any, ...]]:
    return select(*columns(Event, "id at kind actor route detail"))
