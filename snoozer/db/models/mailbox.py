from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base

NOW = text("clock_timestamp()")


class MailboxMessage(Base):
    """A message in the mailbox that Snoozer keeps; `original` is what came over the wire, byte for byte."""

    __tablename__ = "kept_messages"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_email: Mapped[str]
    message_id: Mapped[str]
    original: Mapped[bytes] = mapped_column(deferred=True)
    sha256: Mapped[str]
    subject: Mapped[str | None]
    sender_name: Mapped[str | None]
    sender_email: Mapped[str | None]
    sent_at: Mapped[datetime | None]
    folder: Mapped[str] = mapped_column(server_default="inbox")
    unread: Mapped[bool] = mapped_column(server_default=text("true"))
    arrived_at: Mapped[datetime] = mapped_column(server_default=NOW)
    surfaced_at: Mapped[datetime] = mapped_column(server_default=NOW)
    returned: Mapped[bool] = mapped_column(server_default=text("false"))

    __table_args__ = (
        UniqueConstraint("user_email", "message_id", name="uq_kept_messages_message"),
        Index("ix_kept_messages_sha256", "user_email", "sha256"),
        Index("ix_kept_messages_folder", "user_email", "folder", "surfaced_at", "id", postgresql_include=["unread"]),
    )


class CapturedMail(Base):
    """What the mail sink of `snoozer up` accepted."""

    __tablename__ = "sink_messages"

    id: Mapped[int] = mapped_column(primary_key=True)
    received_at: Mapped[datetime] = mapped_column(server_default=NOW)
    mail_from: Mapped[str]
    rcpt_to: Mapped[str]
    original: Mapped[bytes] = mapped_column(deferred=True)

    __table_args__ = (Index("ix_sink_messages_rcpt_to", "rcpt_to", "id"),)
