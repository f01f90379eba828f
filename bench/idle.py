"""`bench idle`: the load of idle workers on the database and the machine."""

import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.report import Progress, StartStage, open_console, progress_bar, table, write_json
from bench.statement_log import OVERHEAD_VERBS, logged_statements
from bench.statements import execute
from bench.usage import counters, cpu_seconds, resident_bytes, tree_cpu_seconds
from bench.workers import running_workers

WANTED_SHARE = 5.0
WANTED_WORKER_SHARE = 1.0
WANTED_QUERIES = 2.0
CONNECTIONS_PER_WORKER = 4
WARM_UP_SECONDS = 6.0
POLL_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Idleness:
    """Usage of `workers` idle workers while no row was due. Shares are per cent of one core."""

    workers: int
    server_share: float
    server_share_without: float
    worker_share: float
    transactions: float
    statements: dict[str, float]
    connections: float
    worker_bytes: float

    @property
    def queries(self) -> float:
        """Statements per second and worker, without OVERHEAD_VERBS."""
        return sum(rate for verb, rate in self.statements.items() if verb not in OVERHEAD_VERBS)


@click.command(name="idle", short_help="What workers with nothing to do cost the database.")
@click.option("--workers", type=click.IntRange(1, 500), default=64, show_default=True, help="Worker processes.")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="How long they are watched.")
@click.option("--future", type=click.IntRange(0), default=100_000, show_default=True, help="Rows that are asleep.")
@options.to_json
def command(workers: int, seconds: int, future: int, to_json: Path | None) -> None:
    """Watch WORKERS idle worker processes; each of them needs about 90 MB of memory."""
    console = open_console()
    connections = CONNECTIONS_PER_WORKER * workers + 20
    with (
        progress_bar(console) as start_stage,
        scratch_environment(work=(0, 0), connections=connections) as environment,
    ):
        idleness = measure(environment, workers=workers, seconds=seconds, future=future, start_stage=start_stage)
    console.print(_table(idleness))
    write_json("idle", asdict(idleness) | {"queries": idleness.queries}, to=to_json)


def measure(
    environment: Environment, *, workers: int, seconds: float, future: int, start_stage: StartStage
) -> Idleness:
    """Measure the server alone, then with workers, then for as long again with each statement in its log."""
    with baseline.connect(environment.url) as database:
        seed.copy_asleep(database, rows=future, progress=start_stage(f"{future:,} rows are inserted", future))
    engine, length = environment.engine, round(seconds)
    seed.analyze(engine)
    alone = _server_share(environment, seconds=seconds, progress=start_stage("the server alone", length))
    progress = start_stage(f"{workers} workers start", workers)
    with running_workers(environment, count=workers, progress=progress) as pids:
        time.sleep(WARM_UP_SECONDS)
        before, cpu, start = counters(engine), sum(map(cpu_seconds, pids)), time.monotonic()
        share = _server_share(environment, seconds=seconds, progress=start_stage("nothing is due", length))
        elapsed = time.monotonic() - start
        after, cpu = counters(engine), sum(map(cpu_seconds, pids)) - cpu
        with engine.connect() as connection:
            sessions = len(execute(connection, "sessions").all())
        memory = sum(map(resident_bytes, pids))
        statements = _statements(environment, seconds=seconds, progress=start_stage("statements are counted", length))
    return Idleness(
        workers=workers,
        server_share=share,
        server_share_without=alone,
        worker_share=100 * cpu / elapsed / workers,
        transactions=(after["commits"] - before["commits"]) / elapsed / workers,
        statements={verb: count / seconds / workers for verb, count in sorted(statements.items())},
        connections=sessions / workers,
        worker_bytes=memory / workers,
    )


def wait(seconds: float, *, progress: Progress) -> None:
    """Wait, and report the seconds that have passed."""
    start = time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        time.sleep(min(POLL_SECONDS, seconds - passed))
        progress(round(passed))


def _server_share(environment: Environment, *, seconds: float, progress: Progress) -> float:
    before, start = tree_cpu_seconds(environment.server_pid), time.monotonic()
    wait(seconds, progress=progress)
    return 100 * (tree_cpu_seconds(environment.server_pid) - before) / (time.monotonic() - start)


def _statements(environment: Environment, *, seconds: float, progress: Progress) -> Counter[str]:
    with logged_statements(environment) as log:
        wait(seconds, progress=progress)
        return Counter(log.verbs())


def _table(idleness: Idleness) -> Table:
    def row(what: str, each: float, form: str = ".2f", wanted: str = "") -> tuple[str, ...]:
        return (what, format(each * idleness.workers, form), format(each, form), wanted)

    share = idleness.server_share / idleness.workers
    without = f"{idleness.server_share_without:.2f}"
    return table(
        f"{idleness.workers} idle workers",
        ("", "all", "each", "wanted"),
        [
            row("database's CPU (% of a core)", share, ".3f", f"≤ {WANTED_SHARE:g} in all"),
            ("the same without them", without, "–", ""),
            row("their own CPU (% of a core)", idleness.worker_share, wanted=f"≤ {WANTED_WORKER_SHARE:g} each"),
            row("queries a second", idleness.queries, wanted=f"≤ {WANTED_QUERIES:g} each"),
            *(row(f"  {verb}", rate) for verb, rate in idleness.statements.items()),
            row("transactions a second", idleness.transactions),
            row("connections", idleness.connections, ".1f"),
            row("memory (MB)", idleness.worker_bytes / 1e6, ",.0f"),
        ],
    )
