"""When a worker looks at the queue again: for its own rows when they are due, for others' once they are overdue."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db.engine import autocommit, make_engine
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.queue import queue
from tests.db.reading import reading
from tests.factories import HOUR, a_snooze, now, the_row


def due_in(engine: Engine, **options: Any) -> float:
    with engine.begin() as connection:
        given: dict[str, Any] = {"steal_after": HOUR} | options
        return queue.next_due(connection, known_schema=SUPPORTED_SCHEMA, **given)


def test_a_worker_wakes_for_its_own_buckets_and_for_others_once_they_are_overdue(engine: Engine) -> None:
    assert due_in(engine) == float("inf")
    bucket = the_row(engine, a_snooze(engine, remind_at=now() + HOUR)).bucket
    own, other = {"buckets": f"{{{bucket}}}"}, {"buckets": f"{{{(bucket + 1) % 1024}}}"}
    assert 3500 < due_in(engine) <= 3600
    assert 3500 < due_in(engine, **own) <= 3600
    assert 7100 < due_in(engine, **other) <= 7200
    a_snooze(engine, remind_at=now() - 2 * HOUR)
    assert due_in(engine, steal_after=3 * HOUR) == 0
    assert due_in(engine, **other) == 0
    assert 7100 < due_in(engine, missed=timedelta(seconds=60), **other) <= 7200


def test_what_became_due_since_the_last_claim_is_not_passed_over(engine: Engine) -> None:
    a_snooze(engine, remind_at=now() - timedelta(seconds=30))
    at_once = {"steal_after": timedelta(0)}
    assert due_in(engine, missed=timedelta(seconds=60), **at_once) == 0
    assert due_in(engine, missed=timedelta(seconds=20), **at_once) == float("inf")


def test_of_the_rows_of_others_a_thousand_are_looked_at(engine: Engine) -> None:
    """An import of one person's hundred thousand made all other workers read them again and again."""
    bucket = the_row(engine, a_snooze(engine, remind_at=now() + HOUR)).bucket
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at)"
                " SELECT 'crowd@mail.example', n::text, now() + n * INTERVAL '1 second'"
                " FROM generate_series(1, 2000) AS n"
            )
        )
    crowd = queue_bucket(engine, "crowd@mail.example")
    assert due_in(engine, buckets=f"{{{crowd}}}") <= 1
    assert 900 < due_in(engine, buckets=f"{{{bucket}}}") <= 1000, (
        "the thousandth of theirs, and then it is looked again"
    )


@pytest.fixture(
    params=["UPDATE email_snoozes SET max_attempts = 1", "UPDATE email_snoozes SET inactive = true"],
    ids=["changed", "inactive"],
)
def statistics_stay_old(engine: Engine, request: pytest.FixtureRequest) -> Iterator[None]:
    """No autovacuum: one with a snapshot from before an insert finds many pages and not one row. Of a table that was
    emptied Postgres keeps what its columns held."""
    with autocommit(engine) as connection:
        connection.execute(text("ALTER TABLE email_snoozes SET (autovacuum_enabled = false)"))
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at)"
                " SELECT 'earlier@mail.example', n::text, now() - n * INTERVAL '1 second'"
                " FROM generate_series(1, 400) AS n"
            )
        )
        connection.execute(text(request.param))
        connection.execute(text("ANALYZE email_snoozes"))
        connection.execute(text("TRUNCATE email_snoozes CASCADE"))
        connection.execute(text("VACUUM ANALYZE email_snoozes"))
    yield
    with autocommit(engine) as connection:
        connection.execute(text("ALTER TABLE email_snoozes RESET (autovacuum_enabled)"))


@pytest.mark.usefixtures("statistics_stay_old")
def test_no_more_is_read_while_statistics_are_old(engine: Engine, postgres_url: str) -> None:
    """The planner took them for a dozen, and each look at the queue read and sorted all of them."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at)"
                " SELECT 'crowd@mail.example', n::text, now() - INTERVAL '1 hour' FROM generate_series(1, 9000) AS n"
            )
        )
    worker = make_engine(postgres_url, name="tests", pool_size=1, by_index=True)
    read = reading(
        worker,
        lambda connection: queue.next_due(
            connection, known_schema=SUPPORTED_SCHEMA, buckets=f"{{{queue_bucket(engine, 'ann')}}}", steal_after=HOUR
        ),
    )
    worker.dispose()
    assert 1000 < read.rows <= 2100


def queue_bucket(engine: Engine, user_email: str) -> int:
    with engine.connect() as connection:
        found: int = connection.execute(text("SELECT snooze_bucket(:one)"), {"one": user_email}).scalar_one()
        return found
