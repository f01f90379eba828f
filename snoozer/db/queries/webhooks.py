"""A person's endpoints of webhooks, and their deliveries. No secret is read."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from snoozer.db.models import WebhookDelivery, WebhookEndpoint
from snoozer.db.queries import Found, columns

_ENDPOINT = (
    "id url events shows_subject previous_until is_on off_reason off_at failures quiet_until delivered_at created_at"
)
_DELIVERY = (
    "id number endpoint_id event snooze_id repeats scheduled_for remind_at reference subject occurred_at state "
    "attempts try_at tried_at finished_at status reason answer answer_ms"
)


def of_account(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All endpoints of a person, the first one first."""
    shown = select(*columns(WebhookEndpoint, _ENDPOINT)).where(WebhookEndpoint.account_id == account_id)
    return connection.execute(shown.order_by(WebhookEndpoint.id)).all()


def endpoint(connection: Connection, *, id: int, account_id: int) -> Found | None:
    """One endpoint; None if this person has no such endpoint."""
    shown = select(*columns(WebhookEndpoint, _ENDPOINT))
    return connection.execute(shown.where(WebhookEndpoint.id == id, WebhookEndpoint.account_id == account_id)).first()


def off(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """Endpoints of a person that were switched off by Snoozer, not by the person."""
    shown = select(*columns(WebhookEndpoint, "id url off_reason off_at"))
    mine = shown.where(WebhookEndpoint.account_id == account_id, WebhookEndpoint.off_reason != "owner")
    return connection.execute(mine.order_by(WebhookEndpoint.id)).all()


def deliveries(connection: Connection, *, endpoint_id: int, before: int | None, size: int) -> Sequence[Found]:
    """Deliveries to an endpoint, sent or waiting, the last first; with `before` only those before it."""
    shown = select(*columns(WebhookDelivery, _DELIVERY)).where(WebhookDelivery.endpoint_id == endpoint_id)
    if before is not None:
        shown = shown.where(WebhookDelivery.id < before)
    return connection.execute(shown.order_by(WebhookDelivery.id.desc()).limit(size)).all()


def delivery(connection: Connection, *, id: int, account_id: int) -> Found | None:
    """One delivery; None if this person has no such delivery."""
    shown = select(*columns(WebhookDelivery, _DELIVERY))
    return connection.execute(shown.where(WebhookDelivery.id == id, WebhookDelivery.account_id == account_id)).first()
