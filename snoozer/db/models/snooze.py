from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, DateTime, Index, Integer, SmallInteger, func, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Snooze(Base):
    """One message put away (`email_snoozes`). See docs/decisions for `remind_at` against `scheduled_for`."""

    __tablename__ = "email_snoozes"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_email: Mapped[str]
    message_id: Mapped[str]
    subject: Mapped[str | None]
    sender_email: Mapped[str | None]
    remind_at: Mapped[datetime]
    snooze_duration_hours: Mapped[int | None] = mapped_column(Integer)
    claimed_at: Mapped[datetime | None]
    claimed_by: Mapped[str | None]
    claim_token: Mapped[UUID | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    max_attempts: Mapped[int] = mapped_column(Integer, server_default="5")
    inactive: Mapped[bool] = mapped_column(server_default=text("false"))
    last_error: Mapped[str | None]
    last_error_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    updated_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    scheduled_for: Mapped[datetime | None]
    outcome: Mapped[str | None]
    finished_at: Mapped[datetime | None]
    priority: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    crash_count: Mapped[int] = mapped_column(Integer, server_default="0")
    lease_expires_at: Mapped[datetime | None]
    bucket: Mapped[int] = mapped_column(SmallInteger)
    note: Mapped[str | None]
    recurrence: Mapped[dict[str, Any] | None]
    reply_policy: Mapped[str | None]
    mailbox: Mapped[str | None]
    origin_folder: Mapped[str | None]
    wall_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    zone: Mapped[str | None]
    time_kind: Mapped[str | None]
    traceparent: Mapped[str | None]
    serialization_key: Mapped[str | None]
    schema_version: Mapped[int] = mapped_column(SmallInteger, server_default="1")

    __table_args__ = (
        Index(
            "uq_email_snoozes_live",
            "user_email",
            "message_id",
            unique=True,
            postgresql_where=text("NOT inactive"),
        ),
        Index(
            "ix_email_snoozes_due",
            "remind_at",
            "id",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL"),
        ),
        Index(
            "ix_email_snoozes_lane",
            "priority",
            text("(crash_count > 0)"),
            "remind_at",
            "id",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL"),
        ),
        Index(
            "ix_email_snoozes_key",
            "serialization_key",
            "remind_at",
            "id",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND serialization_key IS NOT NULL"),
        ),
        Index(
            "uq_email_snoozes_in_flight",
            "serialization_key",
            unique=True,
            postgresql_where=text("claimed_at IS NOT NULL AND serialization_key IS NOT NULL"),
        ),
        Index("ix_email_snoozes_claimed_by", "claimed_by", postgresql_where=text("claimed_at IS NOT NULL")),
        Index("ix_email_snoozes_of_person", "user_email", "outcome", "remind_at", "id"),
        Index("ix_email_snoozes_cases", "finished_at", "id", postgresql_where=text("outcome = 'retired'")),
    )


def promised_time(snooze: Any = Snooze) -> ColumnElement[datetime]:
    """What the person was promised, of a row that was never claimed too (docs/decisions/0001); living or archived."""
    promise: ColumnElement[datetime] = func.coalesce(snooze.scheduled_for, snooze.remind_at)
    return promise
