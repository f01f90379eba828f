"""Shared parts of commands that use the database, and sentences for its errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError

from snoozer import settings
from snoozer.cli.console import Failure, refuse
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.errors import is_of_locks, is_of_schema
from snoozer.people import accounts
from snoozer.settings import Settings, SettingsError
from snoozer.telemetry import security_log


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


def known_failure(error: Exception) -> str | None:
    """The sentence for an error that is not a defect of Snoozer; None for any other."""
    if not isinstance(error, SettingsError | DBAPIError):
        return None
    return f"{str(explain(error) if isinstance(error, DBAPIError) else error).rstrip('.')}."


def explain(error: DBAPIError) -> Failure:
    """Explain why the database did not execute a statement."""
    code = getattr(error.orig, "sqlstate", None)
    if is_of_schema(error) and (failure := _schema_failure()):
        return failure
    first_line = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "it does not answer"
    if is_of_locks(error):
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
    engine = open_engine(settings.load(), name="migrate")
    try:
        with engine.connect() as connection:
            status = schema.status(connection)
    except DBAPIError:
        return None
    finally:
        engine.dispose()
    return None if status.where == "at head" else Failure(status.message, status.do)
