"""The support queries: a file each in `sql/support`, the same for pages, gauges, `snoozer support` and the runbook."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, CursorResult

from snoozer.db import statements
from snoozer.db.schema import SUPPORTED_SCHEMA

# The limit up to which rows are counted exactly if no page waits for the result.
MOST = 1_000_000
# Chores that the clock runs every few seconds: their last runs show whether it runs.
SWEEP_CHORES = ("bury", "recover", "retire", "doubt", "abandon", "verify")
# How long ago each chore may have been done while the clock runs: many times its interval.
CHORES = {
    **dict.fromkeys(SWEEP_CHORES, timedelta(minutes=5)),
    "minutes": timedelta(minutes=5),
    "begin deletions": timedelta(minutes=5),
    "archive": timedelta(minutes=10),
    "snippets": timedelta(minutes=10),
    "list changes": timedelta(minutes=30),
    "hourly": timedelta(hours=3),
    "daily": timedelta(hours=50),
}
DEAD_AFTER = timedelta(seconds=10)


def names() -> list[str]:
    """The names of all support queries, sorted."""
    return statements.names("support")


def promise(name: str) -> str:
    """The promise of a query: the first line of its file."""
    return statements.sources()[f"support/{name}"].text.splitlines()[0].removeprefix("-- ")


def read(
    connection: Connection,
    name: str,
    *,
    most: int = MOST,
    dead_after: timedelta = DEAD_AFTER,
    person: str | None = None,
    only: str | None = None,
) -> CursorResult[Any]:
    """Execute one. Counts stop at `most` + 1 if its file says so; a worker without a heartbeat for `dead_after` is not
    alive. Values that a statement has no bind for are ignored."""
    values: dict[str, Any] = {"most": most, "dead_after": dead_after, "person": person, "only": only}
    values |= {"known_schema": SUPPORTED_SCHEMA, "sweep": list(SWEEP_CHORES)}
    return statements.execute(connection, f"support/{name}", **values)
