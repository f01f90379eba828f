"""`snoozer bench`: rows put down, workers at them, figures beside those of a bare loop in the same minutes."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from snoozer.bench.ground import ground
from snoozer.bench.plot import svg
from snoozer.bench.run import BenchRefused, Load, Outcome, measure
from snoozer.embedded.postgres import PostgresRefused
from snoozer.settings import SettingsRefused

FIGURES = ("rate", "p50_wait", "p99_wait", "reaped_percent", "duplicates", "cpu_ms", "commits", "wal_bytes")
# Figures whose quotient says something; the others are zero, or should be.
RATIOS = ("rate", "p50_wait", "p99_wait", "cpu_ms", "commits", "wal_bytes")
WHO = ("snoozer", "floor")


@click.command(name="bench", short_help="Measure how fast this machine drains.")
@click.option(
    "--rows", type=click.IntRange(100, 10_000_000), default=10_000, show_default=True, help="Rows due at once."
)
@click.option("--processes", type=click.IntRange(1, 64), default=2, show_default=True, help="Worker processes.")
@click.option("--concurrency", type=click.IntRange(1, 400), default=32, show_default=True, help="Deliveries at once.")
@click.option("--batch", type=click.IntRange(1, 1000), default=50, show_default=True, help="Rows claimed at once.")
@click.option("--work", type=(float, float), default=(2.0, 5.0), show_default=True, help="Milliseconds a mail takes.")
@click.option("--rounds", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs of each, in turn.")
@click.option("--json", "to_json", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here.")
@click.option("--svg", "to_svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw the last round here.")
def command(
    rows: int,
    processes: int,
    concurrency: int,
    batch: int,
    work: tuple[float, float],
    rounds: int,
    to_json: Path | None,
    to_svg: Path | None,
) -> None:
    """Measure how fast this machine drains ROWS reminders that are due at once.

    It brings a database and a mail server of its own, on loopback, and touches nothing else. Each round runs Snoozer's
    workers and then the floor: the same statements and as many mails in a bare loop that checks nothing. Figures of
    different machines cannot be compared; the ratios can.
    """
    if not 0 <= work[0] <= work[1] <= 60_000:
        raise click.BadParameter("the shortest first, then the longest, both from 0 to 60000", param_hint="--work")
    if not processes <= concurrency <= 100 * processes:
        raise click.BadParameter("from one to a hundred for each process", param_hint="--concurrency")
    load = Load(rows=rows, processes=processes, concurrency=concurrency, batch=batch)
    console = Console()
    try:
        outcomes = _measured(load, work=work, rounds=rounds, console=console)
    except (BenchRefused, PostgresRefused) as refused:
        raise SettingsRefused(str(refused)) from None
    console.print(_table(outcomes, load))
    if to_json:
        to_json.write_text(json.dumps(_report(outcomes, load, work=work), indent=2) + "\n", encoding="utf-8")
    if to_svg:
        to_svg.write_text(svg(outcomes[-len(WHO) :]), encoding="utf-8")


def _measured(load: Load, *, work: tuple[float, float], rounds: int, console: Console) -> list[Outcome]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    outcomes: list[Outcome] = []
    with Progress(*columns, console=console, transient=True) as progress, ground(work=work) as here:
        for number in range(1, rounds + 1):
            for who in WHO:
                task = progress.add_task(f"round {number} of {rounds}: {who}", total=load.rows)
                outcomes.append(
                    measure(who, here, load, progress=lambda done, task=task: progress.update(task, completed=done))  # type: ignore[misc]
                )
                progress.remove_task(task)
    return outcomes


def _medians(outcomes: Sequence[Outcome], who: str) -> dict[str, float]:
    mine = [asdict(outcome) for outcome in outcomes if outcome.who == who]
    return {name: median(one[name] for one in mine) for name in FIGURES}


def _ratios(snoozer: dict[str, float], floor: dict[str, float]) -> dict[str, float]:
    return {name: snoozer[name] / floor[name] for name in RATIOS if floor[name]}


def _table(outcomes: Sequence[Outcome], load: Load) -> Table:
    snoozer, floor = (_medians(outcomes, who) for who in WHO)
    ratios = _ratios(snoozer, floor)
    table = Table(
        title=f"{load.rows:,} reminders by {load.processes} × {load.concurrency // load.processes}, in {load.batch}s",
        caption="Medians. The floor is a bare loop over the same statements that renders and checks nothing.",
    )
    for heading in ("", "Snoozer", "floor", "ratio"):
        table.add_column(heading, justify="left" if not heading else "right")
    words = {
        "rate": ("reminders a second", "{:,.0f}"),
        "p50_wait": ("wait, p50 (s)", "{:.2f}"),
        "p99_wait": ("wait, p99 (s)", "{:.2f}"),
        "reaped_percent": ("claims reaped (%)", "{:.2f}"),
        "duplicates": ("sent again", "{:.0f}"),
        "cpu_ms": ("worker CPU each (ms)", "{:.2f}"),
        "commits": ("commits each", "{:.2f}"),
        "wal_bytes": ("WAL each (bytes)", "{:,.0f}"),
    }
    for name in FIGURES:
        label, form = words[name]
        ratio = f"{ratios[name]:.2f}" if name in ratios else "–"
        table.add_row(label, form.format(snoozer[name]), form.format(floor[name]), ratio)
    return table


def _report(outcomes: Sequence[Outcome], load: Load, *, work: tuple[float, float]) -> dict[str, object]:
    snoozer, floor = (_medians(outcomes, who) for who in WHO)
    return {
        "load": asdict(load) | {"work_ms": list(work)},
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "snoozer": snoozer,
        "floor": floor,
        "ratios": _ratios(snoozer, floor),
        "rounds": [asdict(outcome) for outcome in outcomes],
    }
