"""What `snoozer doctor` checks: one function per file in `sql/health_checks`, and the views that must be empty."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, literal_column, select, table

from snoozer.db.statements import execute, rows_as

INVARIANTS = (
    "one_send_per_promise",
    "sent_stays_sent",
    "finished_has_its_send",
    "no_second_dot",
    "due_is_taken",
    "the_dead_hold_nothing",
    "messages_return",
)


@dataclass(frozen=True, kw_only=True)
class Server:
    """Properties of the server. `switched_off` names disabled settings without which a commit may be lost."""

    version: str
    version_number: int
    encoding: str
    read_only: bool
    switched_off: list[str]


@dataclass(frozen=True, kw_only=True)
class Liveness:
    """Which processes run and what waits for people. Ages in seconds, None for never."""

    workers: int
    swept_ago: float | None
    prepared_ago: float | None
    cases: int
    long_uncertain: int
    open_breakers: int


@dataclass(frozen=True, kw_only=True)
class LateReminders:
    """How many reminders are overdue (1,000 for more), and the oldest promise of those."""

    late: int
    oldest: datetime | None


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One row of an invariant's view: the snooze, the send where it concerns one, since when, and what is wrong."""

    snooze_id: int | None
    send_id: int | None
    since: datetime | None
    what: str


def set_thresholds(connection: Connection, *, lease: float, sweep: float, backoff: float) -> None:
    """Set the thresholds, in seconds, of the invariants about time until the transaction ends."""
    execute(connection, "health_checks/set_thresholds", lease=str(lease), sweep=str(sweep), backoff=str(backoff))


def server(connection: Connection) -> Server:
    """The server's version and configuration."""
    return Server(**execute(connection, "health_checks/server").one()._mapping)


def check_writable(connection: Connection) -> None:
    """Raises DBAPIError where the server is read-only."""
    execute(connection, "health_checks/check_writable")


def disabled_guards(connection: Connection) -> list[str]:
    """Names of constraints and triggers that are disabled or missing."""
    return list(execute(connection, "health_checks/disabled_guards").scalars())


def liveness(connection: Connection, *, dead_after: timedelta) -> Liveness:
    """Whether the processes run that must."""
    return Liveness(**execute(connection, "health_checks/liveness", dead_after=dead_after).one()._mapping)


def late(connection: Connection) -> LateReminders:
    """The reminders that are overdue."""
    return LateReminders(**execute(connection, "health_checks/late").one()._mapping)


def violations(connection: Connection, invariant: str, *, limit: int = 100) -> list[Violation]:
    """Up to `limit` rows that violate one of the INVARIANTS.

    The materialized CTE makes the planner plan for all rows: with the LIMIT alone it expects to find some soon, and
    chooses a plan that is slow where there are none.
    """
    view: Select[*tuple[Any, ...]] = select(literal_column("*")).select_from(table(f"invariant_{invariant}"))
    violated = view.cte("broken").prefix_with("MATERIALIZED", dialect="postgresql")
    return rows_as(connection.execute(select(literal_column("*")).select_from(violated).limit(limit)), Violation)
