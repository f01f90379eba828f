"""Messages that are back: when each was due, and when it came back."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, DateTime, ScalarSelect, cast, exists, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from snoozer.db.models import Event, MailboxMessage, Send, ServerStart, Snooze, is_message_of
from snoozer.db.queries import columns


@dataclass(frozen=True, kw_only=True)
class Return:
    """The last return of a message: when it was due, and when it came. `note` is its owner's note. `is_kept` is True
    for a message in the mailbox that Snoozer keeps, `database_was_away` if the database did not run when it was due;
    `delayed_by` is what delayed it in a connected mailbox."""

    note: str | None
    due: datetime
    at: datetime
    is_kept: bool
    database_was_away: bool
    delayed_by: str | None

    @property
    def late(self) -> timedelta:
        return self.at - self.due


def last_returns(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> dict[str, Return]:
    """By message, except archived ones."""
    if not message_ids:
        return {}
    kept = exists().where(is_message_of(Send), MailboxMessage.is_kept)
    due = func.greatest(Send.scheduled_for, _deferral())
    away = exists().where(ServerStart.met_at > due, ServerStart.met_at <= Send.sent_at)
    rows = connection.execute(
        select(
            *columns(Send, "message_id sent_at delayed_by"),
            due.label("due"),
            Snooze.note,
            kept.label("kept"),
            away.label("away"),
        )
        .ext(distinct_on(Send.message_id))
        .join(Snooze, Snooze.id == Send.snooze_id)
        .where(
            Send.user_email == user_email,
            Send.message_id.in_(message_ids),
            Send.channel == "mailbox",
            Send.sent_at.is_not(None),
        )
        .order_by(Send.message_id, Send.sent_at.desc())
    )
    return {
        row.message_id: Return(
            note=row.note,
            due=row.due,
            at=row.sent_at,
            is_kept=row.kept,
            database_was_away=row.away,
            delayed_by=row.delayed_by,
        )
        for row in rows
    }


def _deferral() -> ScalarSelect[Any]:
    """The end of the last rest that deferred this return. The snooze itself may promise its next occurrence by now."""
    until = cast(Event.detail["until"].astext, DateTime(timezone=True))
    ends = select(func.max(until)).where(
        Event.snooze_id == Send.snooze_id,
        Event.kind == "deferred",
        Event.at >= Send.scheduled_for,
        until <= Send.sent_at,
    )
    return ends.scalar_subquery()
