"""The archive: one function per file in `sql/archive`, of the same name. The move itself is `queue.archive`.

Finished snoozes and their sends lie in partitions by the month (UTC) of their end. There is no partition for
everything else: a row whose month is missing is refused and stays in the queue, where nothing is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from snoozer.postgres.among import EVERY_ID, bounds
from snoozer.postgres.statements import each, run


@dataclass(frozen=True, kw_only=True)
class Ripe:
    """A snooze that has been over for long enough, and the month whose partition it belongs to."""

    id: int
    finished_at: datetime
    month: date


def ripe(connection: Connection, *, older_than: timedelta, batch_size: int, after: Ripe | None = None) -> list[Ripe]:
    """What has been over for `older_than`, the oldest first, going on after `after`."""
    rows = run(
        connection,
        "archive/ripe",
        older_than=older_than,
        batch_size=batch_size,
        finished_at=after.finished_at if after else None,
        id=after.id if after else 0,
    )
    return each(rows, Ripe)


def prepare(connection: Connection, *, months: Sequence[date]) -> list[date]:
    """Make the partitions of these months; answers those that had none. Waits at most 2 s for a lock."""
    return list(run(connection, "archive/prepare", months=list(months)).scalars())


def ahead(connection: Connection) -> list[date]:
    """The months that must be there already: this one and the next two."""
    return list(run(connection, "archive/ahead").scalars())


def expire(connection: Connection, *, keep_months: int) -> list[str]:
    """Drop the months before the last `keep_months`; answers the partitions. Waits at most 2 s for each lock."""
    return list(run(connection, "archive/expire", keep_months=keep_months).scalars())


def forget_events(connection: Connection, *, keep_months: int, batch_size: int, among: range = EVERY_ID) -> list[int]:
    """Strike out old events whose snooze is in neither place any more."""
    values = {"keep_months": keep_months, "batch_size": batch_size, **bounds(among)}
    return list(run(connection, "archive/forget_events", **values).scalars())
