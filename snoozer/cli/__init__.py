"""ENTRANCE by name: `snoozer COMMAND`. Each command lives with its room and is loaded when it is called."""

import importlib
import sys

import click
from sqlalchemy.exc import DBAPIError

from snoozer import __version__
from snoozer.cli.error_text import of_failure
from snoozer.settings import SettingsError

DOORS = {
    "up": "snoozer.dev.up",
    "migrate": "snoozer.cli.migrate",
    "worker": "snoozer.delivery.main",
    "clock": "snoozer.housekeeping.clock",
    "inbound": "snoozer.inbound.main",
    "sink": "snoozer.dev.sink",
    "when": "snoozer.cli.when",
    "account": "snoozer.cli.account",
    "token": "snoozer.cli.token",
    "doctor": "snoozer.cli.doctor",
    "bench": "snoozer.bench.command",
    "plan": "snoozer.cli.plan",
    "support": "snoozer.cli.support",
    "times-moved": "snoozer.cli.tzdata_check",
    "restored": "snoozer.cli.restore_check",
}


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
@click.version_option(__version__)
def commands() -> None:
    """Put a message away and get it back: on time, once, and provably."""


def main() -> None:
    """Run one command. What cannot be done ends in one sentence and exit code 2."""
    try:
        commands()
    except SettingsError as refused:
        _refuse(str(refused))
    except DBAPIError as error:
        _refuse(str(of_failure(error)))


def _refuse(sentence: str) -> None:
    click.echo(f"snoozer: {sentence.rstrip('.')}.", err=True)
    sys.exit(2)
