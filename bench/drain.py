"""`bench drain`: rows due at once are drained by Snoozer's workers and by the baseline, in turn."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click
from rich.table import Table

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.report import BenchError, Line, Progress, open_console, progress_bar, table, write_json, write_svg
from bench.statements import execute
from bench.usage import children_cpu_seconds, counters, has_proc, tree_cpu_seconds
from snoozer.resources import PYTHON_MODULE

POLL_SECONDS = 0.25
COSTS = ("cpu_ms", "work_cpu_ms", "server_cpu_ms", "commits", "wal_bytes")
START_POLL_SECONDS = 0.02
FIGURES = ("rate", "p50_wait", "p99_wait", "reaped_percent", "duplicates", *COSTS)
# Figures whose quotient means something; the others are zero, or should be.
RATIOS = ("rate", "p50_wait", "p99_wait", *COSTS)
CONTESTANTS = ("snoozer", "baseline")
LABELS = {
    "rate": ("reminders a second", "{:,.0f}"),
    "p50_wait": ("wait, p50 (s)", "{:.2f}"),
    "p99_wait": ("wait, p99 (s)", "{:.2f}"),
    "reaped_percent": ("claims reaped (%)", "{:.2f}"),
    "duplicates": ("sent again", "{:.0f}"),
    "cpu_ms": ("worker CPU each (ms)", "{:.2f}"),
    "work_cpu_ms": ("the same without starting (ms)", "{:.2f}"),
    "server_cpu_ms": ("server CPU each (ms)", "{:.2f}"),
    "commits": ("commits each", "{:.2f}"),
    "wal_bytes": ("WAL each (bytes)", "{:,.0f}"),
}


@dataclass(frozen=True, kw_only=True)
class Load:
    """The rows to drain and the workers that drain them. `concurrency` is the sum over all processes."""

    rows: int
    processes: int
    concurrency: int
    batch: int

    @property
    def concurrency_each(self) -> int:
        """Deliveries at once in each process."""
        return max(1, self.concurrency // self.processes)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The figures of one run. Waits are seconds from the first claim to the mail server's 250.

    For each reminder, `cpu_ms` is the CPU time of the workers, `work_cpu_ms` their CPU time since the first claim, and
    `server_cpu_ms` the database server's. All are 0 without /proc.
    """

    who: str
    rows: int
    seconds: float
    rate: float
    p50_wait: float
    p99_wait: float
    reaped_percent: float
    duplicates: int
    cpu_ms: float
    work_cpu_ms: float
    server_cpu_ms: float
    commits: float
    wal_bytes: float
    timeline: tuple[tuple[float, int], ...]


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
    workers and then the baseline: the same statements and as many mails in a bare loop that checks nothing. Figures of
    different machines cannot be compared; the ratios can.
    """
    options.check_work(work)
    options.check_concurrency(concurrency, processes=processes)
    load = Load(rows=rows, processes=processes, concurrency=concurrency, batch=batch)
    console = open_console()
    with progress_bar(console) as start_stage, scratch_environment(work=work) as environment:
        results = [
            measure(who, environment, load, progress=start_stage(f"round {number} of {rounds}: {who}", rows))
            for number in range(1, rounds + 1)
            for who in CONTESTANTS
        ]
    console.print(_table(results, load))
    write_json("drain", _report(results, load, work=work), to=to_json)
    lines = [Line(name=result.who, points=result.timeline) for result in results[-len(CONTESTANTS) :]]
    write_svg(lines, label="Reminders sent over time", to=to_svg)


def measure(
    who: str,
    environment: Environment,
    load: Load,
    *,
    progress: Progress,
    on_start: Callable[[], None] = lambda: None,
) -> Result:
    """Drain `load.rows` due rows by Snoozer's own workers ("snoozer") or by the bare loop.

    The loop sends canned mails ("baseline") or composes them as Snoozer does ("baseline, composing").
    `on_start` is called when the rows are there. Raises BenchError when a process fails.
    """
    seed.reset(environment)
    with baseline.connect(environment.url) as database:
        seed.copy_due(database, rows=load.rows)
    seed.analyze(environment.engine)
    on_start()
    before, cpu, server_cpu = counters(environment.engine), children_cpu_seconds(), _server_cpu_seconds(environment)
    timeline, start_cpu = _run(who, environment, load, progress=progress)
    after, cpu = counters(environment.engine), children_cpu_seconds() - cpu
    server_cpu = _server_cpu_seconds(environment) - server_cpu
    with environment.engine.connect() as connection:
        outcome = execute(connection, "outcome").one()
    if not outcome.seconds:
        raise BenchError(f"Nothing was sent by {who}")
    return Result(
        who=who,
        rows=load.rows,
        seconds=outcome.seconds,
        rate=load.rows / outcome.seconds,
        p50_wait=outcome.p50,
        p99_wait=outcome.p99,
        reaped_percent=100 * outcome.reaped / load.rows,
        duplicates=outcome.duplicates,
        cpu_ms=1000 * cpu / load.rows,
        work_cpu_ms=1000 * (cpu - start_cpu) / load.rows if has_proc() else 0.0,
        server_cpu_ms=1000 * server_cpu / load.rows,
        commits=(after["commits"] - before["commits"]) / load.rows,
        wal_bytes=(after["wal"] - before["wal"]) / load.rows,
        timeline=timeline,
    )


def _run(
    who: str, environment: Environment, load: Load, *, progress: Progress
) -> tuple[tuple[tuple[float, int], ...], float]:
    """Start the processes and wait for their end.

    How many reminders were sent after how many seconds, and the CPU that the processes had used at the first claim.
    """
    start, points = time.monotonic(), [(0.0, 0)]
    commands = _worker_commands(load) if who == "snoozer" else _baseline_commands(who, environment, load)
    processes = [subprocess.Popen(command, cwd=environment.checkout, env=environment.variables) for command in commands]
    try:
        start_cpu = _start_cpu_seconds(environment, processes)
        while any(process.poll() is None for process in processes):
            time.sleep(POLL_SECONDS)
            with environment.engine.connect() as connection:
                done = execute(connection, "sent_count").scalar_one()
            points.append((time.monotonic() - start, done))
            progress(done)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    if codes := [process.returncode for process in processes if process.returncode]:
        raise BenchError(f"A process of {who} ended with {codes[0]}")
    return tuple(points), start_cpu


def _start_cpu_seconds(environment: Environment, processes: "Sequence[subprocess.Popen[bytes]]") -> float:
    """Wait until a process has claimed a row; return the CPU seconds that all of them have used by then."""
    with environment.engine.connect() as connection:
        while not execute(connection, "has_begun").scalar_one() and all(one.poll() is None for one in processes):
            connection.rollback()
            time.sleep(START_POLL_SECONDS)
    return sum(tree_cpu_seconds(process.pid) for process in processes) if has_proc() else 0.0


def _worker_commands(load: Load) -> list[list[str]]:
    worker_options = [f"--batch={load.batch}", f"--concurrency={load.concurrency_each}", "--drain"]
    return [[*PYTHON_MODULE, "snoozer", "worker", *worker_options] for _ in range(load.processes)]


def _baseline_commands(who: str, environment: Environment, load: Load) -> list[list[str]]:
    mail = "canned" if who == "baseline" else "composed"
    arguments = [environment.url, str(environment.smtp_port), str(load.batch), str(load.concurrency_each)]
    return [
        [*PYTHON_MODULE, "bench.baseline", *arguments, f"baseline-{number}", mail] for number in range(load.processes)
    ]


def _server_cpu_seconds(environment: Environment) -> float:
    return tree_cpu_seconds(environment.server_pid) if has_proc() else 0.0


def _medians(results: Sequence[Result], who: str) -> dict[str, float]:
    rounds = [asdict(result) for result in results if result.who == who]
    return {name: median(one[name] for one in rounds) for name in FIGURES}


def _ratios(snoozer: dict[str, float], baseline: dict[str, float]) -> dict[str, float]:
    return {name: snoozer[name] / baseline[name] for name in RATIOS if baseline[name]}


def _table(results: Sequence[Result], load: Load) -> Table:
    snoozer, baseline = (_medians(results, who) for who in CONTESTANTS)
    ratios = {name: f"{ratio:.2f}" for name, ratio in _ratios(snoozer, baseline).items()}
    rows = [
        (
            label,
            form.format(snoozer[name]),
            form.format(baseline[name]),
            ratios.get(name, "–"),
        )
        for name, (label, form) in LABELS.items()
    ]
    return table(
        f"{load.rows:,} reminders by {load.processes} × {load.concurrency // load.processes}, in {load.batch}s",
        ("", "Snoozer", "baseline", "ratio"),
        rows,
        caption="Medians. The baseline is a bare loop over the same statements that renders and checks nothing.",
    )


def _report(results: Sequence[Result], load: Load, *, work: tuple[float, float]) -> dict[str, object]:
    snoozer, baseline = (_medians(results, who) for who in CONTESTANTS)
    return {
        "load": asdict(load) | {"work_ms": list(work)},
        "snoozer": snoozer,
        "baseline": baseline,
        "ratios": _ratios(snoozer, baseline),
        "rounds": [asdict(result) for result in results],
    }
