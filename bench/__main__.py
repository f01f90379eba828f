"""`python -m bench [RUN]`: the measurements by name; without a name, `drain`."""

import importlib
import signal
import sys

import click
from sqlalchemy.exc import DBAPIError

from bench.report import BenchError
from snoozer.settings import SettingsError

RUNS = ("drain", "batches", "growth", "idle", "latency", "burst", "api", "compare")
DEFAULT_RUN = "drain"


class LazyGroup(click.Group):
    """Import a run only when it is called. Options without a run's name belong to the default run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(RUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in RUNS:
            return None
        command: click.Command = importlib.import_module(f"bench.{cmd_name}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_help = bool(args) and args[0] in ctx.help_option_names
        if not args or (args[0].startswith("-") and not is_help):
            args = [DEFAULT_RUN, *args]
        return super().parse_args(ctx, args)


@click.group(name="bench", cls=LazyGroup)
def command() -> None:
    """Measure how fast and how punctual this machine is; without the name of a run it drains.

    Each run brings a database and a mail server of its own, on loopback, and touches nothing else. Figures of
    different machines cannot be compared; ratios can.
    """
    # As Ctrl-C does: every process that was started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def main() -> None:
    """Run one measurement. If it cannot be made, print one sentence and exit with code 2."""
    try:
        command(prog_name="bench")
    except (SettingsError, DBAPIError) as error:
        failure = BenchError(str(error).splitlines()[0])
        failure.show()
        sys.exit(failure.exit_code)


if __name__ == "__main__":
    main()
