"""Messages that Snoozer keeps, and messages in connected mailboxes that are or were snoozed."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Computed, ForeignKey, Index, and_, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class MailboxMessage(Base):
    """A message that can return to its inbox, at `returns_at`; None if it does not. `snooze_id` is the snooze that it
    was put away with last: its own, or that of another message of its conversation. Triggers keep both up to date. A
    rest of its owner defers the return to `deferred_until`.

    Without a `mailbox_id` Snoozer keeps it: `folder` is inbox, snoozed, done or reminders, and `surfaced_at` its place
    in the list. `snippet` is the beginning of its text, None until housekeeping has read it.

    In a connected mailbox `place` is where it is, `wanted` where it should be, and `moving_to` the intent of a move,
    written before the move. `home` is where it returns to, `aside` the other folder that its owner moved it to. If it
    does not return, only its reminder comes. `snoozed_with` is what the release before writes for `snooze_id`.
    """

    __tablename__ = "messages"
    id: Mapped[int] = mapped_column(primary_key=True)
    mailbox_id: Mapped[int | None] = mapped_column(
        ForeignKey("mailboxes.id", name="fk_messages_mailbox", ondelete="CASCADE")
    )
    is_kept: Mapped[bool] = mapped_column(Computed("mailbox_id IS NULL", persisted=True))
    user_email: Mapped[str]
    message_id: Mapped[str]
    thread_ids: Mapped[str | None]
    folder: Mapped[str]
    size: Mapped[int]
    arrived_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    updated_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    returns_at: Mapped[datetime | None]
    snooze_id: Mapped[int | None]
    deferred_until: Mapped[datetime | None]

    sha256: Mapped[str | None]
    subject: Mapped[str | None]
    sender_name: Mapped[str | None]
    sender_email: Mapped[str | None]
    sent_at: Mapped[datetime | None]
    snippet: Mapped[str | None]
    unread: Mapped[bool] = mapped_column(nullable=True)
    returned: Mapped[bool] = mapped_column(nullable=True)
    surfaced_at: Mapped[datetime | None]
    return_path: Mapped[str | None]

    header_id: Mapped[str | None]
    fingerprint: Mapped[str | None]
    internal_date: Mapped[datetime | None]
    returns: Mapped[bool] = mapped_column(server_default=text("true"))
    home: Mapped[str | None]
    aside: Mapped[str | None]
    place: Mapped[str | None]
    wanted: Mapped[str | None]
    uidvalidity: Mapped[int | None]
    uid: Mapped[int] = mapped_column(nullable=True)
    missing_since: Mapped[datetime | None]
    moving_to: Mapped[str | None]
    target_folder: Mapped[str | None]
    target_uidvalidity: Mapped[int | None]
    target_uidnext: Mapped[int | None]
    snoozed_with: Mapped[int | None]
    was_unread: Mapped[bool] = mapped_column(server_default=text("false"))

    __table_args__ = (
        Index("uq_messages_message", "user_email", "message_id", text("is_kept DESC"), unique=True),
        Index(
            "uq_messages_uid",
            *("mailbox_id", "folder", "uidvalidity", "uid"),
            unique=True,
            postgresql_where=text("mailbox_id IS NOT NULL"),
        ),
        Index(
            "ix_messages_returns",
            "is_kept",
            text("GREATEST(returns_at, deferred_until)"),
            postgresql_where=text("returns_at IS NOT NULL"),
        ),
        Index("ix_messages_snooze", "snooze_id", postgresql_where=text("snooze_id IS NOT NULL")),
        Index("ix_messages_work", "mailbox_id", postgresql_where=text("wanted <> place OR moving_to IS NOT NULL")),
        Index(
            "ix_messages_folder",
            *("user_email", "folder", "surfaced_at", "id"),
            postgresql_include=["unread"],
            postgresql_where=text("is_kept"),
        ),
        Index(
            "ix_messages_asleep",
            "user_email",
            text("COALESCE(GREATEST(returns_at, deferred_until), surfaced_at)"),
            "id",
            postgresql_where=text("is_kept AND folder = 'snoozed'"),
        ),
        Index(
            "ix_messages_back",
            *("user_email", "surfaced_at", "id"),
            postgresql_where=text("is_kept AND returned AND unread AND folder = 'inbox'"),
        ),
        Index("ix_messages_sha256", "user_email", "sha256", postgresql_where=text("is_kept")),
        Index("ix_messages_without_snippet", "id", postgresql_where=text("is_kept AND snippet IS NULL")),
    )


class MessageOriginal(Base):
    """The bytes of a kept message as they were received."""

    __tablename__ = "message_originals"
    id: Mapped[int] = mapped_column(
        ForeignKey("messages.id", name="fk_message_originals_message", ondelete="CASCADE"), primary_key=True
    )
    original: Mapped[bytes] = mapped_column(deferred=True)


def is_kept_by(user_email: str) -> ColumnElement[bool]:
    """Whether Snoozer keeps a message for this person."""
    return and_(MailboxMessage.is_kept, MailboxMessage.user_email == user_email)


def is_message_of(row: Any) -> ColumnElement[bool]:
    """Whether a message belongs to a snooze or a send; it may be kept here, in a connected mailbox, or both."""
    return and_(MailboxMessage.user_email == row.user_email, MailboxMessage.message_id == row.message_id)
