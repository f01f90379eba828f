"""After an outage of the database, no process is blamed for the time in which nothing could be recorded."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import deadline, make_engine
from snoozer.web.operators.reading import Figures, Reading
from snoozer.web.operators.trouble import Limits, troubles
from tests.conftest import HANG_SECONDS
from tests.factories import a_snooze, now
from tests.stalling import StallingWay
from tests.web.overviews import MINUTE, SECOND, a_breaker, a_worker, housekeeping

LIMITS = Limits(dead_after=10 * SECOND, sweep=2 * SECOND)
BLAMED = ["no workers", "clock"]


@pytest.fixture
def reader(way: StallingWay) -> Iterator[Engine]:
    engine = make_engine(way.url, name="web")
    yield engine
    engine.dispose()


def kinds(reading: Reading, *, limits: Limits = LIMITS) -> list[str]:
    return [one.kind for one in troubles(reading, limits=limits, time_of=str) if one.kind != "backlog"]


def silent(engine: Engine) -> None:
    a_worker(engine, silent=20 * SECOND)
    housekeeping(engine, ago=20 * SECOND)


def read_after_an_outage(figures: Figures, reader: Engine, way: StallingWay) -> Reading:
    """Another request of the process notices it."""
    way.stall()
    with deadline(1.0), pytest.raises(SQLAlchemyError), reader.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    way.flow()
    return figures.read()


def test_workers_and_the_clock_have_their_time_to_be_heard_again(
    engine: Engine, reader: Engine, way: StallingWay
) -> None:
    silent(engine)
    figures = Figures(reader, dead_after=LIMITS.dead_after)
    assert kinds(figures.read()) == BLAMED
    assert kinds(read_after_an_outage(figures, reader, way)) == []


def test_they_are_missed_if_they_stay_silent(engine: Engine, reader: Engine, way: StallingWay) -> None:
    silent(engine)
    short = timedelta(seconds=0.5)
    figures = Figures(reader, dead_after=short)
    reading = read_after_an_outage(figures, reader, way)
    ends = time.monotonic() + HANG_SECONDS
    while kinds(reading)[:1] != BLAMED[:1]:
        assert time.monotonic() < ends
        reading = figures.read()
    assert reading.answers_since is not None
    # Workers are judged after `reading.at`, by the database's clock at that query.
    assert now() - reading.answers_since > short


def test_a_worker_that_was_declared_dead_before_is_still_missed(
    engine: Engine, reader: Engine, way: StallingWay
) -> None:
    a_worker(engine)
    housekeeping(engine)
    a_worker(engine, "bee-1", silent=MINUTE)
    figures = Figures(reader, dead_after=LIMITS.dead_after)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE workers SET state = 'dead', stopped_at = now() WHERE id = 'bee-1'")
    assert kinds(read_after_an_outage(figures, reader, way)) == ["workers lost"]


def test_the_mail_server_is_not_blamed_for_replies_that_were_not_recorded(
    engine: Engine, reader: Engine, way: StallingWay
) -> None:
    a_worker(engine)
    housekeeping(engine)
    a_breaker(engine)
    a_snooze(engine, claimed_by="ant-1", claimed_at=now() - 12 * SECOND, remind_at=now())
    figures = Figures(reader, dead_after=LIMITS.dead_after)
    assert kinds(figures.read()) == ["mail server frozen"]
    assert kinds(read_after_an_outage(figures, reader, way)) == []
