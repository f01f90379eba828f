"""What is over: the same columns as in `Snooze` and `Send`, in partitions by the month of the snooze's end."""

from typing import Any

from sqlalchemy import Column, DateTime, Index, PrimaryKeyConstraint, text
from sqlalchemy import Table as Columns

from snoozer.db.models.base import Base
from snoozer.db.models.event import Event
from snoozer.db.models.send import Send
from snoozer.db.models.snooze import Snooze

_BY_MONTH = "RANGE (finished_at)"


def _as_it_was(living: Any) -> list[Column[Any]]:
    """The columns of a living row without what made it: defaults, keys, indexes. Here everything is finished."""
    return [
        Column(column.name, column.type, nullable=column.nullable and column.name != "finished_at")
        for column in living.__table__.columns
    ]


class ArchivedSnooze(Base):
    """A finished snooze as it was (`email_snoozes_archive`)."""

    __table__ = Columns(
        "email_snoozes_archive",
        Base.metadata,
        *_as_it_was(Snooze),
        PrimaryKeyConstraint("id", "finished_at"),
        postgresql_partition_by=_BY_MONTH,
    )


class ArchivedSend(Base):
    """A reminder of a finished snooze (`reminder_sends_archive`); `finished_at` is the snooze's."""

    __table__ = Columns(
        "reminder_sends_archive",
        Base.metadata,
        Column("finished_at", DateTime(timezone=True), nullable=False),
        *_as_it_was(Send),
        PrimaryKeyConstraint("id", "finished_at"),
        Index("ix_reminder_sends_archive_snooze", "snooze_id"),
        Index("ix_reminder_sends_archive_promise", "user_email", "message_id", "scheduled_for"),
        postgresql_partition_by=_BY_MONTH,
    )


Index(
    "ix_email_snoozes_finished",
    Snooze.finished_at,
    Snooze.id,
    postgresql_where=text("outcome IN ('sent', 'cancelled')"),
)
Index("ix_snooze_events_at", Event.at, postgresql_using="brin")
