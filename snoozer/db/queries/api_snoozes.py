"""A person's snoozes as the API shows them; another person's are never found.

Lists are ordered by id, newest first: it never changes, so no row is skipped or repeated when `remind_at` moves between
two pages.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, Text, and_, bindparam, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from snoozer.db.models import MailboxMessage, Send, Snooze, due_time, is_kept_by, is_send_of, promised_time
from snoozer.db.models.state import in_state, may_be_in_state, state_of
from snoozer.db.queries import Cursor, Found, Page, columns, make_page
from snoozer.db.queries.archived import live_or_archived
from snoozer.db.state_words import State

# Keeps the planner from the primary key, by which a person with old rows would read all newer rows of others.
_number = (Snooze.id + 0).label("number")


def browse(
    connection: Connection,
    *,
    user_email: str,
    now: datetime,
    state: State | None = None,
    after: Cursor | None = None,
    size: int = 50,
) -> Page[Found]:
    """The person's snoozes, newest first, optionally in one state only.

    The ids are sorted from an index alone, and only rows of this page are read.
    """
    mine = select(_number).where(Snooze.user_email == user_email)
    if state is not None:
        mine = mine.where(may_be_in_state(state, now=now))
    if after is not None:
        mine = mine.where(Snooze.id + 0 < after.id)
    ids = mine.order_by(_number.desc()).subquery()
    found = _rows().where(Snooze.id == ids.c.number)
    if state is not None:
        found = found.where(in_state(state, now=now))
    row = found.limit(1).lateral()
    rows = select(row).select_from(ids.join(row, true())).order_by(ids.c.number.desc()).limit(size + 1)
    return make_page(connection.execute(rows).all(), size=size, at=lambda row: row.created_at)


def of_messages(connection: Connection, *, user_email: str, message_ids: Sequence[str]) -> Sequence[Found]:
    """For each message its live snooze, or its newest finished one, in the order of `message_ids`. A message
    without a snooze in the queue's tables is missing."""
    given = bindparam("message_ids", list(dict.fromkeys(message_ids)), type_=ARRAY(Text))
    asked = func.unnest(given).table_valued("message_id", with_ordinality="position").render_derived()
    its = select(Snooze.id).where(Snooze.user_email == user_email, Snooze.message_id == asked.c.message_id)
    live = its.where(~Snooze.inactive).scalar_subquery()
    finished = its.where(Snooze.inactive, func.md5(Snooze.message_id) == func.md5(asked.c.message_id))
    newest = finished.order_by(Snooze.id.desc()).limit(1).scalar_subquery()
    ids = select(asked.c.position, func.coalesce(live, newest).label("number")).subquery()
    row = _rows().where(Snooze.id == ids.c.number).limit(1).lateral()
    return connection.execute(select(row).select_from(ids.join(row, true())).order_by(ids.c.position)).all()


def one(connection: Connection, *, id: int, user_email: str, changing: bool = False) -> Found | None:
    """One snooze of this person, live or archived; with `changing`, a live one is locked until the transaction ends."""
    return live_or_archived(connection, _rows, id=id, user_email=user_email, changing=changing)


def many(connection: Connection, *, ids: Collection[int], user_email: str) -> dict[int, Found]:
    """Live snoozes of this person, by id."""
    rows = _rows().where(Snooze.id.in_(ids), Snooze.user_email == user_email)
    return {row.id: row for row in connection.execute(rows)} if ids else {}


def envelope(connection: Connection, *, user_email: str, message_id: str) -> tuple[str | None, str | None]:
    """Subject and sender of a message in the kept mailbox; (None, None) when it is not there."""
    its_id = and_(is_kept_by(user_email), MailboxMessage.message_id == message_id)
    kept = connection.execute(select(MailboxMessage.subject, MailboxMessage.sender_email).where(its_id)).first()
    return (None, None) if kept is None else (kept.subject, kept.sender_email)


def _rows(snooze: Any = Snooze, send: Any = Send) -> Select[*tuple[Any, ...]]:
    """A snooze with the send of its promise, from the live tables or the archive's."""
    its = state_of(snooze)
    rows = select(
        *its.c,
        *snooze.__table__.columns,
        promised_time(snooze).label("promise"),
        due_time(snooze).label("due_at"),
        snooze.snooze_duration_hours.label("duration_hours"),
        send.state.label("send_state"),
        *columns(send, "sent_at refusals delayed_by"),
    )
    return rows.select_from(snooze).join(its, true()).outerjoin(send, is_send_of(snooze, send))
