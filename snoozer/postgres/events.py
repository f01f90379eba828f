"""The paper trail (`snooze_events`): who did what to a snooze, when, by which route. No addresses, no subjects."""

import json
from collections.abc import Mapping

from sqlalchemy import Connection

from snoozer.postgres.statements import run


def append(connection: Connection, *, snooze_id: int, kind: str, actor: str, route: str, **detail: object) -> None:
    """Add one line. `actor` is "user", "operator:<account id>", "worker:<id>" or "clock"; `detail` goes into JSON."""
    values = {"snooze_id": snooze_id, "kind": kind, "actor": actor, "route": route, "detail": json.dumps(detail)}
    run(connection, "events/append", **values)


def append_each(
    connection: Connection, *, kind: str, actor: str, route: str, details: Mapping[int, Mapping[str, object]]
) -> None:
    """Add one line for each snooze in `details`."""
    values = {"snooze_ids": list(details), "details": [json.dumps(detail) for detail in details.values()]}
    run(connection, "events/append_each", kind=kind, actor=actor, route=route, **values)
