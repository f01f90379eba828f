"""`snoozer bench drain`: rows due at once, workers at them, figures beside those of a bare loop in the same minutes."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from snoozer.bench import options
from snoozer.bench.ground import ground
from snoozer.bench.plot import Line, svg
from snoozer.bench.run import Load, Outcome, measure
from snoozer.bench.telling import bar, draw, table, write

COSTS = ("cpu_ms", "server_cpu_ms", "commits", "wal_bytes")
FIGURES = ("rate", "p50_wait", "p99_wait", "reaped_percent", "duplicates", *COSTS)
# Figures whose quotient says something; the others are zero, or should be.
RATIOS = ("rate", "p50_wait", "p99_wait", *COSTS)
WHO = ("snoozer", "floor")


@click.command(name="drain", short_help="How fast reminders leave that are due at once, beside a bare loop.")
@options.rows
@options.processes(default=2)
@options.concurrency(default=32, help="Deliveries at once.")
@options.batch()
@options.work(default=(2.0, 5.0))
@options.rounds()
@options.to_json
@options.to_svg
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
    options.check_work(work)
    options.check_concurrency(concurrency, processes=processes)
    load = Load(rows=rows, processes=processes, concurrency=concurrency, batch=batch)
    console = Console()
    outcomes = _measured(load, work=work, rounds=rounds, console=console)
    console.print(_table(outcomes, load))
    write("drain", _report(outcomes, load, work=work), to=to_json)
    draw(_picture(outcomes[-len(WHO) :]), to=to_svg)


def _measured(load: Load, *, work: tuple[float, float], rounds: int, console: Console) -> list[Outcome]:
    with bar(console) as begin, ground(work=work) as here:
        return [
            measure(who, here, load, progress=begin(f"round {number} of {rounds}: {who}", load.rows))
            for number in range(1, rounds + 1)
            for who in WHO
        ]


def _medians(outcomes: Sequence[Outcome], who: str) -> dict[str, float]:
    mine = [asdict(outcome) for outcome in outcomes if outcome.who == who]
    return {name: median(one[name] for one in mine) for name in FIGURES}


def _ratios(snoozer: dict[str, float], floor: dict[str, float]) -> dict[str, float]:
    return {name: snoozer[name] / floor[name] for name in RATIOS if floor[name]}


def _table(outcomes: Sequence[Outcome], load: Load) -> Table:
    snoozer, floor = (_medians(outcomes, who) for who in WHO)
    ratios = _ratios(snoozer, floor)
    words = {
        "rate": ("reminders a second", "{:,.0f}"),
        "p50_wait": ("wait, p50 (s)", "{:.2f}"),
        "p99_wait": ("wait, p99 (s)", "{:.2f}"),
        "reaped_percent": ("claims reaped (%)", "{:.2f}"),
        "duplicates": ("sent again", "{:.0f}"),
        "cpu_ms": ("worker CPU each (ms)", "{:.2f}"),
        "server_cpu_ms": ("server CPU each (ms)", "{:.2f}"),
        "commits": ("commits each", "{:.2f}"),
        "wal_bytes": ("WAL each (bytes)", "{:,.0f}"),
    }
    rows = [
        (
            words[name][0],
            words[name][1].format(snoozer[name]),
            words[name][1].format(floor[name]),
            f"{ratios[name]:.2f}" if name in ratios else "–",
        )
        for name in FIGURES
    ]
    return table(
        f"{load.rows:,} reminders by {load.processes} × {load.concurrency // load.processes}, in {load.batch}s",
        ("", "Snoozer", "floor", "ratio"),
        rows,
        caption="Medians. The floor is a bare loop over the same statements that renders and checks nothing.",
    )


def _picture(outcomes: Sequence[Outcome]) -> str:
    lines = [Line(name=outcome.who, points=outcome.timeline) for outcome in outcomes]
    return svg(lines, what="Reminders sent over time")


def _report(outcomes: Sequence[Outcome], load: Load, *, work: tuple[float, float]) -> dict[str, object]:
    snoozer, floor = (_medians(outcomes, who) for who in WHO)
    return {
        "load": asdict(load) | {"work_ms": list(work)},
        "snoozer": snoozer,
        "floor": floor,
        "ratios": _ratios(snoozer, floor),
        "rounds": [asdict(outcome) for outcome in outcomes],
    }
