"""The circuit breaker of a mail server, shared by all workers: one function per file in `sql/breaker`.

closed → open (fail, threshold reached) → half-open (permit, one probe) → closed (succeed) or open again (fail)
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute


@dataclass(frozen=True, kw_only=True)
class Permit:
    """What a worker may do now: claim ("closed"), claim one row as the probe ("probe"), or wait ("open").

    `failures` is the number of consecutive failures.
    """

    kind: Literal["closed", "probe", "open"]
    probe_token: UUID | None
    failures: int


def permit(connection: Connection, *, server: str, cooldown: timedelta) -> Permit:
    """Whether a worker may claim now; registers a server that is not known yet."""
    row = execute(connection, "breaker/permit", server=server, cooldown=cooldown).first()
    if row is None:
        return Permit(kind="closed", probe_token=None, failures=0)
    return Permit(kind=row.kind, probe_token=row.probe_token, failures=row.failures)


def fail(
    connection: Connection, *, server: str, failures: int, threshold: int, reason: str, probe_token: UUID | None
) -> str | None:
    """Record consecutive failures; returns the breaker's state."""
    return execute(
        connection,
        "breaker/fail",
        server=server,
        failures=failures,
        threshold=threshold,
        reason=reason,
        probe_token=probe_token,
    ).scalar_one_or_none()


def succeed(connection: Connection, *, server: str, probe_token: UUID | None) -> bool:
    """Record a success. Returns False when the breaker is open and this was not its probe."""
    return execute(connection, "breaker/succeed", server=server, probe_token=probe_token).first() is not None


def return_probe(connection: Connection, *, server: str, probe_token: UUID | None) -> None:
    """Return an unused probe."""
    execute(connection, "breaker/return_probe", server=server, probe_token=probe_token)
