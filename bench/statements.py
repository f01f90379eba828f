"""The bench's own .sql files, by name: `execute(connection, "counters")` executes `bench/sql/counters.sql`."""

from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, CursorResult, TextClause, text

_FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> TextClause:
    """Return the statement of the file with this name (given without its ending); binds are written `:word`."""
    return text((_FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def execute(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
    """Execute one statement in the caller's transaction."""
    return connection.execute(statement(name), values)
