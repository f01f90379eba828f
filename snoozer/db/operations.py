"""Acts of operators on many rows (docs/decisions/0025): one function a statement of `sql/operations`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

Result = Literal["done", "unchanged", "failed"]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation that this transaction has locked. `parameters` are the parameters of its act."""

    id: int
    act: str
    parameters: dict[str, Any]
    actor: str
    reason: str
    request_id: str | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The result for one row: `detail` says why it was left as it was; `before` and `after` are for the audit log."""

    result: Result
    detail: str | None = None
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None


def begin(
    connection: Connection,
    *,
    form: UUID,
    act: str,
    parameters: Mapping[str, object],
    actor: str,
    reason: str,
    request_id: str | None = None,
) -> int | None:
    """Enter an operation; returns its id, or None if one was entered for this form already."""
    values = {"form": form, "act": act, "parameters": json.dumps(parameters), "actor": actor, "reason": reason}
    return execute(connection, "operations/begin", request_id=request_id, **values).scalar_one_or_none()


def find(connection: Connection, *, form: UUID) -> int | None:
    """The operation that was entered for a form."""
    return execute(connection, "operations/find", form=form).scalar_one_or_none()


def freeze(connection: Connection, *, id: int, snooze_ids: Sequence[int]) -> int:
    """Add these snoozes to an operation; returns how many are new in it."""
    return int(execute(connection, "operations/freeze", id=id, snooze_ids=list(snooze_ids)).scalar_one())


def list_open(connection: Connection, *, limit: int) -> list[int]:
    """Unfinished operations, the longest untouched first."""
    return list(execute(connection, "operations/list_open", limit=limit).scalars())


def lock(connection: Connection, *, id: int) -> Operation | None:
    """Lock an operation for a chunk; None if it is finished, or another process works on it."""
    return row_as(execute(connection, "operations/lock", id=id).first(), Operation)


def next_members(connection: Connection, *, id: int, after: int = 0, limit: int) -> list[int]:
    """The next snoozes of an operation that it has not decided; ids beyond `after`."""
    return list(execute(connection, "operations/next_members", id=id, after=after, limit=limit).scalars())


def record(connection: Connection, *, id: int, verdicts: Mapping[int, Verdict]) -> bool:
    """Record the results of these snoozes of an operation; returns whether it is finished."""
    values = {
        "snooze_ids": list(verdicts),
        "results": [one.result for one in verdicts.values()],
        "details": [one.detail for one in verdicts.values()],
    }
    return bool(execute(connection, "operations/record", id=id, **values).one().finished)


def cancel(connection: Connection, *, id: int, actor: str) -> int | None:
    """Cancel an operation, after the chunk in progress; returns how many of its snoozes it leaves untouched, or None if
    it was finished, or resumes paused snoozes."""
    return execute(connection, "operations/cancel", id=id, actor=actor).scalar_one_or_none()


def prune(connection: Connection, *, older_than: timedelta, batch_size: int) -> int:
    """Delete rows of operations that finished more than `older_than` ago; returns how many."""
    return int(execute(connection, "operations/prune", older_than=older_than, batch_size=batch_size).scalar_one())


def find_undoable(connection: Connection, *, id: int, acts: Sequence[str], lately: timedelta) -> str | None:
    """The act of an operation that has changed rows and finished lately, if `acts` has it."""
    values = {"id": id, "acts": list(acts), "lately": lately}
    return execute(connection, "operations/find_undoable", **values).scalar_one_or_none()


def freeze_done(connection: Connection, *, id: int, undone: int) -> int:
    """Add the snoozes that another operation has changed; returns how many."""
    return int(execute(connection, "operations/freeze_done", id=id, undone=undone).scalar_one())


def freeze_paused(connection: Connection, *, id: int, pause_id: int) -> int:
    """Add the snoozes that a pause has set aside to an operation, which is finished if there are none; returns how
    many."""
    return int(execute(connection, "operations/freeze_paused", id=id, pause_id=pause_id).scalar_one())
