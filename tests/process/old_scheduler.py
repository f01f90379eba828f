"""Another scheduler, as a process: APScheduler over a job store in SQLite, which "sends" by a line in its log.

`python -m tests.process.old_scheduler STORE LOG` runs what is due until SIGTERM, then ends what it has begun. Jobs
whose id begins with `early` are run by hand at the start, as a person would; `twice` is logged twice.
"""

import json
import signal
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import Engine, create_engine, event, text

_lock = threading.Lock()
_log = Path()


@dataclass(frozen=True)
class OldJob:
    """With `expires` it is skipped where it runs late by more than a second."""

    id: str
    due: datetime
    expires: bool = False


def send(*, job_id: str, user_email: str, subject: str) -> None:
    """What its jobs call."""
    line = json.dumps({"job_id": job_id, "sent_at": datetime.now(UTC).isoformat()}) + "\n"
    with _lock, _log.open("a") as file:
        file.write(line * (2 if job_id.startswith("twice") else 1))


def fill(store: Path, jobs: Iterable[OldJob]) -> None:
    """Put jobs into its store."""
    scheduler = _scheduler(store)
    scheduler.start(paused=True)
    for job in jobs:
        called = {"job_id": job.id, "user_email": "ann@snoozer.example", "subject": job.id}
        grace = 1 if job.expires else None
        scheduler.add_job(send, "date", run_date=job.due, id=job.id, kwargs=called, misfire_grace_time=grace)
    stop(scheduler)


def stop(scheduler: BackgroundScheduler) -> None:
    """Without a store: at its shutdown APScheduler takes what is due out of it, and has nothing left to run it."""
    scheduler.pause()
    scheduler.remove_jobstore("default")
    scheduler.shutdown(wait=True)


def left(store: Path) -> int:
    """How many jobs its store still has."""
    engine = _engine(store)
    with engine.connect() as connection:
        count = int(connection.execute(text("SELECT count(*) FROM apscheduler_jobs")).scalar_one())
    engine.dispose()
    return count


def _engine(store: Path) -> Engine:
    engine = create_engine(f"sqlite:///{store}", connect_args={"timeout": 60})
    event.listen(engine, "connect", _settings)
    return engine


def _settings(connection: Any, record: Any) -> None:
    """Readers do not lock it, and its disk is not what is tested."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")


def _scheduler(store: Path) -> BackgroundScheduler:
    return BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(engine=_engine(store))},
        executors={"default": ThreadPoolExecutor(4)},
        timezone="UTC",
    )


def main(store: Path, log: Path) -> None:
    global _log
    _log = log
    # Its jobs name `tests.process.old_scheduler:send`, which is another module than this main one.
    sys.modules["tests.process.old_scheduler"] = sys.modules["__main__"]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    scheduler = _scheduler(store)
    scheduler.start(paused=True)
    for number in range(100):
        job = scheduler.get_job(f"early-{number}")
        if job is not None:
            job.func(**job.kwargs)
            job.remove()
    scheduler.resume()
    stopping.wait()
    stop(scheduler)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
