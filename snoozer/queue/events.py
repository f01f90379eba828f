"""The events of snoozes (`snooze_events`): who did what, when, by which route. No addresses, no subjects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class Done:
    """An act that was done: its event."""

    id: int
    snooze_id: int
    at: datetime
    kind: str
    detail: dict[str, Any]


def append(connection: Connection, *, snooze_id: int, kind: str, actor: str, route: str, **detail: object) -> int:
    """Append an event; returns its id. `actor` is "user", "operator:<account id>", "worker:<id>" or "clock"; `detail`
    becomes JSON."""
    values = {"snooze_id": snooze_id, "kind": kind, "actor": actor, "route": route, "detail": json.dumps(detail)}
    return int(execute(connection, "events/append", **values).scalar_one())


def append_many(
    connection: Connection,
    *,
    kind: str,
    actor: str,
    route: str,
    lines: Sequence[tuple[int, Mapping[str, object]]],
    token_id: int | None = None,
) -> dict[int, int]:
    """Append an event for each snooze id and detail, in one statement; returns the ids of the events by snooze.
    `token_id` is the token of the program that acted."""
    if not lines:
        return {}
    values = {"snooze_ids": [id for id, _ in lines], "details": [json.dumps(detail) for _, detail in lines]}
    rows = execute(connection, "events/append_many", kind=kind, actor=actor, route=route, token_id=token_id, **values)
    return {row.snooze_id: row.id for row in rows}


def undoable(connection: Connection, *, ids: Sequence[int], events: Sequence[int] | None) -> dict[int, Done]:
    """Returns the act to undo of each snooze, by id: its newest act, or its act among `events`."""
    values = {"ids": list(ids), "events": None if events is None else list(events)}
    return {one.snooze_id: one for one in rows_as(execute(connection, "events/undoable", **values), Done)}
