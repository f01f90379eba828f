"""`snoozer bench batches`: what a reminder costs the database server in small batches and in large ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click
from rich.console import Console

from snoozer.bench import floor, options
from snoozer.bench.ground import Ground, ground
from snoozer.bench.processes import cpu_seconds, family_cpu_seconds
from snoozer.bench.run import Progress, begin_anew, counters, seed, settle
from snoozer.bench.telling import bar, table, write

STATEMENTS = ("claim and reserve", "mark", "record and finalize")
WANTED = 1.3


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Milliseconds of the server's CPU for one reminder: of all its processes, of the session, of each step in it."""

    size: int
    rows: int
    server_ms: float
    session_ms: float
    steps_ms: tuple[float, ...]
    commits: float
    wal_bytes: float


@click.command(name="batches", short_help="What a reminder costs the database in small batches and in large ones.")
@options.rows
@click.option(
    "--size", "sizes", type=click.IntRange(1, 1000), multiple=True, default=(10, 50), show_default=True,
    help="Rows claimed at once; several times for several sizes.",
)  # fmt: skip
@options.rounds()
@options.to_json
def command(rows: int, sizes: tuple[int, ...], rounds: int, to_json: Path | None) -> None:
    """Drive the statements of a delivery from a bare loop, without mail, and read what PostgreSQL uses from /proc.

    Say --size several times for several sizes; ratios are against the largest.
    """
    console = Console()
    costs: list[Cost] = []
    with bar(console) as begin, ground(work=(0, 0)) as here:
        for number in range(1, rounds + 1):
            costs += [
                measure(here, size=size, rows=rows, progress=begin(f"round {number} of {rounds}: {size}", rows))
                for size in sizes
            ]
    medians = [_medians([cost for cost in costs if cost.size == size]) for size in sorted(set(sizes))]
    largest = medians[-1]
    headings = ("batch", "server", "ratio", "session", *STATEMENTS, "commits", "WAL (bytes)")
    console.print(
        table(
            f"Server CPU for each of {rows:,} reminders, in milliseconds",
            headings,
            [_row(one, beside=largest) for one in medians],
            caption=f"Medians. Wanted: a ratio of {WANTED} at the most for batches of 10 beside those of 50.",
        )
    )
    write(
        "batches",
        {"rows": rows, "medians": [asdict(one) for one in medians], "rounds": [asdict(one) for one in costs]},
        to=to_json,
    )


def measure(ground: Ground, *, size: int, rows: int, progress: Progress) -> Cost:
    """Drain `rows` due rows in batches of `size`, without sending anything."""
    begin_anew(ground.engine)
    seed(ground.engine, rows=rows)
    settle(ground.engine)
    before, server, done = counters(ground.engine), family_cpu_seconds(ground.server_pid), 0
    steps = [0.0] * len(STATEMENTS)
    with floor.bare(ground.url) as database:
        pid, begun = database.info.backend_pid, floor.batches(database, size=size, worker="bench")
        while True:
            marks = [cpu_seconds(pid)]
            sends = next(begun, None)
            if sends is None:
                break
            marks.append(cpu_seconds(pid))
            floor.mark(database, sends)
            marks.append(cpu_seconds(pid))
            floor.finish(database, sends)
            marks.append(cpu_seconds(pid))
            steps = [spent + after - start for spent, start, after in zip(steps, marks, marks[1:], strict=False)]
            done += len(sends)
            progress(done)
        spent = family_cpu_seconds(ground.server_pid) - server
    after = counters(ground.engine)
    return Cost(
        size=size,
        rows=done,
        server_ms=1000 * spent / done,
        session_ms=1000 * sum(steps) / done,
        steps_ms=tuple(1000 * step / done for step in steps),
        commits=(after["commits"] - before["commits"]) / done,
        wal_bytes=(after["wal"] - before["wal"]) / done,
    )


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(
        size=costs[0].size,
        rows=costs[0].rows,
        server_ms=median(cost.server_ms for cost in costs),
        session_ms=median(cost.session_ms for cost in costs),
        steps_ms=tuple(median(steps) for steps in zip(*(cost.steps_ms for cost in costs), strict=True)),
        commits=median(cost.commits for cost in costs),
        wal_bytes=median(cost.wal_bytes for cost in costs),
    )


def _row(cost: Cost, *, beside: Cost) -> tuple[str, ...]:
    return (
        str(cost.size),
        f"{cost.server_ms:.3f}",
        f"{cost.server_ms / beside.server_ms:.2f}",
        f"{cost.session_ms:.3f}",
        *(f"{step:.3f}" for step in cost.steps_ms),
        f"{cost.commits:.3f}",
        f"{cost.wal_bytes:,.0f}",
    )
