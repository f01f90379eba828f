"""ENTRANCE by name: `snoozer COMMAND`. A command's module is imported when it is called."""

import gc
import importlib

import click
from sqlalchemy.exc import DBAPIError

from snoozer import __version__
from snoozer.settings import SettingsError

COMMANDS = {
    "up": "snoozer.dev.up",
    "migrate": "snoozer.cli.migrate",
    "worker": "snoozer.cli.worker",
    "clock": "snoozer.cli.clock",
    "inbound": "snoozer.cli.inbound",
    "mailbox": "snoozer.cli.mailbox",
    "sink": "snoozer.dev.sink",
    "add": "snoozer.cli.add",
    "list": "snoozer.cli.list_",
    "cancel": "snoozer.cli.cancel",
    "when": "snoozer.cli.when",
    "account": "snoozer.cli.account",
    "token": "snoozer.cli.token",
    "audit": "snoozer.cli.audit",
    "doctor": "snoozer.cli.doctor",
    "plan": "snoozer.cli.plan",
    "support": "snoozer.cli.support",
    "times-moved": "snoozer.cli.times_moved",
    "import": "snoozer.cli.import_",
    "shadow": "snoozer.cli.shadow",
    "restored": "snoozer.cli.restored",
}


class LazyGroup(click.Group):
    """Imports a command when it is called, so that `snoozer when` needs neither a database nor a mail library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        gc.enable()
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def commands() -> None:
    """Put a message away and get it back: on time, once, and provably."""


def main() -> None:
    """Run one command. A known failure ends with one sentence and exit code 2."""
    try:
        commands()
    except (SettingsError, DBAPIError) as error:
        # Imported here, because a command that succeeds may need none of it.
        from snoozer.cli.console import explain, refuse

        sentence = str(explain(error) if isinstance(error, DBAPIError) else error)
        refuse(f"{sentence.rstrip('.')}.")
