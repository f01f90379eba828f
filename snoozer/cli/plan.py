"""`snoozer plan`: what so many people need, by the figures of a benchmark. It needs no database and no settings."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from snoozer.cli import bench_results as own
from snoozer.cli.capacity import MEASURED, Demand, Figures, Means, Plan, plan
from snoozer.cli.console import show
from snoozer.settings import SettingsError


def _number(least: float, most: float) -> Callable[[click.Context, click.Parameter, str], float]:
    """A number within bounds, or one sentence."""

    def read(context: click.Context, option: click.Parameter, given: str) -> float:
        try:
            value = float(given)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise SettingsError(f"{option.opts[0]} must be a number from {least:,g} to {most:,g}, not {given!r}")
        return value

    return read


@click.command("plan", short_help="What so many people need, and when one database stops being enough.")
@click.option("--people", required=True, callback=_number(1, 1e10), metavar="N", help="Who snooze.")
@click.option("--per-day", required=True, callback=_number(0.001, 10_000), metavar="M", help="Reminders of each a day.")
@click.option(
    "--herd-share", default="0.1", show_default=True, callback=_number(0, 1), metavar="X",
    help="Share of a day's reminders that are promised for one and the same second.",
)  # fmt: skip
@click.option(
    "--herd-seconds", default="60", show_default=True, callback=_number(1, 86_400), metavar="S",
    help="How soon all of those are to be out.",
)  # fmt: skip
@click.option("--waking-hours", default="12", show_default=True, callback=_number(0.1, 24), metavar="H",
    help="Over which the others come evenly.")  # fmt: skip
@click.option("--asleep-days", default="3", show_default=True, callback=_number(0, 3650), metavar="D",
    help="How long a message is put away for.")  # fmt: skip
@click.option("--batch", default="50", show_default=True, callback=_number(1, 1000), metavar="N",
    help="Rows that a worker claims at once.")  # fmt: skip
@click.option("--database-cores", default="4", show_default=True, callback=_number(1, 1024), metavar="N",
    help="Cores of the largest database server you would run.")  # fmt: skip
@click.option("--database-mb", default="50", show_default=True, callback=_number(1, 100_000), metavar="N",
    help="Megabytes of write-ahead log that its disk takes in a second.")  # fmt: skip
@click.option("--busy", default="0.7", show_default=True, callback=_number(0.05, 1), metavar="X",
    help="Share of a core or disk that you want to use at the peak.")  # fmt: skip
@click.option(
    "--figures", "files", type=click.Path(dir_okay=False, path_type=Path), multiple=True,
    help="Measured on your machine: what `python -m bench drain|growth --json` wrote. Several times for several.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    people: float,
    per_day: float,
    herd_share: float,
    herd_seconds: float,
    waking_hours: float,
    asleep_days: float,
    batch: float,
    database_cores: float,
    database_mb: float,
    busy: float,
    files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say what N people need who put M messages away a day, and when one database stops being enough."""
    demand = Demand(
        people=people,
        per_day=per_day,
        herd_share=herd_share,
        herd_seconds=herd_seconds,
        waking_hours=waking_hours,
        asleep_days=asleep_days,
    )
    means = Means(batch=int(batch), database_cores=database_cores, wal_bytes_a_second=database_mb * 1e6, busy=busy)
    figures = own.read(files, MEASURED)
    planned = plan(demand, means, figures)
    if as_json:
        told = {"plan": asdict(planned) | {"fits": planned.fits}, "demand": asdict(demand) | {"peak": demand.peak}}
        click.echo(json.dumps(told | {"means": asdict(means), "figures": asdict(figures)}, indent=2))
        return
    for sentence in _sentences(demand, means, planned):
        click.echo(sentence)
    show(_table(planned))
    click.echo(_whence(figures, own=bool(files)))


def _sentences(demand: Demand, means: Means, planned: Plan) -> list[str]:
    return [
        f"{demand.people:,.0f} people who put {demand.per_day:,g} messages away a day get {demand.daily:,.0f} "
        f"reminders a day. If {demand.herd_share:.0%} of them are promised for the same second and are to be out "
        f"{demand.herd_seconds:,g} seconds later, {_rate(planned.peak)} a second leave at the peak.",
        f"That takes {planned.workers:,} worker {'process' if planned.workers == 1 else 'processes'} in batches of "
        f"{means.batch}, {_rate(planned.a_worker)} a second each, on {planned.worker_cores:,.1f} cores beside "
        f"{planned.database_cores:,.1f} for the database.",
        f"After a year the database holds {_size(planned.bytes_after_a_year)}, archive and indexes included, and each "
        f"day it writes {_size(planned.wal_bytes_a_day)} of write-ahead log.",
        f"One database with {means.database_cores:,g} cores is enough up to {_rate(planned.most)} reminders a second "
        f"at the peak, which is {planned.most_people:,.0f} such people; then its {planned.limit} is used up. "
        + ("That is enough here." if planned.fits else "Here it is not enough: divide the people among several."),
    ]


def _table(planned: Plan) -> Table:
    told = Table("", "needed", "one database ends at")
    told.columns[1].justify = told.columns[2].justify = "right"
    told.add_row("reminders a second at the peak", _rate(planned.peak), _rate(planned.most))
    told.add_row("worker processes", f"{planned.workers:,}", "")
    told.add_row("cores for workers", f"{planned.worker_cores:,.1f}", "")
    told.add_row("cores for the database", f"{planned.database_cores:,.1f}", "")
    told.add_row("database after a year", _size(planned.bytes_after_a_year), "")
    told.add_row("write-ahead log a day", _size(planned.wal_bytes_a_day), "")
    return told


def _whence(figures: Figures, *, own: bool) -> str:
    formula = (
        f"A worker takes a batch in {1000 * figures.batch_seconds:.1f} ms and "
        f"{1000 * figures.reminder_seconds:.2f} ms more for each reminder in it"
    )
    source = "by your figures" if own else "measured on 2 cores; give --figures of your machine for better ones"
    return f"{formula} ({source})."


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _size(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} PB"
