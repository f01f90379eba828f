"""Mailboxes that people connect, and where the messages of their snoozes are in them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base

NOW = text("now()")


class ConnectedMailbox(Base):
    """A mailbox at a server of its owner's. `secret` is the encrypted password, or the refresh token if `login_method`
    names a provider; `problem` is a code, None while it works.

    `owner` is the process that may change it until `owned_until`; `fence` grows with each change of owners. Its inbox
    was read for replies up to `replies_uidnext`. `brings_back` is what its owner wants at the time of a snooze: the
    message back (return), a reminder, or both; with `reads_asleep` it is marked as read while it sleeps. Messages in
    the inbox that get `snooze_flag` are snoozed to `snooze_flag_time`.
    """

    __tablename__ = "mailboxes"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_mailboxes_account", ondelete="CASCADE"))
    address: Mapped[str]
    host: Mapped[str]
    port: Mapped[int] = mapped_column(Integer)
    security: Mapped[str]
    username: Mapped[str]
    login_method: Mapped[str] = mapped_column(server_default="password")
    secret: Mapped[bytes] = mapped_column(deferred=True)
    state: Mapped[str] = mapped_column(server_default="active")
    problem: Mapped[str | None]
    problem_since: Mapped[datetime | None]
    brings_back: Mapped[str] = mapped_column(server_default="both")
    reads_asleep: Mapped[bool] = mapped_column(server_default=text("false"))
    snooze_flag: Mapped[str | None]
    snooze_flag_time: Mapped[str | None]
    flagged_noted_at: Mapped[datetime | None]
    flagged_uidvalidity: Mapped[int | None]
    synced_at: Mapped[datetime | None]
    tried_at: Mapped[datetime | None]
    owner: Mapped[str | None]
    owned_until: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(server_default=text("0"))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    replies_uidvalidity: Mapped[int | None]
    replies_uidnext: Mapped[int | None]
    replies_read_at: Mapped[datetime | None]

    __table_args__ = (UniqueConstraint("account_id", "host", "username", name="uq_mailboxes_login"),)


class MailboxSignIn(Base):
    """A sign-in at a mail provider that has begun, in the session of `session_hash`. `verifier` is encrypted."""

    __tablename__ = "mailbox_sign_ins"
    state_hash: Mapped[str] = mapped_column(primary_key=True)
    session_hash: Mapped[str]
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_mailbox_sign_ins_account", ondelete="CASCADE")
    )
    mailbox_id: Mapped[int | None] = mapped_column(
        ForeignKey("mailboxes.id", name="fk_mailbox_sign_ins_mailbox", ondelete="CASCADE")
    )
    provider: Mapped[str]
    address: Mapped[str]
    verifier: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        Index("ix_mailbox_sign_ins_account", "account_id"),
        Index("ix_mailbox_sign_ins_mailbox", "mailbox_id"),
        Index("ix_mailbox_sign_ins_created", "created_at"),
    )


class MailboxWatcher(Base):
    """A process that watches mailboxes; each run has another id."""

    __tablename__ = "mailbox_watchers"
    id: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[datetime] = mapped_column(server_default=NOW)


class FlaggedMessage(Base):
    """A message in the inbox of a mailbox that carried the snooze flag when that was chosen, or when the message came
    back: it is left alone. UIDs belong to the mailbox's `flagged_uidvalidity`."""

    __tablename__ = "mailbox_flagged"
    mailbox_id: Mapped[int] = mapped_column(
        ForeignKey("mailboxes.id", name="fk_mailbox_flagged_mailbox", ondelete="CASCADE"), primary_key=True
    )
    uid: Mapped[int] = mapped_column(primary_key=True)


class MailboxSearch(Base):
    """The message of a snooze is to be searched for in a mailbox; `found` is how many there are, None until then, and
    `seen` where the only one is. If it is `whole`, older messages of its conversation leave with it."""

    __tablename__ = "mailbox_searches"
    mailbox_id: Mapped[int] = mapped_column(
        ForeignKey("mailboxes.id", name="fk_mailbox_searches_mailbox", ondelete="CASCADE"), primary_key=True
    )
    snooze_id: Mapped[int] = mapped_column(primary_key=True)
    entered_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    found: Mapped[int | None] = mapped_column(SmallInteger)
    seen: Mapped[list[Any] | None] = mapped_column(JSONB)
    whole: Mapped[bool] = mapped_column(server_default=text("true"))

    __table_args__ = (Index("ix_mailbox_searches_snooze", "snooze_id"),)
