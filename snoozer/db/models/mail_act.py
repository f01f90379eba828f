"""Mails that acted, and the mails that answer them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class MailAct(Base):
    """A mail by which a person acts; `sha256` is of the mail and of the address that it came to. Its answer is `due_at`
    until it was sent: `words` are the parts of its text, about the occurrence of `snooze_id` at `scheduled_for`."""

    __tablename__ = "mail_acts"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_mail_acts_account", ondelete="CASCADE"))
    sha256: Mapped[str]
    received_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    understood: Mapped[bool] = mapped_column(server_default=text("false"))
    message_id: Mapped[str | None]
    snooze_id: Mapped[int | None]
    scheduled_for: Mapped[datetime | None]
    words: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    due_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("account_id", "sha256", name="uq_mail_acts_mail"),
        Index("ix_mail_acts_received", "received_at"),
        Index("ix_mail_acts_due", "due_at", "id", postgresql_where=text("due_at IS NOT NULL")),
    )
