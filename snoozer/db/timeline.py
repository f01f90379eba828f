"""Check that the database is the accepted one: one function per statement in `sql/queue/timeline`, of the same name.

A promoted standby, a restored backup and a copy lack the last commits. Each shows as another timeline, another server
(by its system identifier) or another database than the accepted one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

_MEANINGS = {
    "server": "the database is on another server than before: it was restored or copied",
    "database": "this is another database than before: it was restored or copied",
    "timeline": "the database server is on another timeline than before: a standby was promoted, or a backup restored",
}


@dataclass(frozen=True, kw_only=True)
class TimelineChange:
    """The difference since the last acceptance."""

    what: Literal["server", "database", "timeline"]
    accepted_at: datetime

    def __str__(self) -> str:
        return _MEANINGS[self.what]


def change(connection: Connection) -> TimelineChange | None:
    """The difference since the last acceptance; None if there is none, or nothing is known."""
    return row_as(execute(connection, "timeline/change").first(), TimelineChange)


def accept(connection: Connection, *, accepted_by: str) -> None:
    """Accept the database as it is now."""
    execute(connection, "timeline/accept", accepted_by=accepted_by)
