"""Measures what the workers of a contestant use while no row is due."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.comparison.contestants import AtWork, Contestant, at_work
from bench.comparison.stage import Stage
from bench.idle import WARM_UP_SECONDS, wait
from bench.report import StartStage, table
from bench.schedule import Schedule
from bench.statement_log import logged_statements
from bench.usage import tree_cpu_seconds

DAY = 86_400.0
ASLEEP = 100
MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class Idleness:
    """Usage a minute of all workers of a contestant. CPU is in milliseconds; `statements` includes BEGIN and COMMIT, or
    counts the broker's commands."""

    who: str
    worker_cpu_ms: float
    server_cpu_ms: float
    statements: float


def measure(contestant: Contestant, stage: Stage, *, seconds: float, start_stage: StartStage) -> Idleness:
    """Watch its workers twice for `seconds`, with a few jobs due tomorrow in the queue. Raises BenchError."""
    length = round(seconds)
    with at_work(contestant, stage) as workers:
        workers.enqueue(Schedule(rows=ASLEEP, start=time.time() + DAY))
        time.sleep(WARM_UP_SECONDS)
        servers = [stage.environment.server_pid, *([workers.broker.pid] if workers.broker else [])]
        before, start = [_cpu(workers.pids), _cpu(servers)], time.monotonic()
        wait(seconds, progress=start_stage(f"idle: {contestant.name}", length))
        elapsed = time.monotonic() - start
        used = [_cpu(workers.pids) - before[0], _cpu(servers) - before[1]]
        statements = _statements(workers, stage, seconds=seconds, start_stage=start_stage, who=contestant.name)
    each_minute = MINUTE / elapsed
    return Idleness(
        who=contestant.name,
        worker_cpu_ms=1000 * used[0] * each_minute,
        server_cpu_ms=1000 * used[1] * each_minute,
        statements=statements * MINUTE / seconds,
    )


def _cpu(pids: Sequence[int]) -> float:
    return sum(map(tree_cpu_seconds, pids))


def _statements(workers: AtWork, stage: Stage, *, seconds: float, start_stage: StartStage, who: str) -> int:
    progress = start_stage(f"idle, statements are counted: {who}", round(seconds))
    if workers.broker:
        before = workers.broker.commands()
        wait(seconds, progress=progress)
        return workers.broker.commands() - before
    with logged_statements(stage.environment) as log:
        wait(seconds, progress=progress)
        return len(log.verbs())


def idle_table(idle: Sequence[Idleness], *, processes: int) -> Table:
    """A row for each contestant."""
    return table(
        f"{processes} idle workers of each, in a minute",
        ("", "worker CPU, ms", "server CPU, ms", "statements"),
        [(one.who, f"{one.worker_cpu_ms:,.0f}", f"{one.server_cpu_ms:,.0f}", f"{one.statements:,.0f}") for one in idle],
        caption="The server is the database's, of Celery also Redis, whose commands stand as statements.",
    )
