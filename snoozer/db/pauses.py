"""Pauses of operators (docs/decisions/0026): one function a statement of `sql/pauses`."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute

Kind = Literal["all", "person", "domain", "channel", "class", "invalid"]

CHANNELS = ("mail", "push", "mailbox")
MAX_LOOKED_AT = 20_000


class DueCount(NamedTuple):
    """How many snoozes due within an hour were examined, the soonest first, and how many of them would be paused."""

    looked_at: int
    paused: int


def begin(
    connection: Connection,
    *,
    kind: Kind,
    value: str,
    actor: str,
    reason: str,
    span: timedelta | None = None,
    unless_ended_after: datetime | None = None,
) -> int | None:
    """Enter a pause; returns its id, or None if this scope is paused already, or if its pause ended after that time.
    `value` is an address in lower case, a domain, a channel or a priority; empty for all. The pause ends by itself
    after `span`."""
    times = {"span": span, "unless_ended_after": unless_ended_after}
    values = {"kind": kind, "value": value, "actor": actor, "reason": reason}
    return execute(connection, "pauses/begin", **values, **times).scalar_one_or_none()


def end(connection: Connection, *, id: int, actor: str) -> bool:
    """End a pause, once no row is being set aside for it; returns False if it was over."""
    return execute(connection, "pauses/end", id=id, actor=actor).first() is not None


def list_expired(connection: Connection, *, limit: int) -> list[int]:
    """Pauses whose time is over."""
    return list(execute(connection, "pauses/list_expired", limit=limit).scalars())


def list_left(connection: Connection, *, limit: int) -> list[int]:
    """Pauses that are over, that have left rows set aside, and that no operation of this hour resumes."""
    return list(execute(connection, "pauses/list_left", limit=limit).scalars())


def erase(connection: Connection, *, user_email: str) -> list[int]:
    """Delete the pauses of a person; returns their ids."""
    return list(execute(connection, "pauses/erase", user_email=user_email).scalars())


def count_due(connection: Connection, *, kind: Kind, value: str) -> DueCount:
    """How many of the soon-due snoozes a pause would set aside."""
    row = execute(connection, "pauses/count_due", kind=kind, value=value, limit=MAX_LOOKED_AT).one()
    return DueCount(looked_at=row.looked_at, paused=row.paused)
