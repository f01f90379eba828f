"""The circuit breaker of a mail server, shared by all workers: one function per statement in `sql/queue/breaker`.

closed → open (fail, threshold reached) → half-open (permit, one probe) → closed (succeed) or open again (fail)
any → open until it is reset (trip) → closed (reset), both by an operator
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class Permit:
    """Whether a worker may claim now ("closed"), may claim one row as the probe ("probe"), or must wait ("open").

    `failures` is the number of consecutive failures. `refuses_everybody` is True if the breaker opened because the
    server refused many recipients in a row.
    """

    kind: Literal["closed", "probe", "open"]
    probe_token: UUID | None
    failures: int
    refuses_everybody: bool = False


def permit(connection: Connection, *, server: str, cooldown: timedelta) -> Permit:
    """Whether a worker may claim now; registers a server that is not known yet."""
    permit = row_as(execute(connection, "breaker/permit", server=server, cooldown=cooldown).first(), Permit)
    return permit or Permit(kind="closed", probe_token=None, failures=0)


def fail(
    connection: Connection,
    *,
    server: str,
    failures: int,
    threshold: int,
    reason: str,
    probe_token: UUID | None,
    refuses_everybody: bool = False,
) -> str | None:
    """Record consecutive failures; returns the breaker's state."""
    values = {"failures": failures, "threshold": threshold, "reason": reason, "probe_token": probe_token}
    values["refuses_everybody"] = refuses_everybody
    return execute(connection, "breaker/fail", server=server, **values).scalar_one_or_none()


def succeed(connection: Connection, *, server: str, probe_token: UUID | None) -> bool:
    """Record a success. Returns False when the breaker is open and this was not its probe."""
    return execute(connection, "breaker/succeed", server=server, probe_token=probe_token).first() is not None


def note(connection: Connection, *, server: str, succeeded_ago: float | None, failed_ago: float | None) -> bool:
    """Note how many seconds ago the server last worked and last failed. Returns False if another worker has locked its
    row, or the server is not registered."""
    seen = {"succeeded_ago": succeeded_ago, "failed_ago": failed_ago}
    return execute(connection, "breaker/note", server=server, **seen).first() is not None


def return_probe(connection: Connection, *, server: str, probe_token: UUID | None) -> None:
    """Return an unused probe."""
    execute(connection, "breaker/return_probe", server=server, probe_token=probe_token)


@dataclass(frozen=True, kw_only=True)
class State:
    """A breaker as an operator finds it before an act."""

    state: Literal["closed", "open", "half-open"]
    failures: int
    opened_at: datetime | None
    tripped_at: datetime | None


def lock(connection: Connection, *, server: str) -> State | None:
    """The state of a breaker, locked until the transaction ends; None if the server is unknown."""
    return row_as(execute(connection, "breaker/lock", server=server).first(), State)


def trip(connection: Connection, *, server: str, actor: str, reason: str) -> bool:
    """Open the breaker for an operator until it is reset. Returns False if it is tripped already."""
    return execute(connection, "breaker/trip", server=server, actor=actor, reason=reason).first() is not None


def reset(connection: Connection, *, server: str) -> bool:
    """Close the breaker for an operator. Returns False if it is closed and counts no failure."""
    return execute(connection, "breaker/reset", server=server).first() is not None
