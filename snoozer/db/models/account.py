from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Text,
    UniqueConstraint,
    case,
    func,
    text,
)
from sqlalchemy.orm import Mapped, column_property, mapped_column

from snoozer.db import roles
from snoozer.db.models.base import Base
from snoozer.db.roles import GROUP_ROLE_LIFETIME, Role
from snoozer.db.scopes import ALL_SCOPES

NOW = text("now()")
NEW_MAIL_KEY = text("substr(replace((gen_random_uuid())::text, '-'::text, ''::text), 1, 20)")


class Account(Base):
    """A person. `email` is lower case; reminders go to it only once it is verified. `browsers_forgotten` counts how
    often the person signed out everywhere. A command or an admin sets `given_role`. The groups that the organisation's
    provider named at the last sign-in there set `group_role`, which is None once that is GROUP_ROLE_LIFETIME ago.
    Mail to an address with the `mail_key` acts for the person."""

    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    given_role: Mapped[str] = mapped_column("role", server_default="user")
    zone: Mapped[str] = mapped_column(server_default="UTC")
    locale: Mapped[str] = mapped_column(server_default="en_GB")
    verified_at: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]
    zone_chosen: Mapped[bool] = mapped_column(server_default=text("false"))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    browsers_forgotten: Mapped[int] = mapped_column(Integer, server_default="0")
    stored_group_role: Mapped[str | None] = mapped_column("group_role", Text)
    group_role_at: Mapped[datetime | None] = mapped_column()
    group_role: Mapped[str | None] = column_property(
        case((group_role_at > func.clock_timestamp() - GROUP_ROLE_LIFETIME, stored_group_role))
    )
    signed_in_at: Mapped[datetime | None]
    mail_key: Mapped[str] = mapped_column(server_default=NEW_MAIL_KEY)

    __table_args__ = (
        UniqueConstraint("email", name="uq_accounts_email"),
        UniqueConstraint("mail_key", name="uq_accounts_mail_key"),
    )

    @property
    def role(self) -> Role:
        """The higher of the two roles."""
        return roles.higher(self.given_role, self.group_role)

    def may(self, act: str) -> bool:
        """Whether this person's role includes an act of `domain.roles.LEAST_ROLE`."""
        return roles.may(self.role, act)


class OwnAddress(Base):
    """A verified address of a person in addition to that of the account. If it `gets_mail`, their mail goes there."""

    __tablename__ = "account_addresses"
    email: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_account_addresses_account", ondelete="CASCADE")
    )
    gets_mail: Mapped[bool] = mapped_column(server_default=text("false"))
    verified_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))

    __table_args__ = (
        Index("ix_account_addresses_account", "account_id"),
        Index("uq_account_addresses_gets_mail", "account_id", unique=True, postgresql_where=text("gets_mail")),
    )


class SignIn(Base):
    """One mailed sign-in link with its typed code; single use, ten minutes, bound to the browser that requested it.
    Without an account it was not mailed, and cannot be used. With an `address` its code does not sign in: it verifies
    that address for the account."""

    __tablename__ = "sign_ins"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int | None] = mapped_column(
        ForeignKey("accounts.id", name="fk_sign_ins_account", ondelete="CASCADE")
    )
    token_hash: Mapped[str]
    code_hash: Mapped[str | None]
    browser_hash: Mapped[str | None]
    code_tries: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    known_hash: Mapped[str | None]
    email_hash: Mapped[str | None]
    address: Mapped[str | None]

    __table_args__ = (
        UniqueConstraint("token_hash", name="uq_sign_ins_token_hash"),
        Index("ix_sign_ins_email", "email_hash", "created_at"),
        Index("ix_sign_ins_account", "account_id", "created_at"),
        Index("ix_sign_ins_browser", "browser_hash", postgresql_where=text("used_at IS NULL")),
    )


class Session(Base):
    """A signed-in browser; `device` is its family and system in words."""

    __tablename__ = "sessions"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_sessions_account", ondelete="CASCADE"))
    token_hash: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    seen_at: Mapped[datetime] = mapped_column(server_default=NOW)
    expires_at: Mapped[datetime]
    device: Mapped[str | None]
    confirmed_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("token_hash", name="uq_sessions_token_hash"),
        Index("ix_sessions_account", "account_id"),
    )


class Identity(Base):
    """A person's identity at an organisation's provider: the issuer and its subject."""

    __tablename__ = "account_identities"
    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_account_identities_account", ondelete="CASCADE")
    )
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (Index("ix_account_identities_account", "account_id"),)


class ApiToken(Base):
    """A token of a person's program, sent as `Authorization: Bearer`. `scopes` are listed in domain.scopes."""

    __tablename__ = "api_tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_api_tokens_account", ondelete="CASCADE"))
    token_hash: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    revoked_at: Mapped[datetime | None]
    name: Mapped[str] = mapped_column(server_default="")
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=f"{{{','.join(ALL_SCOPES)}}}")
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("token_hash", name="uq_api_tokens_token_hash"),
        Index("ix_api_tokens_account", "account_id"),
    )


class IdempotencyKey(Base):
    """The first response to a request, returned again when the request is repeated."""

    __tablename__ = "idempotency_keys"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_idempotency_keys_account", ondelete="CASCADE"), primary_key=True
    )
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    status: Mapped[int] = mapped_column(SmallInteger)
    body: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (Index("ix_idempotency_keys_created_at", "created_at"),)


class QuotaUsage(Base):
    """How much a subject (a hash) used of a quota in one period."""

    __tablename__ = "quota_usage"
    quota: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    period_start: Mapped[datetime] = mapped_column(primary_key=True)
    amount: Mapped[int] = mapped_column(BigInteger)

    __table_args__ = (Index("ix_quota_usage_period_start", "period_start"), {"prefixes": ["UNLOGGED"]})


class BulkAct(Base):
    """An act on many messages, kept for a day: `result` is its result, `before` the changed rows as they were."""

    __tablename__ = "bulk_acts"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_bulk_acts_account", ondelete="CASCADE"), primary_key=True
    )
    id: Mapped[UUID] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    result: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    before: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    undone_at: Mapped[datetime | None]

    __table_args__ = (Index("ix_bulk_acts_created_at", "created_at"),)


class UserPreset(Base):
    """A preset of a person; without any, the language's defaults are offered."""

    __tablename__ = "account_presets"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_account_presets_account", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    label: Mapped[str]
    phrase: Mapped[str]


class TypedPhrase(Base):
    """A phrase that a person typed recently."""

    __tablename__ = "account_phrases"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_account_phrases_account", ondelete="CASCADE"), primary_key=True
    )
    phrase: Mapped[str] = mapped_column(primary_key=True)
    used_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))

    __table_args__ = (Index("ix_account_phrases_used_at", "account_id", "used_at"),)


class CapturedMail(Base):
    """A message that the mail sink of `snoozer up` accepted."""

    __tablename__ = "sink_messages"
    id: Mapped[int] = mapped_column(primary_key=True)
    received_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    mail_from: Mapped[str]
    rcpt_to: Mapped[str]
    original: Mapped[bytes] = mapped_column(deferred=True)

    __table_args__ = (Index("ix_sink_messages_rcpt_to", "rcpt_to", "id"),)
