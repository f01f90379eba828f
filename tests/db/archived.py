"""Finished snoozes, and what the archive holds of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from snoozer.queue import archive
from tests.db.transitions import a_held_mail, authorise, finalize, record
from tests.factories import a_snooze, now

DAY = timedelta(days=1)
OLD = 40 * DAY
RETENTION = chores.Retention(archive_after=35 * DAY, keep_months=24)
TABLES = ("email_snoozes", "email_snoozes_archive", "reminder_sends", "reminder_sends_archive")


def finished(engine: Engine, *, at: datetime | None = None, outcome: str = "sent", **columns: Any) -> int:
    """A snooze that finished at `at`, by default long ago."""
    at = at or now() - OLD
    return a_snooze(engine, inactive=True, outcome=outcome, finished_at=at, remind_at=at, scheduled_for=at, **columns)


def sent(engine: Engine, *, age: timedelta = OLD) -> int:
    """A snooze that was claimed, sent and finalized, with this age."""
    held, send = a_held_mail(engine, remind_at=now() - age)
    assert authorise(engine, send)
    record(engine, send)
    assert finalize(engine, held)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET finished_at = finished_at - :age WHERE id = :id"),
            {"age": age, "id": held.id},
        )
    return held.id


def counts(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()  # noqa: S608
            for name in TABLES
        }


def partitions(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ANY(:parents)"),
            {
                "parents": [
                    connection.execute(text(f"SELECT '{name}_archive'::regclass::oid")).scalar_one()
                    for name in ("email_snoozes", "reminder_sends")
                ]
            },
        )
        return set(rows.scalars())


def without_partitions(engine: Engine) -> Iterator[Engine]:
    """The database with no month in its archive, before and after."""
    with engine.begin() as connection:
        archive.drop_expired(connection, keep_months=-12_000)
    yield engine
    with engine.begin() as connection:
        archive.drop_expired(connection, keep_months=-12_000)


@contextmanager
def without_constraint(engine: Engine, name: str) -> Iterator[None]:
    """As before the migration that brought it; the queue is empty afterwards."""
    definition = text("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :name")
    with engine.begin() as connection:
        was = connection.execute(definition, {"name": name}).scalar_one()
        connection.execute(text(f"ALTER TABLE email_snoozes DROP CONSTRAINT {name}"))
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("TRUNCATE email_snoozes CASCADE"))
            connection.exec_driver_sql(f"ALTER TABLE email_snoozes ADD CONSTRAINT {name} {was}")
