"""Options that several runs share: one place for each option's help, bounds and error.

An option that is the same for every run is a plain decorator; the others take arguments: `@processes(default=1)`.
"""

from functools import partial
from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)
_option = partial(click.option, show_default=True)

rows = _option("--rows", type=click.IntRange(100, 10_000_000), default=10_000, help="Rows due at once.")
processes = partial(_option, "--processes", type=click.IntRange(1, 64), help="Worker processes.")
concurrency = partial(_option, "--concurrency", type=click.IntRange(1, 400))
batch = partial(_option, "--batch", type=click.IntRange(1, 1000), default=50, help="Rows claimed at once.")
work = partial(_option, "--work", type=(float, float), help="Milliseconds a mail takes.")
rounds = partial(_option, "--rounds", type=click.IntRange(1, 50), default=3, help="Runs of each, in turn.")
to_json = click.option("--json", "to_json", type=_FILE, help="Write the figures here.")
to_svg = click.option("--svg", "to_svg", type=_FILE, help="Draw them here.")


def check_work(work: tuple[float, float]) -> None:
    """Raises BadParameter unless it is a range of milliseconds from 0 to 60,000."""
    if not 0 <= work[0] <= work[1] <= 60_000:
        raise click.BadParameter("the shortest first, then the longest, both from 0 to 60000", param_hint="--work")


def check_concurrency(concurrency: int, *, processes: int) -> None:
    """Raises BadParameter unless each process gets 1 to 100 of the concurrent deliveries of all processes."""
    if not processes <= concurrency <= 100 * processes:
        raise click.BadParameter("from one to a hundred for each process", param_hint="--concurrency")
