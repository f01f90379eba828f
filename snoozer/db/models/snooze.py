"""A snooze, the sends of its reminders and its events; and the archive of what is finished, by month."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Snooze(Base):
    """One snoozed message (`email_snoozes`). docs/decisions explains `remind_at` and `scheduled_for`."""

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
    behind_key: Mapped[bool] = mapped_column(server_default=text("false"))
    reply_scope: Mapped[str | None]
    reply_since: Mapped[datetime | None]
    deferred_until: Mapped[datetime | None]
    deferred_by: Mapped[str | None]
    at_any_hour: Mapped[bool] = mapped_column(server_default=text("false"))
    paused_by: Mapped[int | None]
    reference: Mapped[str | None]

    __table_args__ = (
        CheckConstraint("priority BETWEEN -1000 AND 1000", "ck_email_snoozes_priority"),
        CheckConstraint("reply_policy IN ('keep', 'cancel_on_reply', 'until_reply')", "ck_email_snoozes_reply_policy"),
        CheckConstraint("reply_scope IN ('message', 'thread')", "ck_email_snoozes_reply_scope"),
        CheckConstraint("char_length(reference) <= 200", "ck_email_snoozes_reference"),
        Index("uq_email_snoozes_live", "user_email", "message_id", unique=True, postgresql_where=text("NOT inactive")),
        Index("ix_email_snoozes_due", "remind_at", postgresql_where=text("NOT inactive AND claimed_at IS NULL")),
        Index(
            "ix_email_snoozes_lane",
            "priority",
            text("LEAST(crash_count, 2)"),
            text("num_nonnulls(serialization_key)"),
            "remind_at",
            "id",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND NOT behind_key"),
        ),
        Index(
            "ix_email_snoozes_behind",
            "serialization_key",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND behind_key"),
        ),
        Index(
            "ix_email_snoozes_poison",
            "remind_at",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND NOT behind_key AND crash_count > 1"),
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
        Index(
            "ix_email_snoozes_put_back",
            "remind_at",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND scheduled_for IS NOT NULL"),
        ),
        Index(
            "ix_email_snoozes_exhausted",
            "remind_at",
            postgresql_where=text("NOT inactive AND claimed_at IS NULL AND attempts >= max_attempts"),
        ),
        Index("ix_email_snoozes_paused", "id", postgresql_where=text("inactive AND outcome IS NULL")),
        Index("ix_email_snoozes_claimed_by", "claimed_by", postgresql_where=text("claimed_at IS NOT NULL")),
        Index("ix_email_snoozes_of_person", "user_email", "outcome", "remind_at", "id"),
        Index(
            "ix_email_snoozes_of_message",
            "user_email",
            text("md5(message_id)"),
            "id",
            postgresql_where=text("inactive"),
        ),
        Index(
            "ix_email_snoozes_reply",
            "user_email",
            postgresql_where=text("NOT inactive AND reply_policy IN ('cancel_on_reply', 'until_reply')"),
        ),
        Index("ix_email_snoozes_paused_by", "paused_by", "id", postgresql_where=text("paused_by IS NOT NULL")),
        Index("ix_email_snoozes_cases", "finished_at", "id", postgresql_where=text("outcome = 'retired'")),
        Index(
            "ix_email_snoozes_case_errors",
            text("snooze_error_fingerprint(last_error)"),
            "finished_at",
            "id",
            postgresql_where=text("outcome = 'retired'"),
        ),
        Index(
            "ix_email_snoozes_case_classes",
            text("snooze_error_class(last_error)"),
            "finished_at",
            "id",
            postgresql_where=text("outcome = 'retired'"),
        ),
        Index(
            "ix_email_snoozes_case_domains",
            text("snooze_recipient_domain(user_email)"),
            "finished_at",
            "id",
            postgresql_where=text("outcome = 'retired'"),
        ),
        Index("ix_email_snoozes_case_messages", text("md5(message_id)"), postgresql_where=text("outcome = 'retired'")),
    )


# The channel of reminders; that of returns to the inbox is `mailbox`.
EMAIL = "email"


class Send(Base):
    """One promise and one channel (`reminder_sends`), and the state of that delivery: the reminder (`email`), or the
    return of the kept message to the inbox (`mailbox`)."""

    __tablename__ = "reminder_sends"
    id: Mapped[int] = mapped_column(primary_key=True)
    snooze_id: Mapped[int] = mapped_column(ForeignKey("email_snoozes.id", name="fk_reminder_sends_snooze"))
    user_email: Mapped[str]
    message_id: Mapped[str]
    scheduled_for: Mapped[datetime]
    channel: Mapped[str] = mapped_column(server_default="email")
    bucket: Mapped[int] = mapped_column(SmallInteger)
    reminder_message_id: Mapped[str | None]
    state: Mapped[str]
    claim_token: Mapped[UUID | None]
    subject: Mapped[str | None]
    sender_email: Mapped[str | None]
    note: Mapped[str | None]
    zone: Mapped[str]
    bytes_sha256: Mapped[str | None]
    smtp_code: Mapped[int | None] = mapped_column(Integer)
    enhanced_code: Mapped[str | None]
    reply: Mapped[str | None]
    queue_id: Mapped[str | None]
    resends: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    late: Mapped[bool] = mapped_column(server_default=text("false"))
    reserved_at: Mapped[datetime]
    dot_authorised_at: Mapped[datetime | None]
    uncertain_at: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    resolution: Mapped[str | None]
    resolved_by: Mapped[str | None]
    resolved_at: Mapped[datetime | None]
    looks: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    looked_at: Mapped[datetime | None]
    refusals: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    delayed_by: Mapped[str | None]
    locale: Mapped[str | None]
    late_from: Mapped[datetime | None]
    late_by: Mapped[timedelta | None]
    recipient: Mapped[str | None]

    __table_args__ = (
        UniqueConstraint("user_email", "message_id", "scheduled_for", "channel", name="uq_reminder_sends_promise"),
        UniqueConstraint("reminder_message_id", name="uq_reminder_sends_reminder_message_id"),
        Index("ix_reminder_sends_snooze", "snooze_id"),
        Index(
            "ix_reminder_sends_sent",
            "sent_at",
            postgresql_where=text("state = 'sent' AND channel = 'email'"),
        ),
        Index(
            "ix_reminder_sends_unsettled",
            "state",
            "dot_authorised_at",
            postgresql_where=text("state IN ('sending', 'uncertain')"),
        ),
    )


class Event(Base):
    """An event of a snooze: a failure, a recovery, an action of a person. Append-only; no addresses, no subjects."""

    __tablename__ = "snooze_events"
    id: Mapped[int] = mapped_column(primary_key=True)
    snooze_id: Mapped[int]
    at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    kind: Mapped[str]
    actor: Mapped[str]
    route: Mapped[str]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    token_id: Mapped[int | None]

    __table_args__ = (
        Index("ix_snooze_events_snooze", "snooze_id", "id"),
        Index(
            "uq_snooze_events_report",
            "snooze_id",
            "kind",
            text("(detail ->> 'promise')"),
            text("(detail ->> 'code')"),
            unique=True,
            postgresql_where=text("route = 'report'"),
        ),
        Index("ix_snooze_events_token", "token_id", "at", postgresql_where=text("token_id IS NOT NULL")),
    )


_BY_MONTH = "RANGE (finished_at)"


def _columns_of(model: Any) -> list[Column[Any]]:
    """The columns of a live table without defaults, keys and indexes."""
    return [
        Column(column.name, column.type, nullable=column.nullable and column.name != "finished_at")
        for column in model.__table__.columns
    ]


class ArchivedSnooze(Base):
    """A finished snooze with all its columns (`email_snoozes_archive`)."""

    __table__ = Table(
        "email_snoozes_archive",
        Base.metadata,
        *_columns_of(Snooze),
        PrimaryKeyConstraint("id", "finished_at"),
        Index("ix_email_snoozes_archive_person", "user_email", "id"),
        postgresql_partition_by=_BY_MONTH,
    )


class ArchivedSend(Base):
    """A reminder of a finished snooze (`reminder_sends_archive`); `finished_at` is the snooze's."""

    __table__ = Table(
        "reminder_sends_archive",
        Base.metadata,
        Column("finished_at", DateTime(timezone=True), nullable=False),
        *_columns_of(Send),
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
