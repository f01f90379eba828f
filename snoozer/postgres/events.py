"""The paper trail (`snooze_events`): who did what to a snooze, when, by which route. No addresses, no subjects."""

import json

from sqlalchemy import Connection

from snoozer.postgres.statements import run


def append(connection: Connection, *, snooze_id: int, kind: str, actor: str, route: str, **detail: object) -> None:
    """Add one line. `actor` is "user", "operator:<account id>", "worker:<id>" or "clock"; `detail` goes into JSON."""
    values = {"snooze_id": snooze_id, "kind": kind, "actor": actor, "route": route, "detail": json.dumps(detail)}
    run(connection, "events/append", **values)
