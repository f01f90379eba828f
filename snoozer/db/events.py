"""The events of snoozes (`snooze_events`): who did what, when, by which route. No addresses, no subjects."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from snoozer.db.statements import execute


def append(connection: Connection, *, snooze_id: int, kind: str, actor: str, route: str, **detail: object) -> int:
    """Append an event; returns its id. `actor` is "user", "operator:<account id>", "worker:<id>" or "clock"; `detail`
    becomes JSON."""
    values = {"snooze_id": snooze_id, "kind": kind, "actor": actor, "route": route, "detail": json.dumps(detail)}
    return int(execute(connection, "events/append", **values).scalar_one())


def append_many(
    connection: Connection, *, kind: str, actor: str, route: str, lines: Sequence[tuple[int, Mapping[str, object]]]
) -> None:
    """Append an event for each snooze id and detail, in one statement; none where `lines` is empty."""
    if not lines:
        return
    values = {"snooze_ids": [id for id, _ in lines], "details": [json.dumps(detail) for _, detail in lines]}
    execute(connection, "events/append_many", kind=kind, actor=actor, route=route, **values)
