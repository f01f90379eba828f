"""ENTRANCE by name: `snoozer COMMAND`. Each command lives with its room and is loaded when it is called."""

import importlib
import logging
import sys

import click
from sqlalchemy.exc import DBAPIError

from snoozer import settings
from snoozer.settings import SettingsRefused

DOORS = {
    "up": "snoozer.embedded.up",
    "migrate": "snoozer.cli.migrate",
    "worker": "snoozer.worker.command",
    "clock": "snoozer.clock",
    "inbound": "snoozer.inbound",
    "sink": "snoozer.embedded.sink",
    "when": "snoozer.cli.when",
    "account": "snoozer.cli.account",
    "token": "snoozer.cli.token",
    "doctor": "snoozer.cli.doctor",
    "bench": "snoozer.bench.command",
    "plan": "snoozer.cli.plan",
    "support": "snoozer.cli.support",
    "times-moved": "snoozer.cli.times_moved",
}

# A table, a column, a function or an object that the statement names is not there (Appendix A of the Postgres manual).
_NO_SUCH_THING = ("42P01", "42703", "42883", "42704")


class Doors(click.Group):
    """Finds commands by name, so that `snoozer when` needs neither a database nor a mail server's library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(DOORS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in DOORS:
            return None
        command: click.Command = importlib.import_module(DOORS[cmd_name]).command
        return command


@click.group(cls=Doors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="snoozer")
def commands() -> None:
    """Put a message away and get it back: on time, once, and provably."""


def main() -> None:
    """Run one command. What cannot be done ends in one sentence and exit code 2."""
    try:
        commands()
    except SettingsRefused as refused:
        _refuse(str(refused))
    except DBAPIError as error:
        _refuse(_database_sentence(error))


def _refuse(sentence: str) -> None:
    click.echo(f"snoozer: {sentence.rstrip('.')}.", err=True)
    sys.exit(2)


def _database_sentence(error: DBAPIError) -> str:
    code = getattr(error.orig, "sqlstate", None)
    if code is not None and code.startswith(_NO_SUCH_THING) and (wrong := _schema_sentence()):
        return wrong
    first_line = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "it does not answer"
    if code is None or code.startswith(("08", "57P", "28", "3D")):
        return f"The database cannot be reached: {first_line}. Check DATABASE_URL and that the server runs"
    return f"The database refused: {first_line}"


def _schema_sentence() -> str | None:
    """What is wrong with the schema, asked of it; None when nothing is."""
    logging.disable(logging.INFO)  # Alembic tells how it goes about it, and one sentence is promised.
    from snoozer.postgres import schema
    from snoozer.postgres.engine import connect

    given = settings.load()
    engine = connect(given.database_url.get_secret_value(), name="migrate", pool_size=1, pgbouncer=given.pgbouncer)
    try:
        with engine.connect() as connection:
            stands = schema.standing(connection)
    except DBAPIError:
        return None
    finally:
        engine.dispose()
    return None if stands.where == "at head" else f"{stands.says}; {stands.do}"
