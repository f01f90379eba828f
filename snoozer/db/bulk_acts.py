"""Acts on many messages, kept for a day so that each is done once and can be undone: one function a statement."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class BulkAct:
    """`created_at` is the start of its transaction, and the `updated_at` of each row that has not changed since.
    `result` and `before` are as they were passed to `finish`."""

    created_at: datetime
    result: dict[str, Any]
    before: dict[str, Any]
    undone_at: datetime | None


def begin(connection: Connection, *, account_id: int, id: UUID) -> bool:
    """Enter an act before it changes anything. Returns False if it was done already; waits for another transaction that
    is doing it."""
    return execute(connection, "bulk_acts/begin", account_id=account_id, id=id).first() is not None


def finish(
    connection: Connection, *, account_id: int, id: UUID, result: Mapping[str, Any], before: Mapping[str, Any]
) -> None:
    """Keep the result of the act, and the changed rows as they were before."""
    values = {"result": json.dumps(result), "before": json.dumps(before)}
    execute(connection, "bulk_acts/finish", account_id=account_id, id=id, **values)


def lock(connection: Connection, *, account_id: int, id: UUID) -> BulkAct | None:
    """An act of this account, locked until the transaction ends."""
    return row_as(execute(connection, "bulk_acts/lock", account_id=account_id, id=id).first(), BulkAct)


def mark_undone(connection: Connection, *, account_id: int, id: UUID) -> None:
    """Note that an act was undone."""
    execute(connection, "bulk_acts/mark_undone", account_id=account_id, id=id)
