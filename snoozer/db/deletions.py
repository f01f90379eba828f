"""Accounts that are deleted: one function per statement in `sql/people/deletions`, of the same name. Snoozes are erased
by `queue.erase`."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class BegunDeletion:
    """An account whose deletion has begun, locked: whether waiting snoozes are delivered first, whether requests that
    were under way when it began have ended, and whether its mailboxes are still waited for."""

    id: int
    email: str
    delivers: bool
    is_settled: bool
    waits_for_mailboxes: bool


def request(connection: Connection, *, account_id: int, delay: timedelta, deliver: bool) -> datetime | None:
    """Returns when the deletion is due; None if it was requested before."""
    values = {"account_id": account_id, "delay": delay, "deliver": deliver}
    due_at: datetime | None = execute(connection, "deletions/request", **values).scalar_one_or_none()
    return due_at


def withdraw(connection: Connection, *, account_id: int) -> bool:
    return execute(connection, "deletions/withdraw", account_id=account_id).first() is not None


def begin(connection: Connection, *, batch_size: int) -> list[int]:
    """Returns the accounts whose deletion began."""
    return list(execute(connection, "deletions/begin", batch_size=batch_size).scalars())


def next(
    connection: Connection,
    *,
    before: datetime,
    deliver_within: timedelta,
    settle: timedelta,
    mailbox_within: timedelta,
) -> BegunDeletion | None:
    """The next account to work on; None if each has been worked on since `before`."""
    spans = {"deliver_within": deliver_within, "settle": settle, "mailbox_within": mailbox_within}
    return row_as(execute(connection, "deletions/next", before=before, **spans).first(), BegunDeletion)


def erase_kept(connection: Connection, *, account_id: int, user_email: str, batch_size: int) -> int:
    values = {"account_id": account_id, "user_email": user_email, "batch_size": batch_size}
    return int(execute(connection, "deletions/erase_kept", **values).scalar_one())


def erase_archived(connection: Connection, *, user_email: str, batch_size: int) -> int:
    values = {"user_email": user_email, "batch_size": batch_size}
    return len(execute(connection, "deletions/erase_archived", **values).all())


def has_mailboxes(connection: Connection, *, account_id: int) -> bool:
    return bool(execute(connection, "deletions/has_mailboxes", account_id=account_id).scalar_one())


def finish(connection: Connection, *, account_id: int) -> bool:
    """Returns False if data of the person is left."""
    return execute(connection, "deletions/finish", account_id=account_id).first() is not None
