"""The queue, continued: statements by which operators change rows, many at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class OperatedRow:
    """A snooze that an operator acts on, and the state of the send of what it promises."""

    id: int
    user_email: str
    message_id: str
    outcome: str | None
    finished_at: datetime | None
    inactive: bool
    claimed_by: str | None
    remind_at: datetime
    promise: datetime
    attempts: int
    max_attempts: int
    recurrence: dict[str, Any] | None
    zone: str | None
    send_state: str | None
    is_snoozed_again: bool


def lock_for_operator(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Lock snoozes that an operator acts on; returns the ids of those that no other transaction has locked."""
    return list(execute(connection, "queue/lock_for_operator", ids=list(ids)).scalars())


def operated(connection: Connection, *, ids: Sequence[int]) -> list[OperatedRow]:
    """What decides whether an act on these is possible; those that are gone are missing."""
    return rows_as(execute(connection, "peek/operated", ids=list(ids)), OperatedRow)
