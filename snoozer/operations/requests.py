"""USE CASE of operators: enter an operation with the rows that it is about, frozen, and cancel one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db import audit, operations
from snoozer.db.audit import Entry

# Frozen by one operation: some seconds. What more there is is left for the next one.
MAX_MEMBERS = 100_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an operator asked for: `form` is of the submitted form, which is done once. `reason` and `parameters` hold
    no address and no text of a message."""

    form: UUID
    act: str
    actor: str
    reason: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    request_id: str | None = None


def enter(connection: Connection, request: Request, *, batches: Iterable[Sequence[int]]) -> tuple[int, bool]:
    """Enter an operation on the snoozes of these batches, in the caller's transaction; returns its id, and False where
    its form was submitted before. Nothing but the operation is changed."""
    id = operations.begin(connection, **vars(request))
    if id is None:
        known = operations.find(connection, form=request.form)
        if known is None:
            raise RuntimeError("an operation whose form is known was not found")
        return known, False
    for batch in batches:
        operations.freeze(connection, id=id, snooze_ids=batch)
    return id, True


def cancel(connection: Connection, *, id: int, actor: str) -> int | None:
    """Cancel an operation once its present chunk is done; returns how many of its rows it leaves untouched, None where
    it was finished, or brings back what was paused."""
    untouched = operations.cancel(connection, id=id, actor=actor)
    if untouched is not None:
        entry = Entry(target=f"operation:{id}", after={"untouched": untouched})
        audit.append(connection, actor=actor, act="cancel_operation", operation_id=id, entries=[entry])
    return untouched
