"""A clock that never lives for long does the chores of every hour and every day."""

from sqlalchemy import text

from snoozer.queue import workers
from tests.process.conftest import TIMEOUT, Field, wait


def test_a_clock_that_is_restarted_every_hour_tidies_up(place: Field) -> None:
    """The chores of every hour ran after an hour of uptime, and so never where the clock was restarted every hour."""
    with place.engine.begin() as connection:
        workers.register(connection, id="old")
        workers.deregister(connection, id="old")
        connection.execute(text("UPDATE workers SET stopped_at = now() - INTERVAL '8 days'"))
        connection.execute(
            text(
                "INSERT INTO housekeeping_runs (chore, finished_at) SELECT chore, now() - INTERVAL '25 hours' "
                "FROM unnest(ARRAY['hourly', 'daily', 'prepare months', 'forget workers']) AS chore"
            )
        )
    clock = place.start("clock")
    try:
        wait(lambda: is_tidy(place))
    finally:
        clock.terminate()
        clock.communicate(timeout=TIMEOUT)


def is_tidy(place: Field) -> bool:
    """Whether workers of last week are gone and the chores of every hour and day were done lately."""
    with place.engine.connect() as connection:
        old = connection.execute(text("SELECT count(*) FROM workers")).scalar_one()
        overdue = connection.execute(
            text("SELECT count(*) FROM housekeeping_runs WHERE finished_at < now() - INTERVAL '1 hour'")
        ).scalar_one()
    return (old, overdue) == (0, 0)
