"""The ledgers of notifications, by one protocol. A channel names its statements: `push/release`, `webhooks/release`.

Push (`push_sends`): reserved (a trigger, with the fact that a message is back) → sending (mark) → sent (record)
reserved, sending → reserved or failed (release, sweep) · reserved → failed (end_waiting)
sending → uncertain (release without an answer, sweep) → sent (record: a late answer); it is never sent again.

Webhooks (`webhook_deliveries`): waiting (a trigger, with the fact) → delivered (record)
waiting → waiting or failed (release) · waiting → failed (end_waiting, sweep) → delivered (record: a late answer)
delivered, failed → waiting (`resend` of webhooks, by hand). Without an answer a delivery is sent again, with its id.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Literal, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

ChannelName = Literal["push", "webhooks"]

# How long a claim lasts, and again a mark: much longer than a request.
LEASE = timedelta(seconds=60)
# An answer is late from then on.
SLOW_MS = 2_000
MAX_SWEPT = 500


@dataclass(frozen=True, kw_only=True)
class Claimed(ABC):
    """A notification that a sender holds. `failures` counts failures of its target in a row."""

    channel: ClassVar[ChannelName]
    # The reason to fail what waits for a target that gets nothing any more.
    ended: ClassVar[str]
    id: int
    claim_token: UUID
    attempts: int
    failures: int

    @property
    @abstractmethod
    def target(self) -> int:
        """The device or the endpoint."""


@dataclass(frozen=True, kw_only=True)
class ClaimedPush(Claimed):
    """A push. `signing_key` is encrypted; `subject` is None if its device shows none. A device that is a
    `service` has an encrypted `address`, and the columns of a browser are empty. A test has no snooze, nor has an
    `alarm`, the sentence of a trouble that begins or has ended. A push that `withdraws` a notice has its id at the
    service."""

    channel = "push"
    ended = "gone"
    device_id: int
    snooze_id: int | None
    scheduled_for: datetime
    seconds_left: int
    endpoint: str = field(repr=False)
    public_key: bytes
    auth_secret: bytes = field(repr=False)
    key_id: int
    signing_key: bytes = field(repr=False)
    service: str
    address: bytes = field(repr=False)
    locale: str
    alarm: str | None
    alarm_ended: bool
    withdraws: str | None
    subject: str | None = field(repr=False)

    @property
    def target(self) -> int:
        return self.device_id


@dataclass(frozen=True, kw_only=True)
class ClaimedDelivery(Claimed):
    """A webhook. Secrets are encrypted; the previous one signs too while `rotates`. `subject` is None if the endpoint
    asked for none, or there is none."""

    channel = "webhooks"
    ended = "off"
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
    url: str = field(repr=False)
    is_troubled: bool
    secret: bytes = field(repr=False)
    previous_secret: bytes | None = field(repr=False)
    rotates: bool

    @property
    def target(self) -> int:
        return self.endpoint_id


C = TypeVar("C", bound=Claimed)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a try: the `reason` if it was not accepted; the status and the beginning of the answer, if one
    came, and how long that took. `gone` if the target is gone for good; `ends` if a push is not tried again; otherwise
    the target asks to `wait`."""

    reason: str | None = None
    status: int | None = None
    answer: str | None = field(default=None, repr=False)
    answer_ms: int | None = None
    gone: bool = False
    ends: bool = False
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, kw_only=True)
class Retry:
    """When to try again what was not accepted: after `delay`; other notifications for the target wait for `pause`. A
    webhook is tried for `retry_for`; a push until it expires."""

    delay: timedelta
    pause: timedelta
    retry_for: timedelta | None = None


def claim(
    connection: Connection, kind: type[C], *, lease: timedelta = LEASE, endpoint_id: int | None = None
) -> C | None:
    """Claim the next notification that is due, of the endpoint that `pick` has locked if it is a webhook; None if there
    is none, or another process has it."""
    values = {"lease": lease, "endpoint_id": endpoint_id, "slow_ms": SLOW_MS}
    return row_as(execute(connection, f"{kind.channel}/claim", **values).first(), kind)


def pick(connection: Connection, *, at_once: int, any: bool) -> int | None:
    """Choose and lock the endpoint whose turn it is, with `any` even an endpoint that fails or is slow; None if no
    delivery can be sent."""
    values = {"at_once": at_once, "any": any, "slow_ms": SLOW_MS}
    id: int | None = execute(connection, "webhooks/pick", **values).scalar_one_or_none()
    return id


def mark(connection: Connection, claimed: Claimed, *, lease: timedelta = LEASE) -> bool:
    """Authorise the request of a notification that is sent at most once. Returns False if the claim is lost."""
    return execute(connection, f"{claimed.channel}/mark", **_held(claimed), lease=lease).first() is not None


def record(connection: Connection, claimed: Claimed, outcome: Outcome) -> None:
    """Record that a notification was accepted: a fact, whatever the state of the claim."""
    execute(connection, f"{claimed.channel}/record", **_held(claimed), **vars(outcome))


def release(connection: Connection, claimed: Claimed, outcome: Outcome, retry: Retry) -> bool | None:
    """Release a notification that was not accepted. Returns whether its target still gets notifications; None if the
    claim is lost."""
    values = {**_held(claimed), **vars(outcome), **vars(retry)}
    is_on: bool | None = execute(connection, f"{claimed.channel}/release", **values).scalar_one_or_none()
    if is_on is False:
        end_waiting(connection, claimed.channel, target=claimed.target, reason=claimed.ended)
    return is_on


def give_back(connection: Connection, claimed: Claimed) -> None:
    """Give back a notification that was not begun."""
    execute(connection, f"{claimed.channel}/give_back", **_held(claimed))


def end_waiting(connection: Connection, channel: ChannelName, *, target: int, reason: str) -> int:
    """Fail what waits for a device that is removed, or an endpoint that is off; returns how many."""
    return len(execute(connection, f"{channel}/end_waiting", target=target, reason=reason).all())


def sweep(connection: Connection, channel: ChannelName, *, batch_size: int = MAX_SWEPT) -> list[int]:
    """End what no sender will: pushes that are too late, whose device was removed or whose sender was lost, and
    deliveries that lost workers hold for endpoints that are off; returns them."""
    return list(execute(connection, f"{channel}/sweep", batch_size=batch_size).scalars())


def prune(connection: Connection, channel: ChannelName, *, batch_size: int) -> int:
    """Delete what ended long ago; returns how many."""
    return len(execute(connection, f"{channel}/prune", batch_size=batch_size).all())


def _held(claimed: Claimed) -> dict[str, object]:
    return {"id": claimed.id, "claim_token": claimed.claim_token, "target": claimed.target}
