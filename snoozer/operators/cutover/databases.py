"""Databases as sources: the rows of an operator's query, read one by one in a read-only transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Executable, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from snoozer.operators.cutover.record import Record, Source, SourceError, flatten

_ROWS = 1000


def query(url: str, sql: str) -> Source:
    """The rows of a query."""
    return lambda: _read(url, sql)


def _read(url: str, sql: str) -> Iterator[Record]:
    # The text is the operator's own; a colon in it is not a bind parameter.
    for number, row in enumerate(rows(url, text(sql.replace(":", "\\:"))), start=1):
        yield Record(place=f"row {number}", values=flatten(row))


def rows(url: str, statement: Executable) -> Iterator[dict[str, Any]]:
    """The rows of a statement by the names of its columns. Raises SourceError."""
    with reading(url) as connection:
        for row in connection.execute(statement, execution_options={"yield_per": _ROWS}).mappings():
            yield dict(row)


@contextmanager
def reading(url: str) -> Iterator[Connection]:
    """A transaction in another scheduler's database, rolled back at the end. Raises SourceError, which names
    neither the URL nor its password."""
    try:
        engine = create_engine(_url(url), hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise SourceError("the URL of the database is none that SQLAlchemy reads") from None
    except ImportError as error:
        raise SourceError(f"the driver of that database is not installed: {error.name}") from None
    try:
        with engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)  # noqa: PLW2901
            yield connection
            connection.rollback()
    except SQLAlchemyError as error:
        first = (str(getattr(error, "orig", None) or error).strip() or "it does not answer").splitlines()[0]
        raise SourceError(f"the old scheduler's database refused: {first}") from None
    finally:
        engine.dispose()


def _url(url: str) -> Any:
    parsed = make_url(url)
    if parsed.drivername in {"postgres", "postgresql"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
        # SQLite would make an empty one.
        raise SourceError("there is no such SQLite file")
    return parsed
