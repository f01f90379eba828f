"""`bench batches`: what a reminder costs the database server in small batches and in large ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.report import Progress, open_console, progress_bar, table, write_json
from bench.usage import counters, cpu_seconds, tree_cpu_seconds

STEPS = ("claim", "authorise", "record and finalize")
WANTED_RATIO = 1.3


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Milliseconds of CPU for one reminder: of all processes of the server, of the session, of each step in it."""

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
    console = open_console()
    costs: list[Cost] = []
    with progress_bar(console) as start_stage, scratch_environment(work=(0, 0)) as environment:
        for number in range(1, rounds + 1):
            for size in sizes:
                progress = start_stage(f"round {number} of {rounds}: {size}", rows)
                costs.append(measure(environment, size=size, rows=rows, progress=progress))
    medians = [_medians([cost for cost in costs if cost.size == size]) for size in sorted(set(sizes))]
    console.print(
        table(
            f"Server CPU for each of {rows:,} reminders, in milliseconds",
            ("batch", "server", "ratio", "session", *STEPS, "commits", "WAL (bytes)"),
            [_row(cost, largest=medians[-1]) for cost in medians],
            caption=f"Medians. Wanted: a ratio of {WANTED_RATIO} at the most for batches of 10 beside those of 50.",
        )
    )
    write_json(
        "batches",
        {"rows": rows, "medians": [asdict(cost) for cost in medians], "rounds": [asdict(cost) for cost in costs]},
        to=to_json,
    )


def measure(environment: Environment, *, size: int, rows: int, progress: Progress) -> Cost:
    """Drain `rows` due rows in batches of `size`, without sending anything."""
    seed.reset(environment)
    with baseline.connect(environment.url) as database:
        seed.copy_due(database, rows=rows)
    seed.analyze(environment.engine)
    before, server, done = counters(environment.engine), tree_cpu_seconds(environment.server_pid), 0
    steps = [0.0] * len(STEPS)
    with baseline.connect(environment.url) as database:
        pid, batches = database.info.backend_pid, baseline.batches(database, size=size, worker="bench")
        while True:
            marks = [cpu_seconds(pid)]
            sends = next(batches, None)
            if sends is None:
                break
            marks.append(cpu_seconds(pid))
            baseline.authorise(database, sends)
            marks.append(cpu_seconds(pid))
            baseline.finish(database, sends)
            marks.append(cpu_seconds(pid))
            steps = [total + after - start for total, start, after in zip(steps, marks, marks[1:], strict=False)]
            done += len(sends)
            progress(done)
        server = tree_cpu_seconds(environment.server_pid) - server
    after = counters(environment.engine)
    return Cost(
        size=size,
        rows=done,
        server_ms=1000 * server / done,
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


def _row(cost: Cost, *, largest: Cost) -> tuple[str, ...]:
    return (
        str(cost.size),
        f"{cost.server_ms:.3f}",
        f"{cost.server_ms / largest.server_ms:.2f}",
        f"{cost.session_ms:.3f}",
        *(f"{step:.3f}" for step in cost.steps_ms),
        f"{cost.commits:.3f}",
        f"{cost.wal_bytes:,.0f}",
    )
