"""`snoozer plan`: the resources for a number of people, by a throughput formula fitted to measurements. It needs no
database and no settings.

A worker process takes `batch_seconds + batch * reminder_seconds` for a batch; the CPU of the database server follows
the same line with figures of its own, and runs out first.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from statistics import linear_regression, mean
from typing import Any

import click
from rich.table import Column, Table

from snoozer.cli.console import show
from snoozer.settings import SettingsError

YEAR_DAYS = 365

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Measurements, in seconds and bytes; `server_…` is CPU of the database server, `other_wal_bytes` of insert and
    archive. Bytes of rows include indexes: waiting (`asleep`), sent with its ledger entry (`over`), archived."""

    batch_seconds: float = 0.0118
    reminder_seconds: float = 0.00060
    worker_cpu_seconds: float = 0.00089
    server_batch_seconds: float = 0.0033
    server_reminder_seconds: float = 0.00022
    wal_bytes: float = 3_900
    other_wal_bytes: float = 3_500
    asleep_bytes: float = 640
    over_bytes: float = 1_270
    archived_bytes: float = 975


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The demand of people. `herd_share` of a day's reminders are due in the same second and sent `herd_seconds` later;
    the others are spread evenly over `waking_hours`."""

    people: float
    per_day: float
    herd_share: float = 0.1
    herd_seconds: float = 60.0
    waking_hours: float = 12.0
    asleep_days: float = 3.0

    @property
    def daily(self) -> float:
        """Reminders a day."""
        return self.people * self.per_day

    @property
    def peak(self) -> float:
        """Reminders per second while the herd is sent, including reminders that become due in that time."""
        evenly = self.daily * (1 - self.herd_share) / (self.waking_hours * 3600)
        return self.daily * self.herd_share / self.herd_seconds + evenly


@dataclass(frozen=True, kw_only=True)
class Means:
    """The machine. `busy` is the share of a core or a disk to be used at the peak."""

    batch: int = 50
    database_cores: float = 4.0
    wal_bytes_a_second: float = 50e6
    busy: float = 0.7
    archive_after_days: float = 35.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The required resources, and the limit of one database: `most` reminders per second at the peak, `most_people`
    people. `cells` is how many databases are needed, each with its own Snoozer."""

    peak: float
    a_worker: float
    workers: int
    worker_cores: float
    database_cores: float
    wal_bytes_a_day: float
    bytes_after_a_year: float
    most: float
    most_people: float
    limit: str
    fits: bool
    cells: int


def plan(demand: Demand, means: Means, figures: Figures) -> Plan:
    """The resources for this demand, by these figures."""
    a_worker = throughput(figures, batch=means.batch)
    server = figures.server_reminder_seconds + figures.server_batch_seconds / means.batch
    by_cpu = means.busy * means.database_cores / server
    by_wal = means.busy * means.wal_bytes_a_second / figures.wal_bytes
    most, days_over = min(by_cpu, by_wal), min(means.archive_after_days, YEAR_DAYS)
    bytes_each = demand.asleep_days * figures.asleep_bytes + days_over * figures.over_bytes
    bytes_each += (YEAR_DAYS - days_over) * figures.archived_bytes
    return Plan(
        peak=demand.peak,
        a_worker=a_worker,
        workers=max(1, ceil(demand.peak / (means.busy * a_worker))),
        worker_cores=demand.peak * figures.worker_cpu_seconds / means.busy,
        database_cores=demand.peak * server / means.busy,
        wal_bytes_a_day=demand.daily * (figures.wal_bytes + figures.other_wal_bytes),
        bytes_after_a_year=demand.daily * bytes_each,
        most=most,
        most_people=most * demand.people / demand.peak,
        limit="CPU" if by_cpu <= by_wal else "write-ahead log",
        fits=demand.peak <= most,
        cells=ceil(demand.peak / most),
    )


def throughput(figures: Figures, *, batch: int, workers: int = 1) -> float:
    """Reminders per second: workers * batch / (cost of a batch + cost of its reminders)."""
    return workers * batch / (figures.batch_seconds + batch * figures.reminder_seconds)


def fitted(seconds: Mapping[int, float]) -> tuple[float, float]:
    """The cost of a batch and of each reminder, by least squares over the seconds of a batch of each size; neither is
    negative. With only one size, all of it counts as the reminders'."""
    sizes, times = list(seconds), list(seconds.values())
    if len(sizes) > 1:
        slope, intercept = linear_regression(sizes, times)
        if slope < 0:
            return mean(times), 0.0
        if intercept >= 0:
            return intercept, slope
    # A line through the origin.
    return 0.0, sum(size * time for size, time in seconds.items()) / sum(size**2 for size in sizes)


def read_figures(paths: Sequence[Path]) -> Figures:
    """Figures from the reports of the bench; defaults if they have none. Raises SettingsError."""
    measured, reports = dict[str, float](), {run: list[Any]() for run in _RUNS}
    for path in paths:
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            reports[report["run"]].append(report)
        except (OSError, ValueError, TypeError, KeyError):
            command = f"python -m bench RUN --json FILE (RUN: {', '.join(_RUNS)})"
            raise SettingsError(f"{path} holds no figures; write them with: {command}") from None
    for run, of_run in reports.items():
        try:
            measured |= _RUNS[run](of_run) if of_run else {}
        except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError, AttributeError):
            raise SettingsError(f"The figures of `bench {run}` are not whole; measure again") from None
    return Figures(**measured)


def _drained(reports: Sequence[Any]) -> dict[str, float]:
    """Runs with batches of several sizes are fitted together."""
    runs = [(int(report["load"]["batch"]), report["load"]["processes"], report["snoozer"]) for report in reports]
    batch, each = fitted({size: size * processes / run["rate"] for size, processes, run in runs})
    server_batch, server_each = fitted({size: size * run["server_cpu_ms"] / 1000 for size, _, run in runs})
    return {
        "batch_seconds": batch,
        "reminder_seconds": each,
        "worker_cpu_seconds": mean(run["cpu_ms"] for *_, run in runs) / 1000,
        "server_batch_seconds": server_batch,
        "server_reminder_seconds": server_each,
        "wal_bytes": mean(run["wal_bytes"] for *_, run in runs),
    }


def _grown(reports: Sequence[Any]) -> dict[str, float]:
    """The last run's largest table, and its archive if that was measured."""
    largest, archive = max(reports[-1]["claims"], key=lambda one: one["future"]), reports[-1]["archive"]
    asleep = {"asleep_bytes": (largest["table_bytes"] + largest["index_bytes"]) / largest["future"]}
    if archive is None:
        return asleep
    stored = [one for one in archive["stored"] if one["name"].endswith("_archive")]
    return asleep | {
        "archived_bytes": sum(one["table_bytes"] + one["index_bytes"] for one in stored) / archive["reminders"],
        "over_bytes": archive["over_bytes"],
        "other_wal_bytes": largest["insert_wal_bytes"] + archive["wal_bytes"],
    }


_RUNS: dict[str, Callable[[Sequence[Any]], dict[str, float]]] = {"drain": _drained, "growth": _grown}


def _number(name: str, bounds: tuple[float, float], metavar: str, help: str, default: str = "") -> Decorator:
    """An option for a number within bounds; it is required without a default."""

    def read(given: str) -> float:
        with suppress(ValueError):
            if bounds[0] <= (value := float(given)) <= bounds[1]:
                return value
        raise SettingsError(f"{name} must be a number from {bounds[0]:,g} to {bounds[1]:,g}, not {given!r}")

    presence: dict[str, Any] = {"default": default} if default else {"required": True}
    return click.option(name, type=read, show_default=True, metavar=metavar, help=help, **presence)


@click.command("plan")
@_number("--people", (1, 1e10), "N", "Who snooze.")
@_number("--per-day", (0.001, 10_000), "M", "Reminders of each a day.")
@_number(
    "--herd-share", (0, 1), "X", "Share of a day's reminders that are promised for one and the same second.", "0.1"
)
@_number("--herd-seconds", (1, 86_400), "S", "How soon all of those are to be out.", "60")
@_number("--waking-hours", (0.1, 24), "H", "Over which the others come evenly.", "12")
@_number("--asleep-days", (0, 3650), "D", "How long a message is put away for.", "3")
@_number("--batch", (1, 1000), "N", "Rows that a worker claims at once.", "50")
@_number("--database-cores", (1, 1024), "N", "Cores of the largest database server you would run.", "4")
@_number("--database-mb", (1, 100_000), "N", "Megabytes of write-ahead log that its disk takes in a second.", "50")
@_number("--busy", (0.05, 1), "X", "Share of a core or disk that you want to use at the peak.", "0.7")
@click.option(
    "--figures", "files", type=click.Path(dir_okay=False, path_type=Path), multiple=True,
    help="Measured on your machine: what `python -m bench drain|growth --json` wrote. Several times for several.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(files: tuple[Path, ...], as_json: bool, **numbers: float) -> None:
    """Say what N people need who put M messages away a day, and when one database stops being enough."""
    chosen = {name: numbers.pop(name) for name in ("database_cores", "busy")}
    means = Means(batch=int(numbers.pop("batch")), wal_bytes_a_second=numbers.pop("database_mb") * 1e6, **chosen)
    figures, demand = read_figures(files), Demand(**numbers)
    planned = plan(demand, means, figures)
    if as_json:
        given = {"demand": asdict(demand) | {"peak": demand.peak}, "means": asdict(means), "figures": asdict(figures)}
        click.echo(json.dumps({"plan": asdict(planned)} | given, indent=2))
        return
    _print(demand, means, planned)
    source = "by your figures" if files else "measured on 2 cores; give --figures of your machine for better ones"
    click.echo(
        f"A worker takes a batch in {1000 * figures.batch_seconds:.1f} ms and "
        f"{1000 * figures.reminder_seconds:.2f} ms more for each reminder in it ({source})."
    )


def _print(demand: Demand, means: Means, planned: Plan) -> None:
    click.echo(
        f"{demand.people:,.0f} people who put {demand.per_day:,g} messages away a day get {demand.daily:,.0f} "
        f"reminders a day. If {demand.herd_share:.0%} of them are promised for the same second and are to be out "
        f"{demand.herd_seconds:,g} seconds later, {_rate(planned.peak)} a second leave at the peak.\n"
        f"That takes {planned.workers:,} worker {'process' if planned.workers == 1 else 'processes'} in batches of "
        f"{means.batch}, {_rate(planned.a_worker)} a second each, on {planned.worker_cores:,.1f} cores beside "
        f"{planned.database_cores:,.1f} for the database.\n"
        f"After a year the database holds {_size(planned.bytes_after_a_year)}, archive and indexes included, and each "
        f"day it writes {_size(planned.wal_bytes_a_day)} of write-ahead log.\n"
        f"One database with {means.database_cores:,g} cores is enough up to {_rate(planned.most)} reminders a second "
        f"at the peak, which is {planned.most_people:,.0f} such people; then its {planned.limit} is used up. "
        + ("That is enough here." if planned.fits else _divided(demand, planned))
    )
    table = Table("", Column("needed", justify="right"), Column("one database ends at", justify="right"))
    table.add_row("reminders a second at the peak", _rate(planned.peak), _rate(planned.most))
    table.add_row("worker processes", f"{planned.workers:,}")
    table.add_row("cores for workers", f"{planned.worker_cores:,.1f}")
    table.add_row("cores for the database", f"{planned.database_cores:,.1f}")
    table.add_row("database after a year", _size(planned.bytes_after_a_year))
    table.add_row("write-ahead log a day", _size(planned.wal_bytes_a_day))
    show(table)


def _divided(demand: Demand, planned: Plan) -> str:
    return (
        f"Here it is not enough: use a larger server, or divide the people among {planned.cells:,} Snoozers with a "
        f"database each, {demand.people / planned.cells:,.0f} people in each (deploy/cells/README.md)."
    )


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _size(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} PB"
