"""ENTRANCE by name: `snoozer COMMAND`. A command's module is imported when it is called."""

import gc
import importlib

import click

from snoozer import __version__

# Name → module, and what the list of commands says of it, so that the list imports none of them.
COMMANDS = {
    "up": ("snoozer.dev.up", "Start all of Snoozer on this machine, for trying it out."),
    "all-in-one": ("snoozer.dev.all_in_one", "Run all of Snoozer, for a home server or a container."),
    "migrate": ("snoozer.cli.migrate", "Bring the database's schema up to this version of Snoozer."),
    "web": ("snoozer.cli.web", "Serve pages, API and the links in mails by gunicorn, with its options."),
    "worker": ("snoozer.cli.worker", "Deliver what is due until it is stopped."),
    "clock": (
        "snoozer.cli.clock",
        "Keep housekeeping on time: return messages, recover what lost workers held, retire, archive.",
    ),
    "inbound": ("snoozer.cli.inbound", "Take mail in by LMTP or SMTP for the mailboxes that Snoozer keeps."),
    "mailbox": (
        "snoozer.cli.mailbox",
        "Watch the mailboxes that people connected: snooze what they move, and bring it back.",
    ),
    "sink": ("snoozer.dev.sink", "Accept mail on loopback and keep it in the database."),
    "add": ("snoozer.cli.add", "Be reminded of a message, by the API."),
    "list": ("snoozer.cli.list_", "List what is snoozed, by the API."),
    "cancel": ("snoozer.cli.cancel", "Cancel a snooze, by the API."),
    "mcp": ("snoozer.cli.mcp", "Let an assistant snooze by the API, over stdio or HTTP."),
    "when": ("snoozer.cli.when", "Say when a phrase is, and print the sentence to check it by."),
    "account": ("snoozer.cli.account", "Accounts: who may sign in, and as what."),
    "token": ("snoozer.cli.token", "Tokens for the API."),
    "audit": (
        "snoozer.cli.audit",
        "Check the whole audit log; print a mark of its newest entry, to be kept elsewhere.",
    ),
    "health": ("snoozer.cli.health", "Say whether a process on this host does its work, for containers."),
    "doctor": ("snoozer.cli.doctor", "Examine settings, database, workers, mail server and the invariants."),
    "plan": ("snoozer.cli.plan", "What so many people need, and when one database stops being enough."),
    "support": ("snoozer.cli.support", "Print a support query as a table."),
    "times-moved": ("snoozer.cli.times_moved", "List what a newer tz database moves; --apply moves it."),
    "import": ("snoozer.cli.import_", "Import another scheduler's jobs; --apply writes them."),
    "shadow": (
        "snoozer.cli.shadow",
        "Run beside another scheduler without sending, and report each difference.",
    ),
    "restored": (
        "snoozer.cli.restored",
        "After a restore or failover: list what may go out twice; let workers go on.",
    ),
}


class LazyGroup(click.Group):
    """Imports a command when it is called, so that `snoozer when` needs neither a database nor a mail library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        command: click.Command = importlib.import_module(module).command
        command.help = command.help or summary
        gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def commands() -> None:
    """Put a message away and get it back: on time, once, and provably."""


def main() -> None:
    """Run one command. A known failure ends with one sentence and exit code 2."""
    try:
        commands()
    except Exception as error:
        # Imported here, because a command that succeeds may need none of it.
        from snoozer.cli.console import refuse
        from snoozer.cli.database_connection import known_failure

        if (sentence := known_failure(error)) is None:
            raise
        refuse(sentence)
