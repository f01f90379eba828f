"""The database commits, and its answer never comes: what a worker cannot know, it asks for."""

import psycopg
import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from snoozer.settings import Settings
from tests.factories import a_snooze, the_row
from tests.process.conftest import Field, wait
from tests.process.worker_here import a_worker


def test_a_claim_whose_answer_was_lost_is_given_back_by_its_worker(place: Field, settings: Settings) -> None:
    """Its rows lost their lease a minute and a half later, and passed for rows that had killed a worker."""
    ids = [a_snooze(place.engine) for _ in range(3)]
    claimed = text("SELECT count(*) FROM email_snoozes WHERE claimed_at IS NOT NULL")
    lost: list[bool] = []

    def lose_the_answer(connection: Connection) -> None:
        if not lost and connection.execute(claimed).scalar_one():
            lost.append(True)
            driver = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            driver.commit()
            reason = psycopg.OperationalError("server closed the connection unexpectedly")
            raise OperationalError("COMMIT", {}, reason)

    event.listen(place.engine, "commit", lose_the_answer)
    with a_worker(place, settings) as worker:
        with pytest.raises(OperationalError):
            worker.tick()
        assert all(the_row(place.engine, id).claimed_at for id in ids)
        assert worker.tick() == 3
        wait(lambda: all(place.is_sent(id) for id in ids))
    assert [the_row(place.engine, id).crash_count for id in ids] == [0, 0, 0]
