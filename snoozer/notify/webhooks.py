"""USE CASE of webhooks: a person adds an endpoint, rotates its secret, and switches it on again.

A secret is shown once, when it is made. It is kept encrypted, with the ring of SECRET_KEY, like the passwords of
mailboxes. While it rotates, the previous secret signs, too.
"""

import secrets
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from sqlalchemy import Connection

from snoozer.db import mailboxes
from snoozer.db import webhooks as ledger
from snoozer.notify.webhook_message import EVENTS, compose
from snoozer.runtime import encryption, outbound_http

MAX_ENDPOINTS = 10
SECRET_OCTETS = 32
# How long the previous secret also signs.
OVERLAP = timedelta(hours=24)


class NotAdded(Exception):
    """The endpoint is not added: its URL cannot be used or is already in use, it names no event, or
    there are too many."""

    def __init__(self, code: Literal["url", "events", "room"]) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Added:
    """A new endpoint, and the secret that signs for it."""

    id: int
    secret: str = field(repr=False)


def add(
    connection: Connection,
    *,
    account_id: int,
    key_ring: Sequence[str],
    url: str,
    events: Sequence[str],
    shows_subject: bool,
    allow_private: bool,
) -> Added:
    """Add an endpoint. Raises NotAdded."""
    if not outbound_http.is_endpoint(url, allow_private=allow_private):
        raise NotAdded("url")
    secret = _new_secret()
    is_open = mailboxes.lock_owner(connection, account_id=account_id)
    id = is_open and ledger.add(
        connection,
        account_id=account_id,
        url=url,
        events=ordered(events),
        shows_subject=shows_subject,
        secret=encryption.encrypt(key_ring, secret),
        most=MAX_ENDPOINTS,
    )
    if not id:
        raise NotAdded("room")
    return Added(id=id, secret=secret)


def change(connection: Connection, *, account_id: int, id: int, events: Sequence[str], shows_subject: bool) -> bool:
    """Choose the events of an endpoint. Returns False when this person has no such endpoint. Raises NotAdded."""
    return ledger.change(connection, id=id, account_id=account_id, events=ordered(events), shows_subject=shows_subject)


def rotate(connection: Connection, *, account_id: int, id: int, key_ring: Sequence[str]) -> str | None:
    """Make a new secret, and return it; the previous one also signs for OVERLAP. None if this person has no such
    endpoint."""
    secret = _new_secret()
    sealed = encryption.encrypt(key_ring, secret)
    rotated = ledger.rotate(connection, id=id, account_id=account_id, secret=sealed, overlap=OVERLAP)
    return secret if rotated else None


def ordered(events: Sequence[str]) -> list[str]:
    """These events without duplicates. Raises NotAdded if there are none, or an unknown one."""
    if not events or not set(events) <= set(EVENTS):
        raise NotAdded("events")
    return [event for event in EVENTS if event in events]


def message_id(number: object) -> str:
    """The id of a delivery on the wire."""
    return f"msg_{str(number).replace('-', '')}"


def body_of(delivery: object) -> str:
    """The text of a delivery, by its columns."""
    names = ("event", "occurred_at", "snooze_id", "repeats", "scheduled_for", "remind_at", "reference", "subject")
    return compose(**{name: getattr(delivery, name) for name in names})


def _new_secret() -> str:
    return f"whsec_{b64encode(secrets.token_bytes(SECRET_OCTETS)).decode()}"
