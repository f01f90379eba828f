"""The routes of webhooks: endpoints and their deliveries.

The docstrings of the routes are published in openapi.json.
"""

from datetime import datetime
from functools import partial
from typing import Any

from flask import Response, url_for
from sqlalchemy import Connection

from snoozer.db import webhooks as ledger
from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import webhooks as queries
from snoozer.db.scopes import Scope
from snoozer.notify import webhooks
from snoozer.notify.webhook_message import type_of
from snoozer.notify.webhooks import MAX_ENDPOINTS, Added, NotAdded
from snoozer.telemetry import security_log
from snoozer.timephrase.zones import local
from snoozer.web import context
from snoozer.web.api import serializers
from snoozer.web.api.auth import caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import is_replayed, respond, run_once
from snoozer.web.api.models.acts import Nothing
from snoozer.web.api.models.headers import IdempotencyHeaders
from snoozer.web.api.models.webhooks import (
    Delivery,
    DeliveryPage,
    DeliveryQuery,
    NewWebhook,
    Webhook,
    WebhookChange,
    Webhooks,
    WebhookSecret,
)
from snoozer.web.api.openapi import operation
from snoozer.web.api.problems import Refused, invalid_fields
from snoozer.web.api.validation import json_object, optional_object, query_of, validate


@blueprint.get("/webhooks")
@operation("listWebhooks", scope=Scope.WEBHOOKS_READ, returns={200: (Webhooks, "All of them.")})
def list_webhooks() -> Response:
    """The owner's webhooks"""
    with caller() as (connection, account):
        rows = queries.of_account(connection, account_id=account.id)
    return respond(200, Webhooks(webhooks=[_webhook(row, account) for row in rows]))


@blueprint.post("/webhooks")
@operation(
    "createWebhook",
    scope=Scope.WEBHOOKS_WRITE,
    json=NewWebhook,
    headers=IdempotencyHeaders,
    returns={201: (WebhookSecret, "The webhook with its secret, which is shown this once.")},
    refuses=(400, 409, 415, 422),
)
def create_webhook() -> Response:
    """Add a webhook

    Events from now on are posted to it, signed by Standard Webhooks.
    """
    with caller() as (connection, account):
        body = json_object()
        new = validate(NewWebhook, body)

        def add() -> tuple[int, WebhookSecret]:
            added = _add(connection, account, new)
            made = _webhook(_own(connection, account, added.id), account)
            return 201, WebhookSecret(**made.model_dump(), secret=added.secret)

        lasts = partial(_exists, connection, account)
        response = run_once(connection, account_id=account.id, body=body, act=add, secret_lasts=lasts)
    if not is_replayed(response):
        security_log.record("webhook_added", account=account.id)
    return response


@blueprint.get("/webhooks/<row:id>")
@operation("getWebhook", scope=Scope.WEBHOOKS_READ, returns={200: (Webhook, "The webhook.")}, refuses=(404,))
def get_webhook(id: int) -> Response:
    """One webhook"""
    with caller() as (connection, account):
        return respond(200, _webhook(_own(connection, account, id), account))


@blueprint.patch("/webhooks/<row:id>")
@operation(
    "changeWebhook",
    scope=Scope.WEBHOOKS_WRITE,
    json=WebhookChange,
    returns={200: (Webhook, "The webhook as it is now.")},
    refuses=(400, 404, 415, 422),
)
def change_webhook(id: int) -> Response:
    """Other events, or on and off"""
    with caller() as (connection, account):
        row = _own(connection, account, id)
        wanted = validate(WebhookChange, json_object())
        webhooks.change(
            connection,
            account_id=account.id,
            id=id,
            events=row.events if wanted.events is None else wanted.events,
            shows_subject=row.shows_subject if wanted.subject is None else wanted.subject,
        )
        if wanted.enabled is True:
            ledger.switch_on(connection, id=id, account_id=account.id)
        elif wanted.enabled is False:
            ledger.switch_off(connection, id=id, reason="owner", account_id=account.id)
        return respond(200, _webhook(_own(connection, account, id), account))


@blueprint.delete("/webhooks/<row:id>")
@operation(
    "deleteWebhook", scope=Scope.WEBHOOKS_WRITE, returns={200: (Webhook, "The webhook as it was.")}, refuses=(404,)
)
def delete_webhook(id: int) -> Response:
    """Remove a webhook

    Nothing is sent to it any more, and what was sent is forgotten.
    """
    with caller() as (connection, account):
        was = _webhook(_own(connection, account, id), account)
        ledger.remove(connection, id=id, account_id=account.id)
    security_log.record("webhook_removed", account=account.id)
    return respond(200, was)


@blueprint.post("/webhooks/<row:id>/rotate")
@operation(
    "rotateWebhookSecret",
    scope=Scope.WEBHOOKS_WRITE,
    json=Nothing,
    headers=IdempotencyHeaders,
    returns={200: (WebhookSecret, "The webhook with its new secret, which is shown this once.")},
    refuses=(400, 404, 409, 415, 422),
)
def rotate_secret(id: int) -> Response:
    """Make a new secret

    The one before signs, too, for a day.
    """
    with caller() as (connection, account):
        body = _no_fields()

        def rotate() -> tuple[int, WebhookSecret]:
            secret = webhooks.rotate(connection, account_id=account.id, id=id, key_ring=context.settings().keys)
            made = _webhook(_own(connection, account, id), account)
            return 200, WebhookSecret(**made.model_dump(), secret=str(secret))

        lasts = partial(_exists, connection, account)
        response = run_once(connection, account_id=account.id, body=body, act=rotate, secret_lasts=lasts)
    if not is_replayed(response):
        security_log.record("webhook_secret_rotated", account=account.id)
    return response


@blueprint.post("/webhooks/<row:id>/test")
@operation(
    "testWebhook",
    scope=Scope.WEBHOOKS_WRITE,
    json=Nothing,
    headers=IdempotencyHeaders,
    returns={200: (Delivery, "The test event, which is on its way.")},
    refuses=(400, 404, 409, 415, 422),
)
def test_webhook(id: int) -> Response:
    """Send a test event"""
    with caller() as (connection, account):
        body = _no_fields()

        def enter() -> tuple[int, Delivery]:
            _own(connection, account, id)
            entered = ledger.enter_test(connection, id=id, account_id=account.id)
            if entered is None:
                raise Refused(409, "not_sent", "No test was sent: one is on its way, or the webhook is off.")
            return 200, _delivery(_own_delivery(connection, account, entered), account)

        return run_once(connection, account_id=account.id, body=body, act=enter)


@blueprint.get("/webhooks/<row:id>/deliveries")
@operation(
    "listDeliveries",
    scope=Scope.WEBHOOKS_READ,
    query=DeliveryQuery,
    returns={200: (DeliveryPage, "One page.")},
    refuses=(404, 422),
)
def list_deliveries(id: int) -> Response:
    """Deliveries to a webhook in the last 30 days, with its responses"""
    with caller() as (connection, account):
        query = query_of(DeliveryQuery)
        _own(connection, account, id)
        rows = queries.deliveries(connection, endpoint_id=id, before=query.cursor, size=query.limit + 1)
    page = rows[: query.limit]
    path = url_for(".list_deliveries", id=id, limit=query.limit, cursor=page[-1].id if page else None)
    return respond(
        200,
        DeliveryPage(
            deliveries=[_delivery(row, account) for row in page],
            next=serializers.absolute(path) if len(rows) > query.limit else None,
        ),
    )


@blueprint.post("/webhooks/deliveries/<row:id>/resend")
@operation(
    "resendDelivery",
    scope=Scope.WEBHOOKS_WRITE,
    json=Nothing,
    headers=IdempotencyHeaders,
    returns={200: (Delivery, "The delivery, which is due again.")},
    refuses=(400, 404, 409, 415, 422),
)
def resend_delivery(id: int) -> Response:
    """Send something once more, with the same id"""
    with caller() as (connection, account):
        body = _no_fields()

        def resend() -> tuple[int, Delivery]:
            _own_delivery(connection, account, id)
            if not ledger.resend(connection, id=id, account_id=account.id):
                raise Refused(409, "not_sent", "It waits to be sent already, or the webhook is off.")
            return 200, _delivery(_own_delivery(connection, account, id), account)

        return run_once(connection, account_id=account.id, body=body, act=resend)


def _no_fields() -> dict[str, Any]:
    body = optional_object()
    validate(Nothing, body)
    return body


def _add(connection: Connection, account: Account, new: NewWebhook) -> Added:
    """Raises Refused with 409 if the limit of webhooks is reached, and with 422."""
    try:
        return webhooks.add(
            connection,
            account_id=account.id,
            key_ring=context.settings().keys,
            url=new.url,
            events=new.events or (),
            shows_subject=new.subject,
            allow_private=context.settings().allow_private_webhooks,
        )
    except NotAdded as error:
        if error.code == "url":
            raise invalid_fields({"url": "url must be https and name a server on the internet."}) from None
        detail = f"You have a webhook with this url already, or {MAX_ENDPOINTS}, which is the limit."
        raise Refused(409, "no_room", detail) from None


def _own(connection: Connection, account: Account, id: int) -> Found:
    row = queries.endpoint(connection, id=id, account_id=account.id)
    if row is None:
        raise Refused(404, "not_found", f"You have no webhook {id}.")
    return row


def _exists(connection: Connection, account: Account, id: int) -> bool:
    return queries.endpoint(connection, id=id, account_id=account.id) is not None


def _own_delivery(connection: Connection, account: Account, id: int) -> Found:
    row = queries.delivery(connection, id=id, account_id=account.id)
    if row is None:
        raise Refused(404, "not_found", f"You have no delivery {id}.")
    return row


def _webhook(row: Found, account: Account) -> Webhook:
    return Webhook(
        id=row.id,
        url=row.url,
        events=row.events,
        subject=row.shows_subject,
        enabled=row.is_on,
        off_reason=row.off_reason,
        off_at=_time(row.off_at, account),
        failures=row.failures,
        delivered_at=_time(row.delivered_at, account),
        created_at=local(row.created_at, account.zone).isoformat(),
    )


def _delivery(row: Found, account: Account) -> Delivery:
    return Delivery(
        id=row.id,
        message_id=webhooks.message_id(row.number),
        type=type_of(row.event),
        snooze_id=row.snooze_id,
        state=row.state,
        attempts=row.attempts,
        occurred_at=local(row.occurred_at, account.zone).isoformat(),
        tried_at=_time(row.tried_at, account),
        next_try_at=_time(row.try_at, account) if row.state == "waiting" else None,
        body=webhooks.body_of(row),
        status=row.status,
        reason=row.reason,
        answer=row.answer,
        answer_ms=row.answer_ms,
    )


def _time(at: datetime | None, account: Account) -> str | None:
    return None if at is None else local(at, account.zone).isoformat()
