"""Webhooks: endpoints, and what their owners do. The deliveries themselves: `notifications.py`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import notifications
from snoozer.db.notifications import ClaimedDelivery
from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class Notice:
    """The mail to an owner that an endpoint was switched off, held until `notice_at`."""

    id: int
    off_reason: str
    off_at: datetime
    notice_at: datetime
    email: str = field(repr=False)
    locale: str


def add(
    connection: Connection,
    *,
    account_id: int,
    url: str,
    events: Sequence[str],
    shows_subject: bool,
    secret: bytes,
    most: int,
) -> int | None:
    """Add an endpoint; returns its id, or None if the person has `most` endpoints, or this URL already."""
    values = {"url": url, "events": list(events), "shows_subject": shows_subject, "secret": secret, "most": most}
    id: int | None = execute(connection, "webhooks/add", account_id=account_id, **values).scalar_one_or_none()
    return id


def change(connection: Connection, *, id: int, account_id: int, events: Sequence[str], shows_subject: bool) -> bool:
    """Choose the events of an endpoint. Returns False when this person has no such endpoint."""
    values = {"account_id": account_id, "events": list(events), "shows_subject": shows_subject}
    return execute(connection, "webhooks/change", id=id, **values).first() is not None


def remove(connection: Connection, *, id: int, account_id: int) -> bool:
    """Remove an endpoint with its deliveries. Returns False when this person has no such endpoint."""
    return execute(connection, "webhooks/remove", id=id, account_id=account_id).first() is not None


def rotate(connection: Connection, *, id: int, account_id: int, secret: bytes, overlap: timedelta) -> bool:
    """Sign with another secret, for `overlap` with both. Returns False when this person has no such endpoint."""
    values = {"account_id": account_id, "secret": secret, "overlap": overlap}
    return execute(connection, "webhooks/rotate", id=id, **values).first() is not None


def replace_secrets(
    connection: Connection, *, delivery: ClaimedDelivery, secret: bytes, previous_secret: bytes | None
) -> bool:
    """Replace encrypted secrets by the same ones under a newer key of the ring."""
    values = {
        "known": delivery.secret,
        "known_previous": delivery.previous_secret,
        "secret": secret,
        "previous_secret": previous_secret,
    }
    return execute(connection, "webhooks/replace_secrets", id=delivery.endpoint_id, **values).first() is not None


def switch_on(connection: Connection, *, id: int, account_id: int) -> bool:
    """Switch an endpoint on again. Returns False when it is on, or not this person's."""
    return execute(connection, "webhooks/switch_on", id=id, account_id=account_id).first() is not None


def switch_off(connection: Connection, *, id: int, reason: str, account_id: int | None = None) -> bool:
    """Switch an endpoint off and fail its waiting deliveries. Returns False if it is off, or not this person's."""
    values = {"reason": reason, "account_id": account_id}
    is_off = execute(connection, "webhooks/switch_off", id=id, **values).first() is not None
    if is_off:
        notifications.end_waiting(connection, "webhooks", target=id, reason="off")
    return is_off


def take_notice(connection: Connection, *, lease: timedelta) -> Notice | None:
    """Take a mail that is due for `lease`; None if none is due."""
    return row_as(execute(connection, "webhooks/take_notice", lease=lease).first(), Notice)


def end_notice(connection: Connection, *, notice: Notice) -> bool:
    """Mark a mail as no longer due. Returns False if its endpoint was switched since."""
    values = {"id": notice.id, "notice_at": notice.notice_at}
    return execute(connection, "webhooks/end_notice", **values).first() is not None


def enter_test(connection: Connection, *, id: int, account_id: int) -> int | None:
    """Enter a test event; returns its delivery, or None if another one waits or the endpoint is off."""
    delivery: int | None = execute(connection, "webhooks/enter_test", id=id, account_id=account_id).scalar_one_or_none()
    return delivery


def resend(connection: Connection, *, id: int, account_id: int) -> bool:
    """Deliver something once more. Returns False if it waits already, or cannot be sent."""
    return execute(connection, "webhooks/resend", id=id, account_id=account_id).first() is not None
