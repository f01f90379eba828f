"""What a person's programs see of their snoozes. Somebody else's are never found.

Lists go by id, newest first: it never changes, so no row is skipped or told twice however often `remind_at` moves
between two pages.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, not_, select, true

from snoozer.db.models import ArchivedSend, ArchivedSnooze, MailboxMessage, Send, Snooze, promised_time
from snoozer.db.queries import Cursor, Found, Page, make_page
from snoozer.domain.state import State

# An index in the order of ids knows no persons: for somebody whose rows are old it reads everybody's newer ones.
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
    """The person's snoozes, newest first, those in one state only if it is given.

    Their ids are sorted as an index has them, and only rows of this page are read.
    """
    mine = select(_number).where(Snooze.user_email == user_email)
    if state is not None:
        mine = mine.where(_may_be(state, now=now))
    if after is not None:
        mine = mine.where(Snooze.id + 0 < after.id)
    ids = mine.order_by(_number.desc()).subquery()
    found = _rows().where(Snooze.id == ids.c.number)
    if state is not None:
        found = found.where(_is(state, now=now))
    row = found.limit(1).lateral()
    rows = select(row).select_from(ids.join(row, true())).order_by(ids.c.number.desc()).limit(size + 1)
    return make_page(connection.execute(rows).all(), size=size, at=lambda row: row.created_at)


def one(connection: Connection, *, id: int, user_email: str, changing: bool = False) -> Found | None:
    """One snooze of this person, archived or not; with `changing`, others who change it wait until this transaction
    ends. What is archived does not change any more.
    """
    row = _rows().where(Snooze.id == id, Snooze.user_email == user_email)
    if changing:
        row = row.with_for_update(key_share=True, of=Snooze)
    found = connection.execute(row).first()
    if found is not None:
        return found
    archived = ArchivedSnooze.__table__.c
    return connection.execute(
        _rows(ArchivedSnooze, ArchivedSend).where(archived.id == id, archived.user_email == user_email)
    ).first()


def envelope(connection: Connection, *, user_email: str, message_id: str) -> tuple[str | None, str | None]:
    """Subject and sender of a message that Snoozer keeps for this person; None twice when it does not."""
    kept = connection.execute(
        select(MailboxMessage.subject, MailboxMessage.sender_email).where(
            MailboxMessage.user_email == user_email, MailboxMessage.message_id == message_id
        )
    ).first()
    return (None, None) if kept is None else (kept.subject, kept.sender_email)


def _rows(snooze: Any = Snooze, send: Any = Send) -> Select[*tuple[Any, ...]]:
    """A snooze and the ledger's word on its promise, from the living tables or from the archive's."""
    promise = promised_time(snooze)
    return select(
        snooze.id,
        snooze.message_id,
        snooze.subject,
        snooze.sender_email,
        snooze.note,
        snooze.remind_at,
        promise.label("promise"),
        snooze.snooze_duration_hours.label("duration_hours"),
        snooze.zone,
        snooze.wall_time,
        snooze.time_kind,
        snooze.recurrence,
        snooze.inactive,
        snooze.outcome,
        snooze.claimed_at,
        snooze.attempts,
        snooze.last_error,
        snooze.last_error_at,
        snooze.created_at,
        send.sent_at,
    ).join(
        send,
        and_(
            send.user_email == snooze.user_email,
            send.message_id == snooze.message_id,
            send.scheduled_for == promise,
        ),
        isouter=True,
    )


def _may_be(state: State, *, now: datetime) -> ColumnElement[bool]:
    """As much of `_is` as an index can tell."""
    match state:
        case "asleep":
            return and_(Snooze.outcome.is_(None), Snooze.remind_at > now)
        case "due" | "claimed":  # Nothing is claimed before its time.
            return and_(Snooze.outcome.is_(None), Snooze.remind_at <= now)
        case "paused":
            return Snooze.outcome.is_(None)
        case _:
            return Snooze.outcome == state


def _is(state: State, *, now: datetime) -> ColumnElement[bool]:
    """The same words as domain.state.state_of, as a condition."""
    waiting = and_(not_(Snooze.inactive), Snooze.claimed_at.is_(None))
    match state:
        case "asleep":
            return and_(waiting, Snooze.remind_at > now)
        case "due":
            return and_(waiting, Snooze.remind_at <= now)
        case "claimed":
            return and_(not_(Snooze.inactive), Snooze.claimed_at.is_not(None))
        case "paused":
            return and_(Snooze.inactive, Snooze.outcome.is_(None))
        case _:
            return Snooze.outcome == state
