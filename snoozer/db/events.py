"""The paper trail (`snooze_events`): who did what to a snooze, when, by which route. No addresses, no subjects."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from snoozer.db.statements import execute


def append(connection: Connection, *, snooze_id: int, kind: str, actor: str, route: str, **detail: object) -> None:
    """Add one line. `actor` is "user", "operator:<account id>", "worker:<id>" or "clock"; `detail` goes into JSON."""
    values = {"snooze_id": snooze_id, "kind": kind, "actor": actor, "route": route, "detail": json.dumps(detail)}
    execute(connection, "events/append", **values)


def append_many(
    connection: Connection, *, kind: str, actor: str, route: str, lines: Sequence[tuple[int, Mapping[str, object]]]
) -> None:
    """Add a line for each snooze and detail, in one statement; for none, ask nothing of the database."""
    if not lines:
        return
    values = {"snooze_ids": [id for id, _ in lines], "details": [json.dumps(detail) for _, detail in lines]}
    execute(connection, "events/append_many", kind=kind, actor=actor, route=route, **values)
