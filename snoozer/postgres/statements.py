"""The .sql files, by name: `run(connection, "queue/claim", ...)` executes `sql/queue/claim.sql`."""

from functools import cache
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, CursorResult, TextClause, text


@cache
def statement(name: str) -> TextClause:
    """The text of one file under `sql/`, without its ending; binds are written `:word`."""
    return text(files("snoozer.postgres").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8"))


def names(folder: str) -> list[str]:
    """The statements in one folder under `sql/`, sorted."""
    folder_path = files("snoozer.postgres").joinpath("sql", folder)
    return sorted(entry.name.removesuffix(".sql") for entry in folder_path.iterdir() if entry.name.endswith(".sql"))


def run(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
    """Execute one statement in the caller's transaction."""
    return connection.execute(statement(name), values)
