"""One run of another queue: a database or broker of its own, filled by its own means, emptied by its own workers."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import Engine, text

from bench.environment import ROOT, Environment
from bench.peers import journal
from bench.peers.redis_server import RedisServer, redis_server
from bench.report import BenchError
from bench.schedule import Schedule
from snoozer.db.engine import autocommit, make_engine

DATABASE = "peer"
BROKERED = ("celery",)
START_SECONDS, STOP_SECONDS = 30.0, 30.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The queue's name, the work of its jobs (as in `Task.does`), and how its workers run.

    `parallel` is how many jobs are at work side by side in one process, `batch` how many it fetches at once.
    """

    queue: str
    does: str
    processes: int
    parallel: int
    batch: int


class PeerQueue:
    """An empty queue. `engine` is of its database, `broker` the server that it has instead, `journal` the folder in
    which its workers write what they have done."""

    def __init__(
        self,
        settings: Settings,
        environment: Environment,
        *,
        python: Path,
        engine: Engine,
        broker: RedisServer | None,
        folder: Path,
    ) -> None:
        self.name, self.engine, self.broker, self.journal = settings.queue, engine, broker, folder / "journal"
        self._settings, self._smtp_port, self._python = settings, environment.smtp_port, python
        self._url = broker.url if broker else _url(environment)
        self._message = folder / "message.eml"
        self.journal.mkdir()

    def prepare(self, message: bytes) -> None:
        """Create its tables; `message` is the canned mail. Raises BenchError."""
        self._message.write_bytes(message)
        self._run("prepare", Schedule(rows=0))

    def enqueue(self, schedule: Schedule) -> None:
        """Insert jobs by the queue's own means. Raises BenchError."""
        self._run("enqueue", schedule)

    def analyze(self) -> None:
        """VACUUM ANALYZE, as autovacuum leaves tables that were not just filled."""
        with autocommit(self.engine) as connection:
            connection.execute(text("VACUUM ANALYZE"))

    @contextmanager
    def working(self) -> Iterator[list[int]]:
        """Run its workers, ready for jobs, until the end of the block; yield their process ids.

        Raises BenchError if a worker does not start or ends early.
        """
        command = self._command("work", Schedule(rows=0))
        workers = [
            subprocess.Popen(command, cwd=ROOT, env=_variables(), stdout=subprocess.DEVNULL)
            for _ in range(self._settings.processes)
        ]
        try:
            self._wait_until_ready(workers)
            yield [worker.pid for worker in workers]
            if ended := [worker.returncode for worker in workers if worker.poll() is not None]:
                raise BenchError(f"A process of {self.name} ended with {ended[0]}")
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                _wait_or_kill(worker)

    def _wait_until_ready(self, workers: "list[subprocess.Popen[bytes]]") -> None:
        end = time.monotonic() + START_SECONDS
        while journal.processes(self.journal) < len(workers):
            if any(worker.poll() is not None for worker in workers) or time.monotonic() > end:
                raise BenchError(f"A process of {self.name} did not start")
            time.sleep(POLL_SECONDS)

    def _run(self, verb: str, schedule: Schedule) -> None:
        ended = subprocess.run(self._command(verb, schedule), cwd=ROOT, env=_variables(), check=False)
        if ended.returncode:
            raise BenchError(f"{self.name} could not {verb}")

    def _command(self, verb: str, schedule: Schedule) -> list[str]:
        task = {
            "url": self._url,
            "schedule": asdict(schedule),
            "does": self._settings.does,
            "smtp_port": self._smtp_port,
            "parallel": self._settings.parallel,
            "batch": self._settings.batch,
            "message": str(self._message),
            "journal": str(self.journal),
        }
        return [str(self._python), "-m", f"bench.peers.{self.name}_worker", verb, json.dumps(task)]


@contextmanager
def peer_queue(settings: Settings, environment: Environment, *, python: Path, message: bytes) -> Iterator[PeerQueue]:
    """Yield a new, empty queue on the server of Snoozer's database, until the end of the block.

    `python` is the interpreter that has the peer installed, `message` the canned mail. Raises BenchError.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(_database(environment))
        broker = stack.enter_context(redis_server()) if settings.queue in BROKERED else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="snoozer-peer-")))
        queue = PeerQueue(settings, environment, python=python, engine=engine, broker=broker, folder=folder)
        queue.prepare(message)
        yield queue


@contextmanager
def _database(environment: Environment) -> Iterator[Engine]:
    """Yield the engine of a new, empty database on the server of Snoozer's."""
    # FORCE, because a process that is about to end may still be connected.
    with autocommit(environment.engine) as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {DATABASE}"))
    url = _url(environment).replace("postgresql://", "postgresql+psycopg://")
    engine = make_engine(url, name="compare", pool_size=2)
    try:
        yield engine
    finally:
        engine.dispose()


def _url(environment: Environment) -> str:
    return f"{environment.url.rpartition('/')[0]}/{DATABASE}"


def _wait_or_kill(worker: "subprocess.Popen[bytes]") -> None:
    try:
        worker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def _variables() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
