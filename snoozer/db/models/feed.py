"""Feeds of people."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class StoredFeed(Base):
    """A URL with a secret, from which a person's calendar or feed reader reads the person's snoozes."""

    __tablename__ = "feeds"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_feeds_account", ondelete="CASCADE"))
    kind: Mapped[str]
    name: Mapped[str]
    shows_subject: Mapped[bool] = mapped_column(server_default=text("true"))
    secret_hash: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    used_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("secret_hash", name="uq_feeds_secret_hash"),
        Index("ix_feeds_account", "account_id"),
    )
