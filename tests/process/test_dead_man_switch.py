"""A clock with SNOOZER_PING_URL reports to a monitoring service, and stops at once while that service hangs."""

import time
from threading import Event

from tests.process.conftest import TIMEOUT, Field, wait
from tests.webhook_receiver import Answer, Receiver


def test_a_clock_says_that_all_is_well_and_its_end_does_not_wait_for_the_service(place: Field) -> None:
    released = Event()

    def hang() -> Answer:
        released.wait(TIMEOUT)
        return Answer(hangs_up=True)

    with Receiver() as receiver:
        receiver.answers["/hook"] += [hang]
        worker = place.start("worker")
        clock = place.start("clock", SNOOZER_PING_URL=receiver.url())
        try:
            wait(lambda: bool(receiver.posted))
            assert [(one.method, one.path) for one in receiver.posted] == [("GET", "/hook")]
            began = time.monotonic()
            clock.terminate()
            clock.communicate(timeout=TIMEOUT)
            assert (clock.returncode, time.monotonic() - began < 8) == (0, True)
        finally:
            released.set()
            for process in (clock, worker):
                process.kill()
                process.communicate(timeout=TIMEOUT)
