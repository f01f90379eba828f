"""The statements, by noun and verb: `execute(connection, "queue/claim", ...)` executes the text of that name.

They stand under `sql/`, a folder for each room. `sql/queue/claim.sql` holds one statement, "queue/claim". The small
statements of a noun share a file, after lines `-- name: VERB`: `sql/people/accounts.sql` has "accounts/create".
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, CursorResult, Row, TextClause, func, select, text

T = TypeVar("T")

# The execution option that holds a statement's name.
NAME_OPTION = "snoozer_statement"
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT_OR_INDENT = re.compile(r"^\s*--.*\n|^ +", re.MULTILINE)


class Execute(Protocol):
    """Execute one statement, by its name, in the caller's transaction."""

    def __call__(self, connection: Connection, name: str, **values: Any) -> CursorResult[Any]: ...


@dataclass(frozen=True)
class Source:
    """The text of one statement and its file, relative to the package: `sql/queue/claim.sql`."""

    text: str
    path: str


@cache
def statement(name: str) -> TextClause:
    """The statement of this name; binds are written `:word`. Raises KeyError without one."""
    return _clause("snoozer.db", name)


def names(noun: str) -> list[str]:
    """The verbs of one noun, sorted."""
    return sorted(verb for known, _, verb in (name.partition("/") for name in sources()) if known == noun)


def execute(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
    """Execute one statement in the caller's transaction."""
    return connection.execute(statement(name), values)


def statements_of(package: str) -> Execute:
    """Return the same function for the folder `sql` of another package."""
    read = cache(partial(_clause, package))

    def execute(connection: Connection, name: str, **values: Any) -> CursorResult[Any]:
        return connection.execute(read(name), values)

    return execute


@cache
def sources(package: str = "snoozer.db") -> Mapping[str, Source]:
    """All statements of a package, by name. Raises ValueError if two have the same name."""
    found: dict[str, Source] = {}
    for name, source in _read(files(package).joinpath("sql"), "sql", noun=""):
        if name in found:
            raise ValueError(f"{name} stands in {found[name].path} and in {source.path}")
        found[name] = source
    return found


def _read(folder: Traversable, path: str, *, noun: str) -> Iterator[tuple[str, Source]]:
    for entry in folder.iterdir():
        place = f"{path}/{entry.name}"
        if entry.is_dir():
            yield from _read(entry, place, noun=f"{entry.name}/")
        elif entry.name.endswith(".sql"):
            stem = entry.name.removesuffix(".sql")
            first, *rest = _NAME.split(entry.read_text(encoding="utf-8"))
            if not rest:
                yield noun + stem, Source(first, place)
            for verb, words in zip(rest[::2], rest[1::2], strict=True):
                yield f"{stem}/{verb}", Source(words.rstrip() + "\n", place)


def _clause(package: str, name: str) -> TextClause:
    # psycopg parses a text of more than 4,096 characters again for each execution.
    words = _COMMENT_OR_INDENT.sub("", sources(package)[name].text)
    return text(f"-- {name}\n{words}").execution_options(**{NAME_OPTION: name})


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
