"""One drain of one contestant: rows that are due at once, until the last mail was accepted."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace

from rich.table import Table
from sqlalchemy import URL, make_url, text

from bench import drain
from bench.comparison.contestants import BASELINE, Contestant, empty_queue
from bench.comparison.figures import Run
from bench.comparison.stage import Stage
from bench.drain import POLL_SECONDS
from bench.environment import ROOT, Environment
from bench.peers import journal
from bench.peers.queue import PeerQueue
from bench.report import BenchError, Progress, percentile, table
from bench.schedule import Schedule
from bench.statement_log import OVERHEAD_VERBS, logged_statements
from bench.usage import children_cpu_seconds, counters, has_proc, tree_cpu_seconds
from snoozer.db.engine import autocommit, make_engine

STALLED_SECONDS = 60.0
OTHER_DATABASE = "before"


@dataclass(frozen=True, kw_only=True)
class Statements:
    """The statements per job that a contestant sends to its database (or commands to its broker), including start-up.

    `statements` does not count BEGIN, COMMIT and ROLLBACK.
    """

    who: str
    statements: float
    commits: float
    commits_a_batch: float


def measure(
    contestant: Contestant,
    stage: Stage,
    *,
    rows: int,
    number: int,
    progress: Progress,
    on_start: Callable[[], None] = lambda: None,
) -> Run:
    """Drain `rows` rows in round `number`. Raises BenchError when not every job was done."""
    before = stage.mail_server.accepted()
    if contestant.is_peer:
        run = _measure_peer(contestant, stage, rows=rows, number=number, progress=progress, on_start=on_start)
    else:
        run = _measure_ours(contestant, stage, rows=rows, number=number, progress=progress, on_start=on_start)
    after = stage.mail_server.accepted()
    if before is None or after is None:
        return run
    return replace(run, mails=after - before, duplicates=max(run.duplicates, after - before - rows))


def count_statements(contestant: Contestant, stage: Stage, *, rows: int, progress: Progress) -> Statements:
    """Drain once more, with each statement in the server's log."""
    with logged_statements(stage.environment) as log:
        run = measure(contestant, stage, rows=rows, number=0, progress=progress, on_start=log.restart)
        count = sum(verb not in OVERHEAD_VERBS for verb in log.verbs())
    return Statements(
        who=contestant.name,
        statements=run.commands if run.commands is not None else count / rows,
        commits=run.commits,
        commits_a_batch=run.commits * contestant.batch,
    )


def statement_table(statements: Sequence[Statements]) -> Table:
    """A row for each contestant that composes."""
    return table(
        "Statements",
        ("", "each job", "commits each", "commits a batch"),
        [(one.who, f"{one.statements:.3f}", f"{one.commits:.3f}", f"{one.commits_a_batch:,.1f}") for one in statements],
        caption="Start-up included, BEGIN and COMMIT not; of Celery the commands to Redis.",
    )


def _measure_ours(
    contestant: Contestant,
    stage: Stage,
    *,
    rows: int,
    number: int,
    progress: Progress,
    on_start: Callable[[], None],
) -> Run:
    composes = contestant.queue == BASELINE and contestant.does == "compose"
    who = f"{BASELINE}, composing" if composes else contestant.queue
    load = contestant.load(rows=rows, processes=stage.processes)
    with _environment_of(contestant, stage) as environment:
        result = asdict(drain.measure(who, environment, load, progress=progress, on_start=on_start))
    names = {field.name for field in fields(Run)} - {"who"}
    figures = {name: value for name, value in result.items() if name in names}
    return Run(**figures, who=contestant.name, round=number, mails=None, commands=None)


@contextmanager
def _environment_of(contestant: Contestant, stage: Stage) -> Iterator[Environment]:
    """The same servers; for another checkout with a database of its own."""
    if contestant.checkout == ROOT:
        yield stage.environment
        return
    with autocommit(stage.environment.engine) as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {OTHER_DATABASE} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {OTHER_DATABASE}"))
    url = make_url(stage.environment.url).set(database=OTHER_DATABASE)
    engine = make_engine(_text(url.set(drivername="postgresql+psycopg")), name="bench", pool_size=4)
    try:
        yield replace(stage.environment, engine=engine, url=_text(url), checkout=contestant.checkout)
    finally:
        engine.dispose()


def _text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


def _measure_peer(
    contestant: Contestant,
    stage: Stage,
    *,
    rows: int,
    number: int,
    progress: Progress,
    on_start: Callable[[], None],
) -> Run:
    with empty_queue(contestant, stage) as queue:
        queue.enqueue(Schedule(rows=rows))
        queue.analyze()
        on_start()
        before, cpu, server_cpu = counters(queue.engine), children_cpu_seconds(), _server_cpu(queue, stage)
        commands = queue.broker.commands() if queue.broker else 0
        with queue.working() as pids:
            start_cpu = sum(map(tree_cpu_seconds, pids)) if has_proc() else 0.0
            _wait_until_done(queue, rows=rows, progress=progress)
        # Once the workers have ended, as their last acknowledgements belong to the jobs.
        cpu, after = children_cpu_seconds() - cpu, counters(queue.engine)
        server_cpu = _server_cpu(queue, stage) - server_cpu
        commands = queue.broker.commands() - commands if queue.broker else 0
        done = journal.read(queue.journal)
    began = min(one.began for one in done)
    waits = [one.ended - began for one in done]
    if len({one.number for one in done}) != rows:
        raise BenchError(f"{contestant.name} did {len(done)} of {rows} jobs")
    return Run(
        who=contestant.name,
        round=number,
        rows=rows,
        seconds=waits[-1],
        rate=rows / waits[-1],
        p50_wait=percentile(waits, 0.5),
        p99_wait=percentile(waits, 0.99),
        cpu_ms=1000 * cpu / rows,
        work_cpu_ms=1000 * (cpu - start_cpu) / rows if has_proc() else 0.0,
        server_cpu_ms=1000 * server_cpu / rows,
        # A queue with a broker does not use the database server; its own background work must not be counted.
        commits=0.0 if queue.broker else (after["commits"] - before["commits"]) / rows,
        wal_bytes=0.0 if queue.broker else (after["wal"] - before["wal"]) / rows,
        duplicates=len(done) - rows,
        mails=None,
        commands=commands / rows if queue.broker else None,
    )


def _wait_until_done(queue: PeerQueue, *, rows: int, progress: Progress) -> None:
    done, moved = 0, time.monotonic()
    while done < rows:
        # Polled as often as Snoozer's tables, so that polling costs every contestant the same.
        time.sleep(POLL_SECONDS)
        before, done = done, journal.count(queue.journal)
        moved = time.monotonic() if done > before else moved
        progress(done)
        if time.monotonic() - moved > STALLED_SECONDS:
            raise BenchError(f"{queue.name} did nothing for {STALLED_SECONDS:g} s, and {rows - done} jobs are left")


def _server_cpu(queue: PeerQueue, stage: Stage) -> float:
    """Return the CPU seconds of the database server and of the broker; 0 without /proc."""
    pids = [stage.environment.server_pid, *([queue.broker.pid] if queue.broker else [])]
    return sum(map(tree_cpu_seconds, pids)) if has_proc() else 0.0
