"""The circuit breaker of a mail server, shared by all workers: one function per file in `sql/breaker`.

closed → open (fail, threshold reached) → half-open (permit, one probe) → closed (succeed) or open again (fail)
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class Permit:
    """What a worker may do now: claim ("closed"), claim one row as the probe ("probe"), or wait ("open").

    `failures` is the number of consecutive failures. `refuses_everybody` where the breaker opened because the server
    refused many recipients in a row.
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
    """Note how many seconds ago the server last worked and last failed. Returns False where another worker has its row
    locked, or the server is not registered."""
    seen = {"succeeded_ago": succeeded_ago, "failed_ago": failed_ago}
    return execute(connection, "breaker/note", server=server, **seen).first() is not None


def return_probe(connection: Connection, *, server: str, probe_token: UUID | None) -> None:
    """Return an unused probe."""
    execute(connection, "breaker/return_probe", server=server, probe_token=probe_token)
