"""The .sql files, by name: `run(connection, "queue/claim", ...)` executes `sql/queue/claim.sql`."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, TextClause, text

T = TypeVar("T")


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


def each(result: CursorResult[Any], kind: Callable[..., T]) -> list[T]:
    """Every row as one of a kind, by the names of its columns."""
    names = tuple(result.keys())
    # All at once: fetched one by one, each row goes through four functions more.
    return [kind(**dict(zip(names, row, strict=True))) for row in result.all()]
