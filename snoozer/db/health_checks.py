"""What a doctor asks the database: one function per file in `sql/doctor`, and the views that must be empty."""

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
)


@dataclass(frozen=True, kw_only=True)
class Server:
    """What the promise needs of the server. `switched_off` names settings without which a commit may be lost."""

    version: str
    version_number: int
    encoding: str
    read_only: bool
    switched_off: list[str]


@dataclass(frozen=True, kw_only=True)
class Liveness:
    """Who is at work and what waits for people. Ages in seconds, None for never."""

    workers: int
    swept_ago: float | None
    prepared_ago: float | None
    cases: int
    long_uncertain: int
    open_breakers: int


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One row of an invariant's view: which snooze, which send if it is about one, since when, and what is wrong."""

    snooze_id: int | None
    send_id: int | None
    since: datetime | None
    what: str


def set_thresholds(connection: Connection, *, lease: float, sweep: float, backoff: float) -> None:
    """Let the invariants of time go by these seconds until the transaction ends."""
    execute(connection, "health_checks/set_thresholds", lease=str(lease), sweep=str(sweep), backoff=str(backoff))


def server(connection: Connection) -> Server:
    """The server as it is set up."""
    return Server(**execute(connection, "health_checks/server").one()._mapping)


def check_writable(connection: Connection) -> None:
    """Raises DBAPIError where the server only reads."""
    execute(connection, "health_checks/check_writable")


def disabled_guards(connection: Connection) -> list[str]:
    """Constraints and triggers that are switched off or gone; empty when all is well."""
    return list(execute(connection, "health_checks/disabled_guards").scalars())


def liveness(connection: Connection, *, dead_after: timedelta) -> Liveness:
    """How the parts that must run are doing."""
    return Liveness(**execute(connection, "health_checks/liveness", dead_after=dead_after).one()._mapping)


def violations(connection: Connection, invariant: str, *, most: int = 100) -> list[Violation]:
    """The rows that break one of the INVARIANTS, at most so many.

    Planned as if all were wanted: who looks for a hundred expects to find them soon, and goes through everything row
    by row where there are none.
    """
    view: Select[*tuple[Any, ...]] = select(literal_column("*")).select_from(table(f"invariant_{invariant}"))
    whole = view.cte("broken").prefix_with("MATERIALIZED", dialect="postgresql")
    return rows_as(connection.execute(select(literal_column("*")).select_from(whole).limit(most)), Violation)
