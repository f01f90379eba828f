"""`snoozer migrate`: bring the database's schema up to this version of Snoozer."""

import sys
from collections.abc import Iterator, Sequence

import click
from sqlalchemy import Connection

from snoozer import settings
from snoozer.cli.console import refuse
from snoozer.cli.database_connection import open_engine
from snoozer.db import definitions, pending, schema
from snoozer.db.pending import Change, Migration

# Estimates are by the sizes of the tables, and machines differ so much.
SLOWER = 3


@click.command("migrate")
@click.option("--grant", "role", metavar="ROLE", help="Also give ROLE the rights of web, workers and clock.")
@click.option("--check", is_flag=True, help="Only say what would be locked, and how long; exit code 1 if any.")
def command(role: str | None, check: bool) -> None:
    """Bring the database's schema up to this version of Snoozer.

    It is called as the owner of the database. With --grant, web, workers and clock can use a role that may not change
    the schema, and only append to the audit log; later calls give that role what new tables need, without the option.

    It waits a second for a lock, lets go, and tries again by itself, for ten minutes. It changes everything or nothing.
    """
    engine = open_engine(settings.load(), name="migrate")
    with engine.connect() as connection:
        if check:
            lines = list(_check(connection))
            click.echo("\n".join(lines))
            sys.exit(len(lines) > 1)
        before, head = schema.versions(connection)
    try:
        schema.upgrade(engine, report=lambda sentence: click.echo(f"snoozer: {sentence}", err=True))
        roles = schema.grant(engine, role=role)
    except schema.SchemaError as error:
        refuse(f"{error}.")
    change = f"is at {head}" if before == head else f"went from {before or 'nothing'} to {head}"
    click.echo(f"The schema {change}.")
    for each in roles:
        click.echo(f"The role {each} has the rights of web, workers and clock.")


def _check(connection: Connection) -> Iterator[str]:
    """The state of the schema, and lines about what is pending, if anything is."""
    status = schema.status(connection)
    if status.where in {"ahead", "unreleased"}:
        refuse(f"{status.message}; {status.do}.")
    yield f"{status.message}."
    if status.where == "nothing there":
        yield "All tables are made, and nothing waits."
        return
    migrations = pending.migrations(connection)
    changed = definitions.changed(connection)
    for migration in migrations:
        yield f"  {migration.revision}  {migration.title}"
        yield from (f"        first, while others go on: {line}" for line in _changes(migration.first))
        yield from (f"        {line}" for line in _changes(migration.locked))
    if changed:
        yield f"  Functions, triggers and views that are made again: {len(changed)}."
    if migrations or changed:
        yield from _waits(connection, migrations)


def _waits(connection: Connection, migrations: Sequence[Migration]) -> Iterator[str]:
    # A second for the functions, triggers and views, and for the statements that take no time of their own.
    seconds = 1 + sum(change.seconds for migration in migrations for change in migration.locked)
    yield (
        f"From the first lock to the end others wait {_time(seconds)}, and up to {_time(SLOWER * seconds)} on a slow "
        f"machine, for {', '.join(pending.locked(migrations))}."
    )
    yield f"A lock is waited for 1 s; then all is undone and tried again, for {schema.LOCKED_SECONDS / 60:.0f} min."
    if holder := pending.lock_holder(connection):
        yield f"Now {holder} holds a lock that would be waited for."


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    """A line for each table, with what takes longest there."""
    for table in dict.fromkeys(change.table for change in changes):
        its = [change for change in changes if change.table == table]
        most = max(its, key=lambda change: change.seconds)
        yield f"{most.does} {table} ({most.rows:,} rows), {_time(sum(change.seconds for change in its))}"


def _time(seconds: float) -> str:
    return "less than 1 s" if seconds < 1 else f"about {seconds:,.0f} s"
