"""What a person's programs see of their snoozes. Somebody else's are never found.

Lists go by (created_at, id), newest first: neither ever changes, so no row is skipped or told twice however often
`remind_at` moves between two pages.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, not_, select, tuple_

from snoozer.domain.state import State
from snoozer.postgres.models import KeptMessage, Send, Snooze
from snoozer.postgres.pages import Cursor, Page, page_of

Found = Row[*tuple[Any, ...]]


def browse(
    connection: Connection,
    *,
    user_email: str,
    now: datetime,
    state: State | None = None,
    after: Cursor | None = None,
    size: int = 50,
) -> Page[Found]:
    """The person's snoozes, newest first, those in one state only if it is given."""
    rows = _rows().where(Snooze.user_email == user_email)
    if state is not None:
        rows = rows.where(_is(state, now=now))
    if after is not None:
        rows = rows.where(tuple_(Snooze.created_at, Snooze.id) < (after.at, after.id))
    rows = rows.order_by(Snooze.created_at.desc(), Snooze.id.desc()).limit(size + 1)
    return page_of(connection.execute(rows).all(), size=size, at=lambda row: row.created_at)


def one(connection: Connection, *, id: int, user_email: str, changing: bool = False) -> Found | None:
    """One snooze of this person; with `changing`, others who change it wait until this transaction ends."""
    row = _rows().where(Snooze.id == id, Snooze.user_email == user_email)
    if changing:
        row = row.with_for_update(key_share=True, of=Snooze)
    return connection.execute(row).first()


def sends(connection: Connection, *, id: int) -> Sequence[Found]:
    """What the ledger says of one snooze's reminders, the newest promise first."""
    rows = (
        select(Send.state, Send.scheduled_for, Send.sent_at, Send.late, Send.resends, Send.reminder_message_id)
        .where(Send.snooze_id == id)
        .order_by(Send.scheduled_for.desc(), Send.id.desc())
        .limit(50)
    )
    return connection.execute(rows).all()


def envelope(connection: Connection, *, user_email: str, message_id: str) -> tuple[str | None, str | None]:
    """Subject and sender of a message that Snoozer keeps for this person; None twice when it does not."""
    kept = connection.execute(
        select(KeptMessage.subject, KeptMessage.sender_email).where(
            KeptMessage.user_email == user_email, KeptMessage.message_id == message_id
        )
    ).first()
    return (None, None) if kept is None else (kept.subject, kept.sender_email)


def _rows() -> Select[*tuple[Any, ...]]:
    promise = func.coalesce(Snooze.scheduled_for, Snooze.remind_at)
    return select(
        Snooze.id,
        Snooze.message_id,
        Snooze.subject,
        Snooze.sender_email,
        Snooze.note,
        Snooze.remind_at,
        promise.label("promise"),
        Snooze.snooze_duration_hours.label("duration_hours"),
        Snooze.zone,
        Snooze.wall_time,
        Snooze.time_kind,
        Snooze.inactive,
        Snooze.outcome,
        Snooze.claimed_at,
        Snooze.attempts,
        Snooze.last_error,
        Snooze.last_error_at,
        Snooze.created_at,
        Send.sent_at,
    ).join(
        Send,
        and_(
            Send.user_email == Snooze.user_email,
            Send.message_id == Snooze.message_id,
            Send.scheduled_for == promise,
        ),
        isouter=True,
    )


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
