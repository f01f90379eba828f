from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Send(Base):
    """One reminder for one promise (`reminder_sends`), and what is known of its delivery."""

    __tablename__ = "reminder_sends"

    id: Mapped[int] = mapped_column(primary_key=True)
    snooze_id: Mapped[int] = mapped_column(ForeignKey("email_snoozes.id", name="fk_reminder_sends_snooze"))
    user_email: Mapped[str]
    message_id: Mapped[str]
    scheduled_for: Mapped[datetime]
    channel: Mapped[str] = mapped_column(server_default="email")
    bucket: Mapped[int] = mapped_column(SmallInteger)
    reminder_message_id: Mapped[str]
    state: Mapped[str]
    claim_token: Mapped[UUID]
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

    __table_args__ = (
        UniqueConstraint("user_email", "message_id", "scheduled_for", "channel", name="uq_reminder_sends_promise"),
        UniqueConstraint("reminder_message_id", name="uq_reminder_sends_reminder_message_id"),
        Index("ix_reminder_sends_snooze", "snooze_id"),
        Index(
            "ix_reminder_sends_unsettled",
            "state",
            "dot_authorised_at",
            postgresql_where=text("state IN ('sending', 'uncertain')"),
        ),
    )
