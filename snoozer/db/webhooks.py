"""Webhooks: endpoints, and the ledger of deliveries. One function per file in `sql/webhooks`, of the same name.

waiting (a trigger, with the fact) → delivered (record) · waiting → failed (release, end_waiting, end_lapsed)
delivered, failed → waiting (resend: by hand) · failed → delivered (record: a late answer)
Without an answer a delivery waits again: it is repeated with the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

# An answer is late from then on.
SLOW_MS = 2_000


@dataclass(frozen=True, kw_only=True)
class ClaimedDelivery:
    """A delivery that one sender holds. Secrets are encrypted; the previous one signs too while `rotates`. `subject` is
    None if the endpoint asked for none, or there is none."""

    id: int
    claim_token: UUID
    number: UUID
    endpoint_id: int
    event: str
    snooze_id: int | None
    repeats: bool
    scheduled_for: datetime | None
    remind_at: datetime | None
    reference: str | None = field(repr=False)
    subject: str | None = field(repr=False)
    occurred_at: datetime
    tried_at: datetime
    attempts: int
    url: str = field(repr=False)
    failures: int
    is_troubled: bool
    secret: bytes = field(repr=False)
    previous_secret: bytes | None = field(repr=False)
    rotates: bool


@dataclass(frozen=True, kw_only=True)
class Notice:
    """The mail to an owner that an endpoint was switched off, held until `notice_at`."""

    id: int
    off_reason: str
    off_at: datetime
    notice_at: datetime
    email: str = field(repr=False)
    locale: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a try: the status and the beginning of the answer, if one came, and how long that took."""

    reason: str | None = None
    status: int | None = None
    answer: str | None = field(default=None, repr=False)
    answer_ms: int | None = None


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
        end_waiting(connection, endpoint_id=id)
    return is_off


def end_waiting(connection: Connection, *, endpoint_id: int) -> int:
    """Fail the deliveries that wait for an endpoint that is off; returns how many."""
    return len(execute(connection, "webhooks/end_waiting", endpoint_id=endpoint_id).all())


def end_lapsed(connection: Connection) -> int:
    """Fail the deliveries that lost workers held for endpoints that are off; returns how many."""
    return len(execute(connection, "webhooks/end_lapsed").all())


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


def pick(connection: Connection, *, at_once: int, any: bool) -> int | None:
    """Choose and lock the endpoint whose turn it is, with `any` even one that fails or is slow; None if no delivery can
    be sent."""
    values = {"at_once": at_once, "any": any, "slow_ms": SLOW_MS}
    id: int | None = execute(connection, "webhooks/pick", **values).scalar_one_or_none()
    return id


def claim(connection: Connection, *, endpoint_id: int, lease: timedelta) -> ClaimedDelivery | None:
    """Claim the next delivery of a locked endpoint; None if another process has it."""
    values = {"endpoint_id": endpoint_id, "lease": lease, "slow_ms": SLOW_MS}
    return row_as(execute(connection, "webhooks/claim", **values).first(), ClaimedDelivery)


def record(connection: Connection, *, delivery: ClaimedDelivery, outcome: Outcome) -> None:
    """Record that the endpoint accepted a delivery."""
    values = {"status": outcome.status, "answer": outcome.answer, "answer_ms": outcome.answer_ms}
    execute(connection, "webhooks/record", id=delivery.id, endpoint_id=delivery.endpoint_id, **values)


def release(
    connection: Connection,
    *,
    delivery: ClaimedDelivery,
    outcome: Outcome,
    delay: timedelta,
    pause: timedelta,
    retry_for: timedelta,
    gone: bool = False,
) -> bool | None:
    """Release a delivery that was not accepted. Returns whether its endpoint is on; None if the claim is lost."""
    is_on: bool | None = execute(
        connection,
        "webhooks/release",
        id=delivery.id,
        endpoint_id=delivery.endpoint_id,
        claim_token=delivery.claim_token,
        **vars(outcome),
        delay=delay,
        pause=pause,
        retry_for=retry_for,
        gone=gone,
    ).scalar_one_or_none()
    if is_on is False:
        end_waiting(connection, endpoint_id=delivery.endpoint_id)
    return is_on


def give_back(connection: Connection, *, delivery: ClaimedDelivery) -> None:
    """Give back a delivery that was not begun."""
    execute(connection, "webhooks/give_back", id=delivery.id, claim_token=delivery.claim_token)


def prune(connection: Connection, *, batch_size: int) -> int:
    """Delete deliveries that ended long ago; returns how many."""
    return len(execute(connection, "webhooks/prune", batch_size=batch_size).all())
