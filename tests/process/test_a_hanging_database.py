"""The database hangs with its connections open: commands report it, and processes stop when asked to."""

import time

import pytest
from sqlalchemy import text

from tests.factories import a_snooze, the_events, the_row
from tests.process.conftest import Field, wait
from tests.process.exits import ended, workers
from tests.stalling import StallingWay

# What keepers of processes give before they kill, as Kubernetes and Heroku do.
GIVEN_SECONDS = 30


@pytest.mark.parametrize("name", ["worker", "clock"])
def test_a_process_stops_while_the_database_hangs(place: Field, way: StallingWay, name: str) -> None:
    """Workers stayed for as long as it hung."""
    process = place.start(name, DATABASE_URL=way.url)
    wait(lambda: sessions(place) > 0)
    way.stall()
    began = time.monotonic()
    process.terminate()
    code, errors = ended(process)
    assert time.monotonic() - began < GIVEN_SECONDS
    assert "Traceback" not in errors
    assert code in {0, 2}


def test_a_command_reports_that_the_database_gives_no_answer(place: Field, way: StallingWay) -> None:
    way.stall()
    refused = place.run("support", "backlog", DATABASE_URL=way.url)
    assert refused.returncode == 2
    assert refused.stderr.startswith("snoozer: The database cannot be reached: ")


def test_reminders_leave_again_when_the_way_flows_and_nothing_is_sent_twice_unmarked(
    place: Field, way: StallingWay
) -> None:
    """What was under way came to nothing or to an end, and what arrived late was done late, or not at all."""
    first = a_snooze(place.engine)
    clock, worker = place.start("clock"), place.start("worker", DATABASE_URL=way.url)
    wait(lambda: the_row(place.engine, first).outcome == "sent")
    later = [a_snooze(place.engine) for _ in range(20)]
    way.stall()
    wait(lambda: workers(place.engine, "dead") == 1)
    way.flow()
    assert ended(worker)[0] == 1
    clock.terminate()
    ended(clock)
    assert place.run("worker", "--drain").returncode == 0
    assert {the_row(place.engine, id).outcome for id in [first, *later]} == {"sent"}
    copies = len(place.sink.accepted())
    marked = sum("uncertain" in the_events(place.engine, id) for id in later)
    assert copies <= 21 + marked


def sessions(place: Field) -> int:
    asked = text("SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('snoozer-worker', 'snoozer-clock')")
    with place.engine.connect() as connection:
        return int(connection.execute(asked).scalar_one())
