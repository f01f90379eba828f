"""The partitions of the archive: created ahead, dropped whole when they expire."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.delivery.chores import chores
from snoozer.delivery.chores.chore_runner import BATCH_SIZE, MAX_BATCHES
from tests.db.archived import DAY, RETENTION, TABLES, finished, partitions, without_partitions
from tests.factories import a_snooze, now, the_row


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """The empty database, without partitions before and after."""
    yield from without_partitions(engine)


def test_there_are_partitions_ahead_and_for_what_is_older(engine: Engine) -> None:
    finished(engine, at=datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC))
    finished(engine, at=datetime(2026, 1, 1, tzinfo=UTC))
    chores.maintain_partitions(engine, config=RETENTION)
    ahead = partitions(engine)
    assert len(ahead) == 6
    assert f"email_snoozes_archive_{now():%Y_%m}" in ahead
    assert chores.archive(engine, config=RETENTION) == 2
    with engine.connect() as connection:
        in_december = connection.execute(text("SELECT count(*) FROM email_snoozes_archive_2025_12")).scalar_one()
    assert in_december == 1
    assert chores.maintain_partitions(engine, config=RETENTION) == []
    assert partitions(engine) - ahead == {
        f"{table}_archive_{month}" for table in ("email_snoozes", "reminder_sends") for month in ("2025_12", "2026_01")
    }


def test_retention_drops_whole_old_months_and_nothing_else(engine: Engine) -> None:
    months = now().year * 12 + now().month - 1
    first = datetime((months - 24) // 12, (months - 24) % 12 + 1, 1, tzinfo=UTC)
    kept, gone = finished(engine, at=first), finished(engine, at=first - timedelta(microseconds=1))
    living = a_snooze(engine)
    with engine.begin() as connection:
        for id in (kept, gone, living):
            connection.execute(
                text(
                    "INSERT INTO snooze_events (snooze_id, at, kind, actor, route) "
                    "VALUES (:id, :at, 'edited', 'user', 'web')"
                ),
                {"id": id, "at": first - DAY},
            )
    chores.archive(engine, config=RETENTION)
    month = (first - DAY).strftime("%Y_%m")
    dropped = chores.maintain_partitions(engine, config=RETENTION)
    assert sorted(dropped) == [f"email_snoozes_archive_{month}", f"reminder_sends_archive_{month}"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM email_snoozes_archive")).scalars().all() == [kept]
        events = connection.execute(text("SELECT snooze_id FROM snooze_events ORDER BY id")).scalars().all()
    assert events == [kept, living]
    assert the_row(engine, living)


def test_old_events_are_deleted_within_the_day_however_many_there_are(engine: Engine) -> None:
    many = text(
        "INSERT INTO snooze_events (snooze_id, at, kind, actor, route) "
        "SELECT number, now() - INTERVAL '3 years', 'asked', 'user', 'web' FROM generate_series(1, :many) AS number"
    )
    with engine.begin() as connection:
        connection.execute(many, {"many": MAX_BATCHES * BATCH_SIZE + 1})
    chores.maintain_partitions(engine, config=RETENTION)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM snooze_events")).scalar_one() == 0


def test_a_partition_is_created_while_another_is_read_and_written(engine: Engine) -> None:
    finished(engine)
    chores.archive(engine, config=RETENTION)
    with engine.begin() as reader:
        reader.execute(text("UPDATE email_snoozes_archive SET note = 'read'"))
        chores.maintain_partitions(engine, config=RETENTION)
    assert len(partitions(engine)) >= 6


def test_the_archive_has_the_columns_of_the_live_tables_in_their_order(engine: Engine) -> None:
    """Rows move whole, so a column added to one table and not to the other must be seen here."""
    with engine.connect() as connection:
        columns = {name: _columns(connection, name) for name in TABLES}
    assert columns["email_snoozes_archive"] == columns["email_snoozes"]
    assert columns["reminder_sends_archive"] == [("finished_at", "timestamptz"), *columns["reminder_sends"]]


def _columns(connection: Connection, table: str) -> list[tuple[str, str]]:
    rows = connection.execute(
        text(
            "SELECT attname, typname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
            "WHERE attrelid = CAST(:table AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ),
        {"table": table},
    )
    return [(row.attname, row.typname) for row in rows]
