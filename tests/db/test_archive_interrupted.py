"""Archiving beside others at work, and cut off in the middle: nothing is lost, and nothing is there twice."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.delivery.chores import chores
from snoozer.queue import archive, queue
from tests.db.archived import DAY, OLD, RETENTION, TABLES, counts, finished, sent, without_partitions
from tests.db.transitions import claim, finalize
from tests.factories import a_snooze, now

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """The empty database, without partitions before and after."""
    yield from without_partitions(engine)


def until(what: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_counts_stay_whole_while_workers_finish_and_two_clocks_archive(engine: Engine) -> None:
    for _ in range(300):
        finished(engine)
    for _ in range(60):
        a_snooze(engine)
    at_once = chores.Retention(archive_after=timedelta(0), keep_months=24)
    # A statement that was planned before a month's table was made does not look into it; the clock makes them ahead.
    chores.maintain_partitions(engine, config=at_once)
    with engine.begin() as connection:
        archive.create_partitions(connection, months=[(now() - OLD).date().replace(day=1)])
    stop, sums = Event(), set()

    def clock() -> None:
        while not stop.is_set():
            chores.archive(engine, config=at_once)

    def watch() -> None:
        while not stop.is_set():
            with engine.connect() as connection:
                sums.add(
                    connection.execute(
                        text(
                            "SELECT (SELECT count(*) FROM email_snoozes) + (SELECT count(*) FROM email_snoozes_archive)"
                        )
                    ).scalar_one()
                )

    threads = [Thread(target=clock), Thread(target=clock), Thread(target=watch)]
    for thread in threads:
        thread.start()
    try:
        while taken := claim(engine, batch_size=7):
            for held in taken:
                assert finalize(engine, held)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    chores.archive(engine, config=at_once)
    assert sums == {360}
    assert counts(engine)["email_snoozes_archive"] == 360


def test_a_batch_whose_connection_is_cut_moves_nothing(engine: Engine) -> None:
    ids = [sent(engine) for _ in range(3)]
    before = counts(engine)
    with pytest.raises(OperationalError), engine.begin() as connection:
        archive.create_partitions(connection, months=[(now() - OLD).date().replace(day=1)])
        assert len(queue.archive(connection, ids=ids, older_than=35 * DAY)) == 3
        with engine.connect() as other:
            other.execute(
                text("SELECT pg_terminate_backend(:pid)"),
                {"pid": connection.execute(text("SELECT pg_backend_pid()")).scalar_one()},
            )
        connection.execute(text("SELECT 1"))
    assert counts(engine) == before
    assert chores.archive(engine, config=RETENTION) == 3


def test_a_clock_killed_in_the_middle_of_a_batch_loses_nothing(engine: Engine) -> None:
    for _ in range(3):
        sent(engine)
    before = counts(engine)
    program = (
        "import sys; from datetime import timedelta; from snoozer.delivery.chores import chores; "
        "from snoozer.db.engine import make_engine; "
        "config = chores.Retention(archive_after=timedelta(days=35), keep_months=24); "
        "chores.archive(make_engine(sys.argv[1], name='victim'), config=config)"
    )
    with engine.begin() as connection:
        archive.create_partitions(connection, months=[(now() - OLD).date().replace(day=1)])
    with engine.begin() as wall:
        wall.execute(text("LOCK TABLE email_snoozes_archive IN EXCLUSIVE MODE"))
        url = engine.url.render_as_string(hide_password=False)
        victim = subprocess.Popen([sys.executable, "-c", program, url], cwd=ROOT)
        until(lambda: _victims(engine) == ["Lock"])
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert counts(engine) == before
    until(lambda: not _victims(engine))
    assert chores.archive(engine, config=RETENTION) == 3
    assert counts(engine) == dict(zip(TABLES, (0, 3, 0, 3), strict=True))


def _victims(engine: Engine) -> list[str | None]:
    """What each connection of the victim waits for."""
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT wait_event_type FROM pg_stat_activity WHERE application_name = 'snoozer-victim'")
        )
        return list(rows.scalars())
