"""Digests: reminders that list other promises in addition to their own."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, SmallInteger, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Digest(Base):
    """The reminder of this promise lists others."""

    __tablename__ = "digests"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_digests_account", ondelete="CASCADE"))
    snooze_id: Mapped[int]
    scheduled_for: Mapped[datetime]
    gathered_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    settled_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("snooze_id", "scheduled_for", name="uq_digests_promise"),
        Index("ix_digests_account", "account_id"),
        Index("ix_digests_gathered", "gathered_at"),
        Index("ix_digests_open", "gathered_at", postgresql_where=text("settled_at IS NULL")),
    )


class DigestMember(Base):
    """A promise that a digest lists, at its place."""

    __tablename__ = "digest_members"
    digest_id: Mapped[int] = mapped_column(
        ForeignKey("digests.id", name="fk_digest_members_digest", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    snooze_id: Mapped[int]
    scheduled_for: Mapped[datetime]

    __table_args__ = (UniqueConstraint("snooze_id", "scheduled_for", name="uq_digest_members_promise"),)
