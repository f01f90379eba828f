"""USE CASE of operators: pause all, a person, a domain, a channel or a priority, and addresses that take no mail.
A pause is entered at once; what it has set aside comes back by an operation."""

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
    """What is paused: see `db.pauses.begin`."""

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
    """Enter a pause; returns its id, or None where it is paused already. What is being delivered is delivered. An
    operation that enters it is audited for each of its rows instead."""
    id = pauses.begin(connection, kind=scope.kind, value=scope.value, actor=actor, reason=reason, span=span)
    if id is not None and is_audited:
        act = "mark_invalid" if scope.kind == "invalid" else "pause"
        entry = Entry(target=f"pause:{id}", after=scope.audited())
        audit.append(connection, actor=actor, act=act, reason=reason, entries=[entry])
    return id


def resume(connection: Connection, *, id: int, actor: str, reason: str) -> int | None:
    """End a pause and enter the operation that brings back what it has set aside; returns the operation, or None if
    the pause was over."""
    if not pauses.end(connection, id=id, actor=actor):
        return None
    return _bring_in(connection, id=id, actor=actor, reason=reason)


def end_expired(engine: Engine) -> Sequence[int]:
    """Chore of the clock: resume what was paused until a time that has come; returns the operations."""
    with engine.connect() as connection:
        expired = pauses.list_expired(connection, limit=MAX_EXPIRED)
    ended = []
    # Each on its own: who holds the lock of the audit log must wait for no other pause.
    for id in expired:
        with engine.begin() as connection:
            ended.append(resume(connection, id=id, actor="clock", reason=EXPIRED))
    return [operation for operation in ended if operation is not None]


def bring_in_left(engine: Engine) -> Sequence[int]:
    """Chore of the clock: what a pause that is over has left set aside comes back; returns the operations."""
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
