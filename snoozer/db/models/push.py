"""Devices that get pushes, the keys that sign those, and their ledger."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base

NOW = text("now()")
CLOCK = text("clock_timestamp()")


class PushKey(Base):
    """A pair of keys that signs pushes (VAPID, RFC 8292). `private_key` is encrypted."""

    __tablename__ = "push_keys"
    id: Mapped[int] = mapped_column(primary_key=True)
    public_key: Mapped[bytes]
    private_key: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class PushDevice(Base):
    """A browser that gets pushes (RFC 8030), or a `service` such as ntfy, whose `address` is encrypted. `endpoint` is a
    browser's address at a push service; pushes are encrypted for it with `public_key` and `auth_secret` (RFC 8291).
    `problem` is a code, None while it works. A service of an operator may get alarms (`tells_alarms`)."""

    __tablename__ = "push_devices"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_push_devices_account", ondelete="CASCADE")
    )
    key_id: Mapped[int | None] = mapped_column(ForeignKey("push_keys.id", name="fk_push_devices_key"))
    name: Mapped[str]
    endpoint: Mapped[str | None]
    public_key: Mapped[bytes | None]
    auth_secret: Mapped[bytes | None]
    service: Mapped[str | None]
    address: Mapped[bytes | None]
    shows_subject: Mapped[bool] = mapped_column(server_default=text("false"))
    tells_alarms: Mapped[bool] = mapped_column(server_default=text("false"))
    problem: Mapped[str | None]
    failures: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    quiet_until: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        UniqueConstraint("endpoint", name="uq_push_devices_endpoint"),
        Index("ix_push_devices_account", "account_id"),
    )


class PushSend(Base):
    """One push of one promise to one device: reserved, sending, sent, failed or uncertain. A test and an alarm have no
    snooze."""

    __tablename__ = "push_sends"
    id: Mapped[int] = mapped_column(primary_key=True)
    device_id: Mapped[int]
    account_id: Mapped[int]
    snooze_id: Mapped[int | None]
    alarm_id: Mapped[int | None]
    alarm_ended: Mapped[bool | None]
    remote_id: Mapped[str | None]
    withdraws: Mapped[int | None]
    scheduled_for: Mapped[datetime]
    state: Mapped[str] = mapped_column(server_default="reserved")
    claim_token: Mapped[UUID | None]
    claimed_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    try_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime] = mapped_column(server_default=CLOCK)
    marked_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    status: Mapped[int | None] = mapped_column(Integer)
    reason: Mapped[str | None]

    __table_args__ = (
        UniqueConstraint("device_id", "snooze_id", "scheduled_for", name="uq_push_sends_promise"),
        UniqueConstraint("device_id", "alarm_id", "alarm_ended", name="uq_push_sends_alarm"),
        UniqueConstraint("withdraws", name="uq_push_sends_withdraws"),
        Index("ix_push_sends_remote", "account_id", postgresql_where=text("remote_id IS NOT NULL")),
        Index(
            "uq_push_sends_test",
            "device_id",
            unique=True,
            postgresql_where=text(
                "snooze_id IS NULL AND alarm_id IS NULL AND withdraws IS NULL AND state IN ('reserved', 'sending')"
            ),
        ),
        Index("ix_push_sends_due", "try_at", "id", postgresql_where=text("state = 'reserved'")),
        Index("ix_push_sends_open", "id", postgresql_where=text("state IN ('reserved', 'sending')")),
        Index("ix_push_sends_claimed", "claimed_until", postgresql_where=text("claimed_until IS NOT NULL")),
        Index("ix_push_sends_created", "created_at"),
        Index("ix_push_sends_account", "account_id"),
    )


class Alarm(Base):
    """A trouble of the installation: operators get a push when it begins, and when it has ended."""

    __tablename__ = "alarms"
    id: Mapped[int] = mapped_column(primary_key=True)
    sentence: Mapped[str]
    began_at: Mapped[datetime] = mapped_column(server_default=CLOCK)
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_alarms_open", text("(ended_at IS NULL)"), unique=True, postgresql_where=text("ended_at IS NULL")),
    )
