"""What a restored dump cannot know: which reminders the old place sent after it was made."""

from datetime import datetime

from sqlalchemy import Connection

from snoozer.postgres import events, queue
from snoozer.postgres.changes import Doubtful

WHY = "It may have been sent: it was due before the restored place began, and the dump does not know"
BATCH = 1_000


def set_aside(connection: Connection, *, until: datetime, domain: str, route: str) -> list[Doubtful]:
    """Make cases of what was due before `until` and does not repeat; to be called while nobody sends."""
    found: list[Doubtful] = []
    while True:
        after = found[-1].id if found else 0
        some = queue.set_aside(connection, until=until, after=after, batch_size=BATCH, domain=domain, error=WHY)
        lines = [(one.id, {"error": WHY}) for one in some]
        events.append_each(connection, kind="set aside", actor="operator", route=route, lines=lines)
        found += some
        if len(some) < BATCH:
            return found
