"""One run of another queue: a database of its own, filled by its own means, drained by its own workers."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, text

from bench.figures import Run
from snoozer.bench.ground import Ground
from snoozer.bench.refusal import BenchRefused
from snoozer.bench.run import LOOK_SECONDS, Load, children_cpu, counters
from snoozer.db.engine import autocommit, make_engine

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "bench" / "contestants" / "sql"
DATABASE = "contestant"


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


def measure(
    peer: Peer,
    ground: Ground,
    load: Load,
    *,
    number: int,
    python: Path,
    message: Path,
    sleeps: tuple[float, float],
    progress: Callable[[int], None],
) -> Run:
    """Drain `load.rows` jobs by `load.processes` of its workers, in round `number`."""
    with _database(ground) as (engine, url):
        task = {
            "url": url,
            "rows": load.rows,
            "does": peer.does,
            "smtp_port": ground.smtp_port,
            "sleeps": sleeps,
            "parallel": peer.parallel,
            "batch": peer.batch,
            "message": str(message),
        }

        def command(verb: str) -> list[str]:
            return [str(python), "-m", f"bench.contestants.{peer.queue}_worker", verb, json.dumps(task)]

        subprocess.run(command("prepare"), cwd=ROOT, env=_environment(), check=True)
        _settle(engine)
        before, cpu = counters(engine), children_cpu()
        numbers = _worked(peer, engine, [command("work")] * load.processes, progress=progress)
        spent, after = children_cpu() - cpu, counters(engine)
        told = _ask(engine, _outcome(peer.queue))
    if told["done"] != load.rows or len(set(numbers)) != load.rows:
        raise BenchRefused(f"{peer.name} did {told['done']} of {load.rows} jobs")
    return Run(
        who=peer.name,
        round=number,
        rows=load.rows,
        seconds=told["seconds"],
        rate=load.rows / told["seconds"],
        p50_wait=told["p50"],
        p99_wait=told["p99"],
        cpu_ms=1000 * spent / load.rows,
        commits=(after["commits"] - before["commits"]) / load.rows,
        wal_bytes=(after["wal"] - before["wal"]) / load.rows,
        duplicates=len(numbers) - len(set(numbers)),
        mails=None,
    )


def _worked(
    peer: Peer, engine: Engine, commands: Sequence[Sequence[str]], *, progress: Callable[[int], None]
) -> list[int]:
    """Which jobs the workers say they did, with those done twice standing there twice."""
    with ExitStack() as closing:
        outputs: list[IO[bytes]] = [closing.enter_context(tempfile.TemporaryFile()) for _ in commands]
        workers = [
            subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=output)
            for command, output in zip(commands, outputs, strict=True)
        ]
        try:
            # As often as Snoozer is asked, so that the asking costs everybody the same.
            while any(worker.poll() is None for worker in workers):
                time.sleep(LOOK_SECONDS)
                progress(next(iter(_ask(engine, _sql(peer.queue, "done")).values())))
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()
        if codes := [worker.returncode for worker in workers if worker.returncode]:
            raise BenchRefused(f"A process of {peer.name} ended with {codes[0]}")
        for output in outputs:
            output.seek(0)
        return [number for output in outputs for number in json.loads(output.read())]


@contextmanager
def _database(ground: Ground) -> Iterator[tuple[Engine, str]]:
    """A new, empty database beside Snoozer's on the same server; an engine on it and its address."""
    # Dropping waits for whoever is still on the way out.
    with autocommit(ground.engine) as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {DATABASE}"))
    url = f"{ground.url.rpartition('/')[0]}/{DATABASE}"
    engine = make_engine(url.replace("postgresql://", "postgresql+psycopg://"), name="compare", pool_size=2)
    try:
        yield engine, url
    finally:
        engine.dispose()


def _settle(engine: Engine) -> None:
    with autocommit(engine) as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _ask(engine: Engine, statement: str) -> dict[str, Any]:
    with engine.connect() as connection:
        return dict(connection.execute(text(statement.replace("::", "\\:\\:"))).one()._mapping)


def _outcome(queue: str) -> str:
    return f"WITH ended AS (\n{_sql(queue, 'ended')})\n{_sql('outcome')}"


def _sql(*path: str) -> str:
    return SQL.joinpath(*path).with_suffix(".sql").read_text(encoding="utf-8")


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
