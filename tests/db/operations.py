"""Operations in tests: one is entered as an operator's form would, and read back."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, text

from snoozer.db import operations
from snoozer.operators import chunks, row_acts
from snoozer.operators.chunks import Request

OPERATOR = "operator:1"


def an_operation(
    engine: Engine, *, act: str, ids: Sequence[int], actor: str = OPERATOR, reason: str = "mended", **parameters: object
) -> int:
    """An operation that nothing has been done of; returns its id."""
    asked = Request(form=uuid4(), act=act, actor=actor, reason=reason, parameters=parameters)
    with engine.begin() as connection:
        id, _ = chunks.enter(connection, asked, batches=[ids])
    return id


def operate(
    connection: Connection, act: str, ids: Sequence[int], /, *, actor: str = OPERATOR, **parameters: object
) -> list[int]:
    """Do an act of an operator in this transaction; returns the ids of the rows that it changed."""
    asked = Request(form=uuid4(), act=act, actor=actor, reason="mended", parameters=parameters)
    id, _ = chunks.enter(connection, asked, batches=[ids])
    operation = operations.lock(connection, id=id)
    assert operation is not None
    verdicts = row_acts.apply(connection, operation, ids)
    operations.record(connection, id=id, verdicts=verdicts)
    return sorted(id for id, verdict in verdicts.items() if verdict.result == "done")


def the_operation(engine: Engine, id: int) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT * FROM operations WHERE id = :id"), {"id": id}).one()


def results(engine: Engine, id: int) -> dict[int, tuple[str | None, str | None]]:
    """Of each row of an operation: the result, and why it was left."""
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT snooze_id, result, detail FROM operation_members WHERE operation_id = :id"), {"id": id}
        )
        return {row.snooze_id: (row.result, row.detail) for row in rows}
