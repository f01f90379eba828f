"""Endpoints of webhooks, and the ledger of the events that are sent to them."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base

NOW = text("now()")
CLOCK = text("clock_timestamp()")
WAITING = text("state = 'waiting'")


class WebhookEndpoint(Base):
    """A person's URL to which events are posted, signed with `secret`, and with `previous_secret` too while it rotates;
    both are encrypted. `off_reason` is a code, None while the endpoint is on; `notice_at` is when to send the mail
    about the switch-off."""

    __tablename__ = "webhook_endpoints"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_webhook_endpoints_account", ondelete="CASCADE")
    )
    url: Mapped[str]
    events: Mapped[list[str]] = mapped_column(ARRAY(Text))
    shows_subject: Mapped[bool] = mapped_column(server_default=text("false"))
    secret: Mapped[bytes]
    previous_secret: Mapped[bytes | None]
    previous_until: Mapped[datetime | None]
    is_on: Mapped[bool] = mapped_column(server_default=text("true"))
    off_reason: Mapped[str | None]
    off_at: Mapped[datetime | None]
    notice_at: Mapped[datetime | None]
    failures: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    quiet_until: Mapped[datetime | None]
    turn_at: Mapped[datetime] = mapped_column(server_default=NOW)
    answer_ms: Mapped[int | None] = mapped_column(Integer)
    delivered_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        UniqueConstraint("account_id", "url", name="uq_webhook_endpoints_url"),
        Index("ix_webhook_endpoints_on", "turn_at", "id", postgresql_where=text("is_on")),
        Index("ix_webhook_endpoints_notice", "notice_at", postgresql_where=text("notice_at IS NOT NULL")),
    )


class WebhookDelivery(Base):
    """One event for one endpoint: waiting, delivered or failed. `number` is its id on the wire. A test event is of no
    snooze."""

    __tablename__ = "webhook_deliveries"
    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[UUID] = mapped_column(server_default=text("gen_random_uuid()"))
    endpoint_id: Mapped[int]
    account_id: Mapped[int]
    event: Mapped[str]
    snooze_id: Mapped[int | None]
    repeats: Mapped[bool] = mapped_column(server_default=text("false"))
    scheduled_for: Mapped[datetime | None]
    remind_at: Mapped[datetime | None]
    reference: Mapped[str | None]
    subject: Mapped[str | None]
    occurred_at: Mapped[datetime] = mapped_column(server_default=CLOCK)
    state: Mapped[str] = mapped_column(server_default="waiting")
    claim_token: Mapped[UUID | None]
    claimed_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    try_at: Mapped[datetime] = mapped_column(server_default=CLOCK)
    first_tried_at: Mapped[datetime | None]
    tried_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    status: Mapped[int | None] = mapped_column(Integer)
    reason: Mapped[str | None]
    answer: Mapped[str | None]
    answer_ms: Mapped[int | None] = mapped_column(Integer)

    __table_args__ = (
        UniqueConstraint("number", name="uq_webhook_deliveries_number"),
        Index(
            "uq_webhook_deliveries_due",
            "endpoint_id",
            "snooze_id",
            "scheduled_for",
            unique=True,
            postgresql_where=text("event = 'due'"),
        ),
        Index("ix_webhook_deliveries_waiting", "endpoint_id", "try_at", "id", postgresql_where=WAITING),
        Index("ix_webhook_deliveries_order", "endpoint_id", "snooze_id", "id", postgresql_where=WAITING),
        Index("ix_webhook_deliveries_claimed", "endpoint_id", postgresql_where=text("claim_token IS NOT NULL")),
        Index("ix_webhook_deliveries_try", "try_at", postgresql_where=WAITING),
        Index("ix_webhook_deliveries_endpoint", "endpoint_id", "id"),
        Index("ix_webhook_deliveries_account", "account_id"),
        Index("ix_webhook_deliveries_occurred", "occurred_at"),
    )
