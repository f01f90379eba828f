"""Old schedulers for tests: an APScheduler job store, tables of django-celery-beat, files."""

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import create_engine, text

from snoozer.operators.cutover import files
from snoozer.operators.cutover.importing import JobImport
from snoozer.operators.cutover.jobs import FIELDS, Job, JobReader
from snoozer.operators.cutover.record import Source

BEAT = """
    CREATE TABLE django_celery_beat_crontabschedule (
        id INTEGER PRIMARY KEY, minute TEXT, hour TEXT, day_of_week TEXT, day_of_month TEXT, month_of_year TEXT,
        timezone TEXT);
    CREATE TABLE django_celery_beat_intervalschedule (id INTEGER PRIMARY KEY, every INTEGER, period TEXT);
    CREATE TABLE django_celery_beat_clockedschedule (id INTEGER PRIMARY KEY, clocked_time TIMESTAMP);
    CREATE TABLE django_celery_beat_periodictask (
        id INTEGER PRIMARY KEY, name TEXT, task TEXT, args TEXT, kwargs TEXT, enabled BOOLEAN, priority INTEGER,
        last_run_at TIMESTAMP, solar_id INTEGER, crontab_id INTEGER, interval_id INTEGER, clocked_id INTEGER,
        start_time TIMESTAMP, expires TIMESTAMP, one_off BOOLEAN);
"""


def a_file(path: Path, jobs: Iterable[dict[str, Any]]) -> Source:
    """JSON lines."""
    path.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    return files.json_file(path)


def a_reader(name: str = "crm", **options: Any) -> JobReader:
    return JobReader(name=name, columns={field: field for field in FIELDS}, **options)


class Run(JobImport):
    """An import that remembers what was refused, and which jobs were new."""

    def __init__(self, engine: Any, source: Source, *, reader: JobReader | None = None) -> None:
        self.refused: list[tuple[str, str]]
        self.new: list[Job]
        object.__setattr__(self, "refused", [])
        object.__setattr__(self, "new", [])
        super().__init__(
            engine=engine,
            reader=reader or a_reader(),
            source=source,
            on_refused=lambda place, reason: self.refused.append((place, reason)),
            on_new=self.new.append,
        )


def a_job_store(url: str) -> BackgroundScheduler:
    """A scheduler that is paused, so that it stores jobs and runs none."""
    scheduler = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url=url)}, timezone="UTC")
    scheduler.start(paused=True)
    return scheduler


def beat_tables(path: Path, tasks: Iterable[dict[str, Any]], **schedules: list[dict[str, Any]]) -> str:
    """The URL of a database with these periodic tasks."""
    url = f"sqlite:///{path}"
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in BEAT.split(";"):
            connection.execute(text(statement))
        rows = {"periodictask": tasks} | {f"{kind}schedule": each for kind, each in schedules.items()}
        for table, values in rows.items():
            for row in values:
                names = ", ".join(row)
                binds = ", ".join(f":{name}" for name in row)
                insert = f"INSERT INTO django_celery_beat_{table} ({names}) VALUES ({binds})"  # noqa: S608
                connection.execute(text(insert), {name: _plain(value) for name, value in row.items()})
    engine.dispose()
    return url


def _plain(value: Any) -> Any:
    return value.isoformat(" ") if isinstance(value, datetime) else value
