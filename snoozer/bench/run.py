"""One run: rows put down, workers at them until nothing is left, and what came of it, read from the database."""

import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from snoozer.bench.ground import Ground
from snoozer.bench.processes import can_look, family_cpu_seconds
from snoozer.bench.refusal import BenchRefused
from snoozer.db import schema
from snoozer.db.engine import autocommit
from snoozer.db.queue import DEFAULT_OPTIONS, ReminderTime
from snoozer.db.statements import execute, statement
from snoozer.resources import PYTHON_MODULE

LOOK_SECONDS = 0.25
SEED_ROWS = 5_000

# Hears how many are done, a few times a second.
Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is to be done, and with what."""

    rows: int
    processes: int
    concurrency: int
    batch: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run measured. Waits are seconds from the start to the mail server's 250.

    `cpu_ms` is the workers', `server_cpu_ms` the database server's for each reminder (0 where there is no /proc).
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
    server_cpu_ms: float
    commits: float
    wal_bytes: float
    timeline: tuple[tuple[float, int], ...]


def begin_anew(engine: Engine) -> None:
    """The tables of a fresh installation."""
    schema.downgrade(engine, revision="base")
    schema.upgrade(engine)


def settle(engine: Engine, *, whole: bool = False) -> None:
    """As the queue is that nobody has just filled; with `whole` also the ledger and the archive."""
    with autocommit(engine) as connection:
        for name in ("analyze", "analyze_ledger") if whole else ("analyze",):
            execute(connection, f"bench/{name}")


def measure(who: str, ground: Ground, load: Load, *, progress: Progress) -> Outcome:
    """Drain `load.rows` due rows by Snoozer's own workers ("snoozer") or by the bare loop.

    The loop sends what was made beforehand ("floor") or writes the same mails as Snoozer ("floor, composing").
    """
    begin_anew(ground.engine)
    seed(ground.engine, rows=load.rows)
    settle(ground.engine)
    before, cpu, server = counters(ground.engine), children_cpu(), _server_cpu(ground)
    began = time.monotonic()
    workers = [subprocess.Popen(command, env=ground.environment) for command in _commands(who, ground, load)]
    try:
        timeline = _watch(ground.engine, workers, began=began, progress=progress)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait()
    if codes := [worker.returncode for worker in workers if worker.returncode]:
        raise BenchRefused(f"A process of {who} ended with {codes[0]}")
    after, spent, server = counters(ground.engine), children_cpu() - cpu, _server_cpu(ground) - server
    with ground.engine.connect() as connection:
        told = dict(execute(connection, "bench/outcome").one()._mapping)
    if not told["seconds"]:
        raise BenchRefused(f"Nothing was sent by {who}")
    return Outcome(
        who=who,
        rows=load.rows,
        seconds=told["seconds"],
        rate=load.rows / told["seconds"],
        p50_wait=told["p50"],
        p99_wait=told["p99"],
        reaped_percent=100 * told["reaped"] / load.rows,
        duplicates=told["duplicates"],
        cpu_ms=1000 * spent / load.rows,
        server_cpu_ms=1000 * server / load.rows,
        commits=(after["commits"] - before["commits"]) / load.rows,
        wal_bytes=(after["wal"] - before["wal"]) / load.rows,
        timeline=timeline,
    )


def seed(engine: Engine, *, rows: int) -> None:
    """So many rows, all due, each of a person of its own."""
    now = datetime.now(UTC)
    appointment = ReminderTime(remind_at=now - timedelta(minutes=1))
    same: dict[str, object] = {"sender_email": "bob@mail.example", "traceparent": None}
    same |= appointment.columns | vars(DEFAULT_OPTIONS)
    for first in range(0, rows, SEED_ROWS):
        with engine.begin() as connection:
            connection.execute(
                statement("queue/enqueue"),
                [
                    same
                    | {
                        "user_email": f"person-{number}@snoozer.example",
                        "message_id": f"<{number}@mail.example>",
                        "subject": f"Quarterly figures, part {number}",
                    }
                    for number in range(first, min(first + SEED_ROWS, rows))
                ],
            )


def _commands(who: str, ground: Ground, load: Load) -> list[list[str]]:
    if who != "snoozer":
        makes = "canned" if who == "floor" else "written"
        arguments = [
            ground.url,
            str(ground.smtp_port),
            str(load.batch),
            str(max(1, load.concurrency // load.processes)),
        ]
        names = [f"floor-{number}" for number in range(load.processes)]
        return [[*PYTHON_MODULE, "snoozer.bench.floor", *arguments, name, makes] for name in names]
    each = max(1, load.concurrency // load.processes)
    options = [f"--batch={load.batch}", f"--concurrency={each}", "--drain"]
    return [[*PYTHON_MODULE, "snoozer", "worker", *options] for _ in range(load.processes)]


def _watch(
    engine: Engine, workers: Sequence["subprocess.Popen[bytes]"], *, began: float, progress: Progress
) -> tuple[tuple[float, int], ...]:
    points = [(0.0, 0)]
    while any(worker.poll() is None for worker in workers):
        time.sleep(LOOK_SECONDS)
        with engine.connect() as connection:
            done = execute(connection, "bench/done").scalar_one()
        points.append((time.monotonic() - began, done))
        progress(done)
    return tuple(points)


def let_pass(seconds: float, *, progress: Progress) -> None:
    """Wait, and tell how many seconds are over."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(min(LOOK_SECONDS, seconds - passed))
        progress(round(passed))


def counters(engine: Engine) -> dict[str, Any]:
    """What the server has done so far: `commits`, and `wal` in bytes."""
    with engine.connect() as connection:
        return dict(execute(connection, "bench/counters").one()._mapping)


def children_cpu() -> float:
    """CPU seconds of the processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _server_cpu(ground: Ground) -> float:
    return family_cpu_seconds(ground.server_pid) if can_look() else 0.0
