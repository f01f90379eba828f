"""The .sql files, by name: `execute(connection, "queue/claim", ...)` executes `sql/queue/claim.sql`."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, CursorResult, Row, TextClause, func, select, text

T = TypeVar("T")

# The execution option that holds the name of a statement's file.
NAME_OPTION = "snoozer_statement"


class Execute(Protocol):
    """Execute one statement, by its name, in the caller's transaction."""

    def __call__(self, connection: Connection, name: str, **values: Any) -> CursorResult[Any]: ...


@cache
def statement(name: str) -> TextClause:
    """The text of one file under `sql/`, without its ending; binds are written `:word`."""
    return _read("snoozer.db", name)


def names(folder: str) -> list[str]:
    """The statements in one folder under `sql/`, sorted."""
    folder_path = files("snoozer.db").joinpath("sql", folder)
    return sorted(entry.name.removesuffix(".sql") for entry in folder_path.iterdir() if entry.name.endswith(".sql"))


def execute(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
    """Execute one statement in the caller's transaction."""
    return connection.execute(statement(name), values)


def statements_of(package: str) -> Execute:
    """Return the same function for the folder `sql` of another package."""
    read = cache(partial(_read, package))

    def execute(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
        return connection.execute(read(name), values)

    return execute


def _read(package: str, name: str) -> TextClause:
    clause = text(files(package).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8"))
    return clause.execution_options(**{NAME_OPTION: name})


def rows_as(result: CursorResult[Any], kind: Callable[..., T]) -> list[T]:
    """Each row as an instance of `kind`, by the names of its columns."""
    names = tuple(result.keys())
    # Faster than converting row by row, which calls four more functions for each.
    return [kind(**dict(zip(names, row, strict=True))) for row in result.all()]


def row_as(row: Row[Any] | None, kind: Callable[..., T]) -> T | None:
    """The row as an instance of `kind`; None without a row."""
    return None if row is None else kind(**row._mapping)


ALL_IDS = range(1, 2**63)


def id_bounds(id_range: range) -> dict[str, int]:
    """The binds `first_id` and `last_id`, both inclusive."""
    return {"first_id": id_range.start, "last_id": id_range.stop - 1}


def database_time(connection: Connection) -> datetime:
    """The database's current time, aware; unlike now() it advances within a transaction."""
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment
