"""One run of another queue: a database of its own, filled by its own means, drained by its own workers."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, text

from bench.drain import POLL_SECONDS, Load
from bench.environment import ROOT, Environment
from bench.figures import Run
from bench.report import BenchError, Progress
from bench.usage import children_cpu_seconds, counters
from snoozer.db.engine import autocommit, make_engine

SQL = Path(__file__).parent / "sql"
DATABASE = "peer"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """Another queue, what its jobs do ("sleep", "send", "compose", "library"), and its best settings for that.

    `parallel` is how many jobs are at work side by side in one process.
    """

    name: str
    queue: str
    does: str
    parallel: int
    batch: int


@dataclass(frozen=True, kw_only=True)
class PeerRun:
    """One run of a peer: its round, its interpreter, the file with the canned mail, the shortest and longest sleep."""

    number: int
    python: Path
    message: Path
    sleeps: tuple[float, float]


def measure_peer(peer: Peer, environment: Environment, load: Load, run: PeerRun, *, progress: Progress) -> Run:
    """Drain `load.rows` jobs by `load.processes` of its workers. Raises BenchError when not every job was done."""
    with _database(environment) as (engine, url):
        task = json.dumps(
            {
                "url": url,
                "rows": load.rows,
                "does": peer.does,
                "smtp_port": environment.smtp_port,
                "sleeps": run.sleeps,
                "parallel": peer.parallel,
                "batch": peer.batch,
                "message": str(run.message),
            }
        )
        worker = [str(run.python), "-m", f"bench.peers.{peer.queue}_worker"]
        subprocess.run([*worker, "prepare", task], cwd=ROOT, env=_variables(), check=True)
        _analyze(engine)
        before, cpu = counters(engine), children_cpu_seconds()
        numbers = _run_workers(peer, engine, [[*worker, "work", task]] * load.processes, progress=progress)
        cpu, after = children_cpu_seconds() - cpu, counters(engine)
        outcome = _fetch_one(engine, _outcome_sql(peer.queue))
    if outcome["done"] != load.rows or len(set(numbers)) != load.rows:
        raise BenchError(f"{peer.name} did {outcome['done']} of {load.rows} jobs")
    return Run(
        who=peer.name,
        round=run.number,
        rows=load.rows,
        seconds=outcome["seconds"],
        rate=load.rows / outcome["seconds"],
        p50_wait=outcome["p50"],
        p99_wait=outcome["p99"],
        cpu_ms=1000 * cpu / load.rows,
        commits=(after["commits"] - before["commits"]) / load.rows,
        wal_bytes=(after["wal"] - before["wal"]) / load.rows,
        duplicates=len(numbers) - len(set(numbers)),
        mails=None,
    )


def _run_workers(peer: Peer, engine: Engine, commands: Sequence[Sequence[str]], *, progress: Progress) -> list[int]:
    """The numbers of the jobs that the workers report as done; one that was done twice is there twice."""
    with ExitStack() as stack:
        outputs: list[IO[bytes]] = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands]
        workers = [
            subprocess.Popen(command, cwd=ROOT, env=_variables(), stdout=output)
            for command, output in zip(commands, outputs, strict=True)
        ]
        try:
            # Polled as often as Snoozer's tables, so that polling costs every contestant the same.
            while any(worker.poll() is None for worker in workers):
                time.sleep(POLL_SECONDS)
                progress(next(iter(_fetch_one(engine, _sql(peer.queue, "done")).values())))
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()
        if codes := [worker.returncode for worker in workers if worker.returncode]:
            raise BenchError(f"A process of {peer.name} ended with {codes[0]}")
        for output in outputs:
            output.seek(0)
        return [number for output in outputs for number in json.loads(output.read())]


@contextmanager
def _database(environment: Environment) -> Iterator[tuple[Engine, str]]:
    """A new, empty database beside Snoozer's on the same server: an engine and its URL."""
    # FORCE, because a process that is about to end may still be connected.
    with autocommit(environment.engine) as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {DATABASE}"))
    url = f"{environment.url.rpartition('/')[0]}/{DATABASE}"
    engine = make_engine(url.replace("postgresql://", "postgresql+psycopg://"), name="compare", pool_size=2)
    try:
        yield engine, url
    finally:
        engine.dispose()


def _analyze(engine: Engine) -> None:
    with autocommit(engine) as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _fetch_one(engine: Engine, statement: str) -> dict[str, Any]:
    with engine.connect() as connection:
        return dict(connection.execute(text(statement.replace("::", "\\:\\:"))).one()._mapping)


def _outcome_sql(queue: str) -> str:
    return f"WITH ended AS (\n{_sql(queue, 'ended')})\n{_sql('outcome')}"


def _sql(*path: str) -> str:
    return SQL.joinpath(*path).with_suffix(".sql").read_text(encoding="utf-8")


def _variables() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
