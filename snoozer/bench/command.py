"""`snoozer bench [RUN]`: the doors to the measurements; without a name it drains."""

import importlib
import signal

import click

RUNS = {
    "drain": "snoozer.bench.drain",
    "batches": "snoozer.bench.batches",
    "growth": "snoozer.bench.growth",
    "idle": "snoozer.bench.idle",
    "punctual": "snoozer.bench.punctual",
    "herd": "snoozer.bench.herd",
}
USUAL = "drain"


class Runs(click.Group):
    """Loads a measurement when it is asked for. Options without a name are those of the usual one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(RUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in RUNS:
            return None
        command: click.Command = importlib.import_module(RUNS[cmd_name]).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_for_help = bool(args) and args[0] in ctx.help_option_names
        if not args or (args[0].startswith("-") and not asks_for_help):
            args = [USUAL, *args]
        return super().parse_args(ctx, args)


@click.group(name="bench", cls=Runs, short_help="Measure how fast and how punctual this machine is.")
def command() -> None:
    """Measure how fast and how punctual this machine is; without the name of a run it drains.

    Each run brings a database and a mail server of its own, on loopback, and touches nothing else. Figures of
    different machines cannot be compared; ratios can.
    """
    # As Ctrl-C does: what was started is stopped, and nothing is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
