"""What lies in the queue, looked at without taking anything: the files in `sql/waiting` that a worker's pace hangs on.

Rows of a schema version above `known_schema` are left to newer workers.
"""

from sqlalchemy import Connection

from snoozer.db.statements import execute


def next_due(connection: Connection, *, known_schema: int, not_due_yet: bool) -> float:
    """How long until something is due: 0 when something is, infinity when nothing waits. With `not_due_yet`, what is
    due already is left out."""
    values = {"known_schema": known_schema, "not_due_yet": not_due_yet}
    seconds = execute(connection, "peek/next_due", **values).scalar_one_or_none()
    return float("inf") if seconds is None else max(float(seconds), 0.0)


def poison_row(connection: Connection, *, known_schema: int) -> bool:
    """Is a row due that lost a worker before?"""
    return bool(execute(connection, "peek/poison_row", known_schema=known_schema).scalar_one())


def unfinished(connection: Connection, *, known_schema: int) -> bool:
    """Is anything due or claimed?"""
    return bool(execute(connection, "peek/unfinished", known_schema=known_schema).scalar_one())
