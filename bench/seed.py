"""Fills the tables before a run: nothing, or many rows that are asleep, due, or sent and finished."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Any

import psycopg
from sqlalchemy import Engine

from bench.environment import ROOT, Environment
from bench.report import BenchError, Progress
from bench.schedule import Schedule, recipient
from bench.statements import execute, statement
from snoozer.db import schema
from snoozer.db.engine import autocommit

# Rows of each person in a large table.
ROWS_PER_PERSON = 20
COPY_ROWS = 20_000
_numbers = count(1)


def reset(environment: Environment) -> None:
    """The tables of a fresh installation of its checkout. Raises BenchError when another checkout cannot make them."""
    with autocommit(environment.engine) as connection:
        execute(connection, "drop_schema")
        execute(connection, "create_schema")
    environment.engine.dispose()
    if environment.checkout == ROOT:
        schema.upgrade(environment.engine)
        return
    migrate = [sys.executable, "-m", "snoozer", "migrate"]
    ended = subprocess.run(
        migrate, cwd=environment.checkout, env=environment.variables, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise BenchError(f"{environment.checkout} could not migrate: {ended.stderr.strip()[-200:]}")


def analyze(engine: Engine, *, all_tables: bool = False) -> None:
    """VACUUM ANALYZE the queue, or also ledger and archives, as autovacuum does in tables that have been in use."""
    with autocommit(engine) as connection:
        execute(connection, "analyze")
        if all_tables:
            execute(connection, "analyze_ledger")


def copy_asleep(database: "psycopg.Connection[Any]", *, rows: int, progress: Progress) -> None:
    """Insert rows due from tomorrow on, spread evenly over a year."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    step = timedelta(days=365) / max(1, rows)
    values = (_row(tomorrow + number * step, rows=rows) for number in range(rows))
    _copy(database, "copy_snoozes", values, progress=progress)


def copy_due(database: "psycopg.Connection[Any]", *, rows: int) -> None:
    """Insert rows due a minute ago, each of a different person."""
    copy_at(database, [datetime.now(UTC) - timedelta(minutes=1)] * rows)


def copy_at(
    database: "psycopg.Connection[Any]", times: Sequence[datetime], *, people: Iterable[str] | None = None
) -> None:
    """Insert rows due at these times, for these people, or else each for a different person."""
    if people is None:
        rows = (_row(time, rows=None) for time in times)
    else:
        rows = ((person, *_row(time, rows=None)[1:]) for time, person in zip(times, people, strict=False))
    _copy(database, "copy_snoozes", rows)


def copy_schedule(database: "psycopg.Connection[Any]", schedule: Schedule) -> None:
    """Insert the rows of a schedule, each for the person with its number."""
    due = schedule.due_times()
    now = datetime.now(UTC)
    times = [datetime.fromtimestamp(at, UTC) for at in due] if due else [now] * schedule.rows
    copy_at(database, times, people=map(recipient, schedule.numbers))


def copy_sent(database: "psycopg.Connection[Any]", *, rows: int, age: timedelta) -> None:
    """Insert rows that were sent and finalized a given time ago, with their entries in the ledger."""
    sent_at = datetime.now(UTC) - age
    iso = sent_at.isoformat()
    _copy(database, "copy_sent_snoozes", ((*_row(sent_at, rows=rows), iso, "t", "sent", iso, iso) for _ in range(rows)))
    database.execute(statement("insert_sends").text.encode())


def _row(remind_at: datetime, *, rows: int | None) -> tuple[str, ...]:
    number = next(_numbers)
    person = number if rows is None else number % max(1, rows // ROWS_PER_PERSON)
    return (
        f"person-{person}@snoozer.example",
        f"<{number}.quarterly.figures@mail.example>",
        f"Quarterly figures, part {number}",
        "bob@mail.example",
        remind_at.isoformat(),
        "Europe/Berlin",
    )


def _copy(
    database: "psycopg.Connection[Any]",
    name: str,
    rows: Iterable[tuple[str, ...]],
    *,
    progress: Progress = lambda done: None,
) -> None:
    """Copy in chunks, because a trigger keeps the rows of a statement until its end."""
    source, done = iter(rows), 0
    while chunk := list(islice(source, COPY_ROWS)):
        with database.cursor() as cursor, cursor.copy(statement(name).text.encode()) as copy:
            copy.write("".join("\t".join(row) + "\n" for row in chunk))
        done += len(chunk)
        progress(done)
