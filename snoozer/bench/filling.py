"""Many rows at once: asleep, due, or sent and over, for runs in which a table is to be large."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Any

import psycopg

from snoozer.bench.run import Progress
from snoozer.db.statements import statement

# Each person of a large table has so many rows.
ROWS_A_PERSON = 20
CHUNK = 20_000
_numbers = count(1)


def asleep(database: "psycopg.Connection[Any]", *, rows: int, progress: Progress) -> None:
    """Rows due at some moment from tomorrow on, within a year."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    spread = timedelta(days=365) / max(1, rows)
    _put_down(
        database,
        "bench/put_down",
        (_row(tomorrow + number * spread, rows=rows) for number in range(rows)),
        progress=progress,
    )


def due(database: "psycopg.Connection[Any]", *, rows: int) -> None:
    """Rows due a minute ago, each of a person of its own."""
    moment = datetime.now(UTC) - timedelta(minutes=1)
    promised(database, [moment] * rows)


def promised(
    database: "psycopg.Connection[Any]", moments: Sequence[datetime], *, persons: Iterable[str] | None = None
) -> None:
    """Rows due at these moments, each of a person of its own unless it is said whose they are."""
    if persons is None:
        rows = (_row(moment, rows=None) for moment in moments)
    else:
        rows = ((person, *_row(moment, rows=None)[1:]) for moment, person in zip(moments, persons, strict=False))
    _put_down(database, "bench/put_down", rows, progress=lambda done: None)


def sent(database: "psycopg.Connection[Any]", *, rows: int, age: timedelta) -> None:
    """Rows that were sent and finalized so long ago, with their entries in the ledger."""
    at = (datetime.now(UTC) - age).isoformat()
    over = ((*_row(datetime.fromisoformat(at), rows=rows), at, "t", "sent", at, at) for _ in range(rows))
    _put_down(database, "bench/put_down_sent", over, progress=lambda done: None)
    database.execute(statement("bench/put_down_sends").text.encode())


def _row(remind_at: datetime, *, rows: int | None) -> tuple[str, ...]:
    number = next(_numbers)
    person = number if rows is None else number % max(1, rows // ROWS_A_PERSON)
    return (
        f"person-{person}@snoozer.example",
        f"<{number}.quarterly.figures@mail.example>",
        f"Quarterly figures, part {number}",
        "bob@mail.example",
        remind_at.isoformat(),
        "Europe/Berlin",
    )


def _put_down(
    database: "psycopg.Connection[Any]", name: str, rows: Iterable[tuple[str, ...]], *, progress: Progress
) -> None:
    """In chunks, because a trigger keeps the rows of a statement until its end."""
    source, done = iter(rows), 0
    while chunk := list(islice(source, CHUNK)):
        with database.cursor() as cursor, cursor.copy(statement(name).text.encode()) as copy:
            copy.write("".join("\t".join(row) + "\n" for row in chunk))
        done += len(chunk)
        progress(done)
