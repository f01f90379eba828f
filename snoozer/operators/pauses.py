"""USE CASE of operators: pause everything, a person, a domain, a channel or a priority, and mark addresses that take no
mail. A pause takes effect at once; an operation brings back the rows that it has set aside."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from sqlalchemy import Connection, Engine

from snoozer.db import audit, operations, pauses
from snoozer.db.audit import Entry
from snoozer.db.pauses import Kind

MAX_EXPIRED = 20
EXPIRED = "Its time was over"
LEFT = "Its pause is over"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scope of a pause: see `db.pauses.begin`."""

    kind: Kind
    value: str = ""

    def audited(self) -> dict[str, object]:
        """For the audit log, which holds no address."""
        return {"kind": self.kind, "value": None if self.kind in {"person", "invalid"} else self.value}


def pause(
    connection: Connection,
    scope: Scope,
    *,
    actor: str,
    reason: str,
    span: timedelta | None = None,
    is_audited: bool = True,
) -> int | None:
    """Create a pause; returns its id, or None if the scope is paused already. Current deliveries continue. If an
    operation creates it, the operation's rows are audited instead."""
    id = pauses.begin(connection, kind=scope.kind, value=scope.value, actor=actor, reason=reason, span=span)
    if id is not None and is_audited:
        act = "mark_invalid" if scope.kind == "invalid" else "pause"
        entry = Entry(target=f"pause:{id}", after=scope.audited())
        audit.append(connection, actor=actor, act=act, reason=reason, entries=[entry])
    return id


def resume(connection: Connection, *, id: int, actor: str, reason: str) -> int | None:
    """End a pause and create the operation that brings back the rows it has set aside; returns the operation, or None
    if the pause was over."""
    if not pauses.end(connection, id=id, actor=actor):
        return None
    return _bring_in(connection, id=id, actor=actor, reason=reason)


def end_expired(engine: Engine) -> Sequence[int]:
    """Chore of the clock: resume pauses whose end has come; returns the operations."""
    with engine.connect() as connection:
        expired = pauses.list_expired(connection, limit=MAX_EXPIRED)
    ended = []
    # Each in its own transaction: while it holds the lock of the audit log, it must not wait for another pause.
    for id in expired:
        with engine.begin() as connection:
            ended.append(resume(connection, id=id, actor="clock", reason=EXPIRED))
    return [operation for operation in ended if operation is not None]


def bring_in_left(engine: Engine) -> Sequence[int]:
    """Chore of the clock: bring back rows that a finished pause still sets aside; returns the operations."""
    with engine.connect() as connection:
        left = pauses.list_left(connection, limit=MAX_EXPIRED)
    entered = []
    for id in left:
        with engine.begin() as connection:
            entered.append(_bring_in(connection, id=id, actor="clock", reason=LEFT))
    return entered


def _bring_in(connection: Connection, *, id: int, actor: str, reason: str) -> int:
    operation = operations.begin(
        connection, form=uuid4(), act="resume", parameters={"pause": id}, actor=actor, reason=reason
    )
    if operation is None:
        raise RuntimeError("a new form was known")
    operations.freeze_paused(connection, id=operation, pause_id=id)
    entry = Entry(target=f"pause:{id}")
    audit.append(connection, actor=actor, act="resume", reason=reason, operation_id=operation, entries=[entry])
    return operation
