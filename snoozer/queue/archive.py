"""The archive: one function per statement in `sql/queue/archive`, of the same name. The move itself is `queue.archive`.

Finished snoozes and their sends are in partitions by the month (UTC) of their end. There is no default partition: a
row whose month is missing is refused, and stays in the queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as


@dataclass(frozen=True, kw_only=True)
class Archivable:
    """A snooze that has been over for long enough, and the month whose partition it belongs to."""

    id: int
    finished_at: datetime
    month: date


def list_archivable(
    connection: Connection, *, older_than: timedelta, batch_size: int, after: Archivable | None = None
) -> list[Archivable]:
    """Snoozes that have been over for `older_than`, oldest first, those after `after`."""
    position = {"finished_at": after.finished_at, "id": after.id} if after else {"finished_at": None, "id": 0}
    values = {"older_than": older_than, "batch_size": batch_size, **position}
    return rows_as(execute(connection, "archive/list_archivable", **values), Archivable)


def create_partitions(connection: Connection, *, months: Sequence[date]) -> list[date]:
    """Create the partitions of these months; returns the months whose partition was missing. Waits at most 2 s for a
    lock."""
    return list(execute(connection, "archive/create_partitions", months=list(months)).scalars())


def upcoming_months(connection: Connection) -> list[date]:
    """The months whose partitions must exist: this one and the next two."""
    return list(execute(connection, "archive/upcoming_months").scalars())


def drop_expired(connection: Connection, *, keep_months: int) -> list[str]:
    """Drop months older than the last `keep_months`; returns the partitions. Waits at most 2 s for each lock."""
    return list(execute(connection, "archive/drop_expired", keep_months=keep_months).scalars())


def prune_events(connection: Connection, *, keep_months: int, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Delete old events whose snooze is neither live nor archived; returns their ids."""
    values = {"keep_months": keep_months, "batch_size": batch_size, **id_bounds(id_range)}
    return list(execute(connection, "archive/prune_events", **values).scalars())
