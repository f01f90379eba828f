"""One recipient's server takes its time; everybody else's reminders are not late for that."""

from functools import partial

from tests.factories import a_snooze, now, the_row
from tests.process.conftest import TIMEOUT, Field, wait
from tests.process.staller import Staller


def test_a_stalled_delivery_does_not_keep_later_ones_waiting(place: Field, staller: Staller) -> None:
    slow = a_snooze(place.engine, user_email="slow@snoozer.example")
    worker = place.start("worker", SMTP_URL=f"smtp://127.0.0.1:{staller.port}")
    try:
        wait(lambda: the_row(place.engine, slow).claimed_at is not None)
        for _ in range(3):
            quick = a_snooze(place.engine, remind_at=now())
            wait(partial(place.is_sent, quick))
        assert the_row(place.engine, slow).outcome is None
        staller.let_go()
        wait(partial(place.is_sent, slow))
    finally:
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0
