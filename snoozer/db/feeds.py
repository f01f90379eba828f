"""Feeds of people: one function per statement in `sql/notify/feeds`, of the same name."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class Feed:
    """A feed found by its secret, and its owner."""

    id: int
    shows_subject: bool
    created_at: datetime
    email: str
    locale: str


def create(
    connection: Connection,
    *,
    account_id: int,
    kind: str,
    label: str,
    shows_subject: bool,
    secret_hash: str,
    most: int,
) -> int | None:
    """Returns the id; None if the account has `most` feeds."""
    values = {"account_id": account_id, "kind": kind, "label": label, "shows_subject": shows_subject}
    return execute(connection, "feeds/create", **values, secret_hash=secret_hash, most=most).scalar_one_or_none()


def find(connection: Connection, *, secret_hash: str, kind: str) -> Feed | None:
    return row_as(execute(connection, "feeds/find", secret_hash=secret_hash, kind=kind).first(), Feed)


def touch(connection: Connection, *, id: int) -> None:
    execute(connection, "feeds/touch", id=id)


def revoke(connection: Connection, *, id: int, account_id: int) -> bool:
    return execute(connection, "feeds/revoke", id=id, account_id=account_id).first() is not None
