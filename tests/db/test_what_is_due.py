"""Rows that are due and rightly not claimed, behind others of their key or of a newer release, are counted as that."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import support
from snoozer.db.queries import cases, metrics
from snoozer.db.schema import SUPPORTED_SCHEMA
from tests.db.reading import reading
from tests.db.transitions import claim
from tests.factories import HOUR, a_snooze, now

SECOND = timedelta(seconds=1)
NEWER = SUPPORTED_SCHEMA + 1


def backlog(connection: Connection) -> Any:
    return support.read(connection, "backlog").one()


def counts(engine: Engine) -> list[tuple[int, int, int]]:
    """How many are due, behind their key and deferred, by the gauges and by the operators' page."""
    with engine.connect() as connection:
        return [
            (found.due, found.behind_key, found.deferred)
            for found in (backlog(connection), metrics.read(connection, dead_after=HOUR))
        ]


def a_queue(engine: Engine) -> None:
    """Five rows of each of two keys, two of a newer release (one first of its key), two of no key, one to come."""
    for key in ("a", "b"):
        for number in range(5):
            a_snooze(engine, serialization_key=key, remind_at=now() - HOUR + number * SECOND)
    a_snooze(engine, schema_version=NEWER, remind_at=now() - 9 * HOUR)
    a_snooze(engine, schema_version=NEWER, remind_at=now() - 9 * HOUR, serialization_key="a")
    for hours in (-2, -3, 1):
        a_snooze(engine, remind_at=now() + hours * HOUR)


def test_due_is_what_the_next_claim_takes(engine: Engine) -> None:
    """All that waited behind others of its key, or for a newer release, was counted as due."""
    a_queue(engine)
    assert counts(engine) == [(4, 8, 2)] * 2
    assert len(claim(engine)) == 4
    # One of each key is in flight, and the others wait for it.
    assert counts(engine) == [(0, 8, 2)] * 2


def test_nothing_due_is_nothing_counted(engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    assert counts(engine) == [(0, 0, 0)] * 2
    with engine.connect() as connection:
        assert (backlog(connection).oldest_due_seconds, metrics.oldest_due(connection)) == (0, 0)


def test_the_oldest_due_row_is_one_that_a_worker_may_take(engine: Engine) -> None:
    a_queue(engine)
    with engine.connect() as connection:
        ages = [backlog(connection).oldest_due_seconds, metrics.oldest_due(connection)]
        assert all(3 * HOUR <= timedelta(seconds=float(age)) < 4 * HOUR for age in ages)
        assert metrics.read(connection, dead_after=HOUR).more_due is False


def test_where_the_oldest_rows_all_wait_for_others_the_next_one_counts_as_due(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page and /readyz read a bounded number of rows, and show no less than there is."""
    monkeypatch.setattr(metrics, "MAX_COUNTED", 3)
    for number in range(5):
        a_snooze(engine, schema_version=NEWER, remind_at=now() - 9 * HOUR + number * SECOND)
    with engine.connect() as connection:
        found = metrics.read(connection, dead_after=HOUR)
        assert (found.due, found.deferred, found.more_due) == (0, 4, True)
        assert timedelta(seconds=metrics.oldest_due(connection)) > 8 * HOUR
        assert reading(engine, metrics.oldest_due).rows < 20


def test_how_many_come_before_a_row_of_its_key(engine: Engine) -> None:
    a_queue(engine)
    with engine.connect() as connection:
        of_key = text(
            "SELECT id FROM email_snoozes WHERE serialization_key = 'a' AND schema_version = 1 ORDER BY remind_at"
        )
        ids = list(connection.execute(of_key).scalars())
        assert [cases.ahead(connection, id=id) for id in ids] == [0, 1, 2, 3, 4]
    claim(engine)
    with engine.connect() as connection:
        assert [cases.ahead(connection, id=id) for id in ids] == [0, 1, 2, 3, 4]


def test_the_longest_due_are_listed_with_what_they_wait_for(engine: Engine) -> None:
    a_queue(engine)
    a_snooze(engine, attempts=5, remind_at=now() - 10 * HOUR)
    with engine.connect() as connection:
        rows = support.read(connection, "oldest").all()
    newer, key = "a newer release", "others of its key"
    assert [row.waits_for for row in rows] == [
        *("to become a case", newer, newer, "a worker", "a worker"),
        *("a worker", "a worker", *[key] * 8),
    ]
