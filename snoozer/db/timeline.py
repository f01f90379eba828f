"""Whether the database is the one that was accepted: one function per file in `sql/timeline`, of the same name.

A standby that was promoted, a backup that was restored and a copy forget what was committed last. Each shows as another
timeline, another server (by its system identifier) or another database than the one that was accepted.
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
    """What is different since the last acceptance."""

    what: Literal["server", "database", "timeline"]
    accepted_at: datetime

    def __str__(self) -> str:
        return _MEANINGS[self.what]


def change(connection: Connection) -> TimelineChange | None:
    """What is different since the last acceptance; None where nothing is, or nothing is known."""
    return row_as(execute(connection, "timeline/change").first(), TimelineChange)


def accept(connection: Connection, *, accepted_by: str) -> None:
    """Accept the database as it is now."""
    execute(connection, "timeline/accept", accepted_by=accepted_by)
