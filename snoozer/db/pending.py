"""The migrations that a database does not have yet: the tables that they lock, and for how long.

A migration may name `INDEXES` of large tables. They are made first, while others read and write; the rest is one
transaction, in which the tables stay locked.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import resources
from snoozer.db.engine import autocommit
from snoozer.db.errors import is_of_locks
from snoozer.db.statements import execute, rows_as

if TYPE_CHECKING:
    from alembic.config import Config

QUEUE = "email_snoozes"
# Requests and workers reach these tables in this order. In another order, the lock would wait for a transaction that
# holds one table and waits for another.
ORDER = ("accounts", "sign_ins", "day_shapes", "mailboxes", "push_devices", QUEUE)
# Together less than a second in which others wait.
TRIES, TRY_TIMEOUT, TRY_PAUSE_SECONDS = 8, "100ms", 0.1
# The work of a second, measured on two cores under load with a million rows.
READ_BYTES, REWRITTEN_BYTES, INDEXED_ROWS, CHANGED_ROWS = 100e6, 30e6, 400_000, 30_000

Does = Literal["locks", "reads", "rewrites", "changes rows of"]

# The first pattern that a statement matches says what it does to the table that it names.
_STATEMENTS: Sequence[tuple[str, Does]] = (
    # A default that is not a constant gives each row its own value.
    (r"ALTER TABLE (?:ONLY )?(\w+) .*ADD COLUMN [^,]*DEFAULT [^,]*\(", "rewrites"),
    (r"ALTER TABLE (?:ONLY )?(\w+) .*(?:\bTYPE\b|SET LOGGED|SET UNLOGGED)", "rewrites"),
    (r"ALTER TABLE (?:ONLY )?(\w+) .*(?:ADD CONSTRAINT(?!.*NOT VALID)|SET NOT NULL|VALIDATE)", "reads"),
    (r"CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)", "reads"),
    (r"(?:UPDATE|DELETE FROM) (\w+)", "changes rows of"),
    (r"(?:ALTER TABLE (?:ONLY )?|DROP TABLE (?:IF EXISTS )?|DROP INDEX (?:IF EXISTS )?)(\w+)", "locks"),
    (r"(?:CREATE|DROP) TRIGGER .* ON (\w+)", "locks"),
)
_NAME = re.compile(r"INDEX (\w+) ON")


@dataclass(frozen=True, kw_only=True)
class Change:
    """An existing table that a migration changes, and how. The estimate counts each row, also rows that a condition
    leaves out."""

    table: str
    does: Does
    rows: int
    bytes: int

    @property
    def seconds(self) -> float:
        match self.does:
            case "reads":
                return self.bytes / READ_BYTES + self.rows / INDEXED_ROWS
            case "rewrites":
                return self.bytes / REWRITTEN_BYTES
            case "changes rows of":
                return self.rows / CHANGED_ROWS
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One migration: its purpose, the changes that are made `first`, and the changes under the lock."""

    revision: str
    title: str
    indexes: Sequence[str]
    first: Sequence[Change]
    locked: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class _Relation:
    """A table, or an index of one."""

    name: str
    table: str
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The oldest transaction of another session with a lock on a table of ours."""

    pid: int
    program: str
    seconds: float

    def __str__(self) -> str:
        return f"process {self.pid} ({self.program or 'unnamed'}), at work for {self.seconds:,.0f} s,"


def configuration() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resources.resource_folder("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def migrations(connection: Connection, *, until: str = "head") -> list[Migration]:
    """The migrations that lead from the database's revision to `until`, in their order. Call it for a database that has
    tables."""
    from alembic.script import ScriptDirectory

    current = execute(connection, "session/schema_version").scalar_one()
    script = ScriptDirectory.from_config(configuration())
    found = [*script.iterate_revisions(until, current)][::-1]
    if not found:
        return []
    relations = {row.name: row for row in rows_as(execute(connection, "session/relations"), _Relation)}
    return [
        Migration(
            revision=one.revision,
            title=" ".join((one.doc or "").split("\n\n")[0].split()).partition(". ")[0].rstrip("."),
            indexes=(indexes := tuple(getattr(one.module, "INDEXES", ()))),
            first=list(_changes(indexes, relations)),
            locked=list(_changes((text for text in _statements(one.module) if not _is_of(text, indexes)), relations)),
        )
        for one in found
    ]


def locked(migrations: Iterable[Migration]) -> list[str]:
    """The tables that are locked until the end, in the order in which to lock them; always the queue."""
    tables = {QUEUE, *(change.table for migration in migrations for change in migration.locked)}
    return [*(table for table in ORDER if table in tables), *sorted(tables.difference(ORDER))]


def lock(connection: Connection, migrations: Iterable[Migration]) -> None:
    """Lock all tables until the end of the transaction. A worker may hold a table and wait for another, so a try is
    short and the next one soon: everybody else goes on between two tries. Raises DBAPIError if every try fails."""
    tables = f"LOCK TABLE {', '.join(locked(migrations))} IN ACCESS EXCLUSIVE MODE"
    for left in reversed(range(TRIES)):
        try:
            with connection.begin_nested():
                execute(connection, "session/lock_timeout", lock_timeout=TRY_TIMEOUT)
                connection.exec_driver_sql(tables)
            return
        except DBAPIError as error:
            if not left or not is_of_locks(error):
                raise
        time.sleep(TRY_PAUSE_SECONDS)


def make_indexes(engine: Engine, migrations: Iterable[Migration], *, statement_timeout: str) -> None:
    """Make the indexes that need no lock; an index that an interrupted call left unusable is made again."""
    indexes = [index for migration in migrations for index in migration.indexes]
    if not indexes:
        return
    with autocommit(engine) as connection:
        execute(connection, "session/own_limits", statement_timeout=statement_timeout)
        try:
            for index in indexes:
                name = _name_of(index)
                for drop in execute(connection, "session/unusable_index", index=name).scalars().all():
                    connection.exec_driver_sql(drop)
                connection.exec_driver_sql(index.replace(" INDEX ", " INDEX CONCURRENTLY IF NOT EXISTS ", 1))
        finally:
            connection.invalidate()


def lock_holder(connection: Connection) -> Holder | None:
    """The session whose lock a migration waits for; None if there is none, or if this role may not see it."""
    found = rows_as(execute(connection, "session/lock_holder"), Holder)
    return found[0] if found else None


def _statements(module: ModuleType) -> list[str]:
    """The statements of a migration, each as text on one line."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    buffer = StringIO()
    context = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True, "output_buffer": buffer})
    with Operations.context(context):
        module.upgrade()
    return [" ".join(text.split()) for text in buffer.getvalue().split(";") if text.strip()]


def _changes(statements: Iterable[str], relations: Mapping[str, _Relation]) -> Iterator[Change]:
    for statement in statements:
        for pattern, does in _STATEMENTS:
            if found := re.match(pattern, statement, re.IGNORECASE):
                if (relation := relations.get(found[1])) is not None:
                    yield Change(table=relation.table, does=does, rows=relation.rows, bytes=relation.bytes)
                break


def _is_of(statement: str, indexes: Iterable[str]) -> bool:
    return any(f" {_name_of(index)} ON " in statement for index in indexes)


def _name_of(index: str) -> str:
    return "".join(_NAME.findall(index))
