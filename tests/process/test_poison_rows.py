"""A poison row is delivered alone; one that cannot be claimed stops no other, and keeps no breaker open for ever."""

from datetime import timedelta
from functools import partial
from itertools import chain

from sqlalchemy import text

from tests.factories import HOUR, a_snooze, now, the_row
from tests.process.conftest import TIMEOUT, Field, wait
from tests.process.staller import Staller

SECOND = timedelta(seconds=1)


def test_a_poison_row_behind_others_of_its_key_stops_no_other(place: Field) -> None:
    """Nothing was claimed while it was due, and it could not be claimed: no reminder was sent any more."""
    key = [a_snooze(place.engine, serialization_key="mailbox-1", remind_at=now() - HOUR + n * SECOND) for n in range(5)]
    last = a_snooze(place.engine, serialization_key="mailbox-1", crash_count=2, remind_at=now() - SECOND)
    other = a_snooze(place.engine)
    drained = place.run("worker", "--drain")
    assert drained.returncode == 0, drained.stderr
    assert {the_row(place.engine, id).outcome for id in chain(key, [last, other])} == {"sent"}


def test_a_locked_poison_row_stops_no_other(place: Field) -> None:
    poison_row = a_snooze(place.engine, crash_count=2)
    others = [a_snooze(place.engine) for _ in range(5)]
    with place.engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": poison_row})
        worker = place.start("worker")
        for other in others:
            wait(partial(place.is_sent, other))
    wait(partial(place.is_sent, poison_row))
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0


def test_a_poison_row_beside_a_stalled_delivery_stops_others_for_moments_only(place: Field, staller: Staller) -> None:
    slow = a_snooze(place.engine, user_email="slow@snoozer.example")
    worker = place.start("worker", SMTP_URL=f"smtp://127.0.0.1:{staller.port}", SNOOZER_DEADLINE_SECONDS="720")
    try:
        wait(lambda: the_row(place.engine, slow).claimed_at is not None)
        poison_row = a_snooze(place.engine, crash_count=2)
        others = [a_snooze(place.engine, remind_at=now() + n * SECOND) for n in range(1, 4)]
        for other in others:
            wait(partial(place.is_sent, other))
        assert (the_row(place.engine, slow).outcome, the_row(place.engine, poison_row).outcome) == (None, None)
        staller.let_go()
        wait(partial(place.is_sent, poison_row))
    finally:
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)


def test_a_row_that_lost_one_worker_waits_for_no_stalled_delivery(place: Field, staller: Staller) -> None:
    """It waited to be alone, and with many such rows each was delivered by itself: a storm of kills left a tail."""
    slow = a_snooze(place.engine, user_email="slow@snoozer.example")
    worker = place.start("worker", SMTP_URL=f"smtp://127.0.0.1:{staller.port}", SNOOZER_DEADLINE_SECONDS="720")
    try:
        wait(lambda: the_row(place.engine, slow).claimed_at is not None)
        crashed = [a_snooze(place.engine, crash_count=1) for _ in range(20)]
        for id in crashed:
            wait(partial(place.is_sent, id))
        assert the_row(place.engine, slow).outcome is None
    finally:
        staller.let_go()
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)


def test_a_breaker_is_closed_by_a_poison_row_when_nothing_else_is_due(place: Field) -> None:
    """The probe claimed no poison row, so with nothing else due the breaker stayed open."""
    poison_rows = [a_snooze(place.engine, crash_count=2) for _ in range(3)]
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, state, failures, opened_at) "
                "VALUES (:server, 'open', 5, now() - INTERVAL '1 hour')"
            ),
            {"server": f"127.0.0.1:{place.sink.port}"},
        )
    drained = place.run("worker", "--drain")
    assert drained.returncode == 0, drained.stderr
    assert {the_row(place.engine, id).outcome for id in poison_rows} == {"sent"}
