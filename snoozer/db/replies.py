"""Snoozes that wait for replies, and the UIDs up to which inboxes were read for them: one function per statement in
`sql/snoozes/replies`, of the same name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as


class Answer(NamedTuple):
    """A message that replies to the message `named`; `own` is its own Message-ID."""

    named: str
    own: str | None
    arrived_at: datetime


@dataclass(frozen=True, kw_only=True)
class Awaiting:
    """A snooze that waits for the reply that came at `arrived_at`."""

    id: int
    message_id: str
    policy: Literal["cancel_on_reply", "until_reply"]
    promise: datetime
    recurrence: dict[str, Any] | None
    zone: str | None
    arrived_at: datetime


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Since when replies are waited for in a mailbox, None while they are not; and the UID up to which it was read."""

    since: datetime | None
    uidvalidity: int | None
    uidnext: int | None
    read_at: datetime | None


def lock_awaiting(connection: Connection, *, user_email: str, answers: Sequence[Answer]) -> list[Awaiting]:
    """The person's snoozes that wait for one of these replies, locked until the transaction ends."""
    named, own, arrived_at = (list(column) for column in zip(*answers, strict=True)) if answers else ([], [], [])
    values = {"user_email": user_email, "named": named, "own": own, "arrived_at": arrived_at}
    return rows_as(execute(connection, "replies/lock_awaiting", **values), Awaiting)


def list_addresses(connection: Connection, *, user_email: str) -> set[str]:
    """The addresses of a person, in lower case: the person's own mail does not count as a reply."""
    return set(execute(connection, "replies/list_addresses", user_email=user_email).scalars())


def read_mark(connection: Connection, *, mailbox_id: int) -> Mark | None:
    """Up to where the inbox of a mailbox was read; None if it is not connected any more."""
    return next(iter(rows_as(execute(connection, "replies/read_mark", mailbox_id=mailbox_id), Mark)), None)


def save_mark(
    connection: Connection, *, mailbox_id: int, fence: int, uidvalidity: int | None, uidnext: int | None
) -> bool:
    """Record that the inbox was read up to this UID; None if no reply is waited for. Returns False for a former
    owner."""
    values = {"mailbox_id": mailbox_id, "fence": fence, "uidvalidity": uidvalidity, "uidnext": uidnext}
    return execute(connection, "replies/save_mark", **values).first() is not None


def list_waiting(connection: Connection, *, owner: str) -> set[int]:
    """The mailboxes of this owner in which replies are waited for, or a reminder must be searched for."""
    return set(execute(connection, "replies/list_waiting", owner=owner).scalars())
