"""Shared parts of commands: the database, a refusal in one sentence, tables."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import click
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError

from snoozer import settings
from snoozer.db.engine import make_engine
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.telemetry import security_log

NO_ACCOUNT = "There is no such account; make one with: snoozer account create EMAIL"
CLOSED_ACCOUNT = "This account is closed; open it with: snoozer account open EMAIL"

# SQLSTATEs (PostgreSQL manual, appendix A): a table, column, function or object does not exist; lock not available.
_UNDEFINED = ("42P01", "42703", "42883", "42704")
_LOCKED = "55P03"


@dataclass(frozen=True)
class Failure:
    """A problem, and its remedy if known; neither ends with a full stop."""

    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}" if self.remedy else self.problem


def open_engine(config: Settings, *, name: str) -> Engine:
    """An engine of one connection; `name` is its application_name. Raises SettingsError without DATABASE_URL."""
    url = config.require("database_url").database_url.get_secret_value()
    return make_engine(url, name=name, pool_size=1, pgbouncer=config.pgbouncer)


@contextmanager
def transaction(*, name: str) -> Iterator[Connection]:
    """A transaction, committed at the end. A refusal by the accounts ends the command with a sentence and code 2."""
    config = settings.load()
    security_log.start(config.log_format)
    engine = open_engine(config, name=name)
    try:
        with engine.begin() as connection:
            yield connection
    except (accounts.InvalidAddress, accounts.InvalidZone, accounts.LastAdmin) as error:
        refuse(str(error))
    finally:
        engine.dispose()


def refuse(sentence: str) -> NoReturn:
    """End the command with one sentence on stderr and code 2."""
    click.echo(f"snoozer: {sentence}", err=True)
    sys.exit(2)


def show(*tables: Table) -> None:
    """Print tables: as wide as the terminal; into a file or a pipe wide enough that no line is folded."""
    console = Console() if sys.stdout.isatty() else Console(width=240)
    for table in tables:
        console.print(table)


def explain(error: DBAPIError) -> Failure:
    """Explain why the database did not execute a statement."""
    code = getattr(error.orig, "sqlstate", None)
    if code is not None and code.startswith(_UNDEFINED) and (failure := _schema_failure()):
        return failure
    first_line = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "it does not answer"
    if code == _LOCKED:
        return Failure(
            "Another session holds a lock that is needed, such as a pg_dump or a long query, and nothing was changed",
            "wait for it to end, then run this again",
        )
    if isinstance(error, DataError) and code is None:
        return Failure(f"A value in the database cannot be read: {first_line}", "correct that row by hand")
    if code is None or code.startswith(("08", "57P", "28", "3D")):
        return Failure(f"The database cannot be reached: {first_line}", "check DATABASE_URL and that the server runs")
    return Failure(f"The database refused: {first_line}")


def _schema_failure() -> Failure | None:
    """The problem of the schema, read from the database; None if it has none."""
    from snoozer.db import schema

    engine = open_engine(settings.load(), name="migrate")
    try:
        with engine.connect() as connection:
            status = schema.status(connection)
    except DBAPIError:
        return None
    finally:
        engine.dispose()
    return None if status.where == "at head" else Failure(status.message, status.do)
