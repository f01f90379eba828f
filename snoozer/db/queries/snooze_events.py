"""The events of one snooze for its owner; the caller has checked the ownership."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, DateTime, Select, Text, cast, exists, func, select
from sqlalchemy.orm import aliased

from snoozer.db.models import ApiToken, ArchivedSend, Event, Send, Snooze
from snoozer.db.queries import Cursor, Found, Page, columns, make_page

# Acts of the owner that can be undone, of snoozes that exist.
UNDOABLE = ("edited", "skipped", "paused", "resumed", "back", "cancelled", "noted", "done")


def page(connection: Connection, *, id: int, after: Cursor | None, size: int) -> Page[Found]:
    """The events of a snooze, newest first."""
    rows = _events().where(Event.snooze_id == id)
    if after is not None:
        rows = rows.where(Event.id < after.id)
    found: Sequence[Found] = connection.execute(rows.order_by(Event.id.desc()).limit(size + 1)).all()
    return make_page(found, size=size, at=lambda row: row.at)


def by_programs(
    connection: Connection, *, account_id: int, since: datetime, until: datetime, size: int, newest: int | None = None
) -> Sequence[Found]:
    """The acts of a person's programs in this time, up to the event `newest`: each with its program and its snooze, and
    whether it `is_undone`, or can be undone. Acts to undo come first, then the newest."""
    later = aliased(Event)
    of_it = (later.snooze_id == Event.snooze_id) & (later.detail["of"].astext == cast(Event.id, Text))
    is_undone = exists().where(of_it, later.kind == "undone")
    can_be_undone = Event.kind.in_(("asked", *UNDOABLE)) & ~is_undone
    rows = (
        _events()
        .add_columns(Event.snooze_id, Snooze.subject, is_undone.label("is_undone"))
        .add_columns(can_be_undone.label("can_be_undone"))
        .outerjoin(Snooze, Snooze.id == Event.snooze_id)
        .where(ApiToken.account_id == account_id, Event.at >= since, Event.at < until)
    )
    if newest is not None:
        rows = rows.where(Event.id <= newest)
    return connection.execute(rows.order_by(can_be_undone.desc(), Event.id.desc()).limit(size)).all()


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


def bounce_of(send: Any) -> Any:
    """The `code` and `text` of the mail system that returned this reminder; NULL if none did."""
    its = aliased(Event)
    promise = cast(its.detail["promise"].astext, DateTime(timezone=True))
    chosen = select(its.detail).where(its.snooze_id == send.snooze_id, its.route == "report", its.kind == "bounced")
    newest = chosen.where(promise == send.scheduled_for).order_by(its.id.desc()).limit(1)
    return newest.correlate(send).scalar_subquery().label("bounce")


def _events() -> Select[*tuple[Any, ...]]:
    """Events, each with the name of the `program` that acted, if one did."""
    found = columns(Event, "id at kind actor route detail token_id")
    return select(*found, ApiToken.name.label("program")).outerjoin(ApiToken, ApiToken.id == Event.token_id)
