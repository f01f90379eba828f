"""What the statements of pushes read where there are many."""

from sqlalchemy import Engine, text

from snoozer.db import notifications
from snoozer.db.engine import make_engine
from snoozer.db.notifications import ClaimedPush
from tests.db.pushes import a_pushed_device
from tests.db.reading import reading
from tests.factories import People
from tests.push_service import PushService, subscribe

PEOPLE = ("ann@snoozer.example", "bob@snoozer.example", "carol@snoozer.example")
DUE = """
INSERT INTO push_sends (device_id, account_id, snooze_id, scheduled_for, try_at, expires_at)
SELECT device.id, device.account_id, number, now(), now() - number * interval '1 ms', now() + interval '4 h'
FROM push_devices AS device, generate_series(1, 5000) AS number
"""


def test_a_claim_reads_few_of_the_thousands_that_are_due(engine: Engine, service: PushService, people: People) -> None:
    """It read and sorted all of them: a day's nine o'clock would have been pushed until the afternoon."""
    for email in PEOPLE:
        subscribe(engine, service.subscription(email), account_id=people.ann(email).id)
    with engine.begin() as connection:
        connection.execute(text(DUE))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE push_sends"))
    read = reading(engine, lambda connection: notifications.claim(connection, ClaimedPush))
    assert read.rows <= 20, read
    assert "push_sends" not in read.whole_tables


def test_a_sweep_reads_nothing_of_the_pushes_that_are_over(engine: Engine, postgres_url: str, people: People) -> None:
    """In a worker's session, which reads in the order of an index, it read those of 30 days every few seconds."""
    a_pushed_device(engine, account_id=people.ann().id, url="https://push.example/1")
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO push_sends "
                "(device_id, account_id, snooze_id, scheduled_for, state, try_at, expires_at, finished_at) "
                "SELECT device_id, account_id, 1 + n, now(), 'sent', now(), now(), now() "
                "FROM push_sends, generate_series(1, 2000) AS n"
            )
        )
    worker = make_engine(postgres_url, name="tests", pool_size=1, by_index=True)
    assert reading(worker, lambda connection: notifications.sweep(connection, "push", batch_size=10)).rows <= 20
    worker.dispose()
