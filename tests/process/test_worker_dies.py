"""A worker is killed at every step of a delivery. Nothing is lost, and a second copy only where the ledger says so."""

import os
import signal
import time
from collections import defaultdict

import pytest
from sqlalchemy import text

from snoozer.runtime.failpoint import STEPS
from tests.acting import cancel
from tests.factories import a_snooze, the_events, the_row, the_send
from tests.process.conftest import PATIENT, TIMEOUT, Field, wait, wait_until_stopped

# `make storm` runs all of them.
KILLS = 10 if os.environ.get("SNOOZER_STORM") == "1" else 1
TRIES = 10
DECLARED_DEAD = 1
NO_DUPLICATE = {"claimed", "reserved", "body", "marked", "recorded", "finalized"}


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step_nothing_is_lost_and_nothing_sent_twice_unmarked(place: Field, step: str) -> None:
    rows: dict[str, int] = {}
    for number in range(KILLS):
        message_id = f"<{step}-{number}@mail.example>"
        rows[message_id] = a_snooze(place.engine, message_id=message_id)
        # One at a time: a row of an earlier kill would die with this one at some step of its own.
        failpoint = {"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": f"{step}:kill@{message_id}"}
        # Where the machine stands still for the short settings' 1.6 s, a worker rightly ends itself before that.
        runs = (place.run("worker", "--drain", "--batch", "1", **failpoint) for _ in range(TRIES))
        killed = next(run for run in runs if run.returncode != DECLARED_DEAD)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    _until_all_are_sent(place)

    copies = defaultdict(list)
    for mail in place.sink.accepted():
        copies[mail["in_reply_to"]].append((mail["message_id"], mail["sha256"]))
    assert set(copies) == set(rows), "lost"
    for message_id, mails in copies.items():
        assert len(set(mails)) == 1, "a second copy differs from the first"
        send, events = the_send(place.engine, rows[message_id]), the_events(place.engine, rows[message_id])
        assert mails[0] == (send.reminder_message_id, send.bytes_sha256)
        if len(mails) > 1:
            assert step not in NO_DUPLICATE
            assert "uncertain" in events
        assert len(mails) <= 2


@pytest.mark.parametrize(("step", "copies"), [("body", 1), ("marked", 1), ("dot", 2), ("replied", 2), ("recorded", 1)])
def test_an_error_of_our_own_is_settled_at_once(place: Field, step: str, copies: int) -> None:
    """Behind a mark it stayed `sending` until the deadline, claimed in vain and reported as failed again and again."""
    id = a_snooze(place.engine)
    settings = {"SNOOZER_DEADLINE_SECONDS": "720", "SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": f"{step}:raise"}
    worker = place.start("worker", **settings)
    wait(lambda: the_row(place.engine, id).outcome is not None)
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert (worker.returncode, the_row(place.engine, id).outcome) == (0, "sent")
    mails = [(mail["message_id"], mail["sha256"]) for mail in place.sink.accepted()]
    assert (len(mails), len(set(mails))) == (copies, 1)
    assert the_events(place.engine, id).count("failed") <= 1
    assert ("uncertain" in the_events(place.engine, id)) is (step in {"dot", "replied"})


def _until_all_are_sent(place: Field) -> None:
    ends = time.monotonic() + TIMEOUT
    while time.monotonic() < ends:
        drained = place.run("worker", "--drain")
        assert drained.returncode == 0, drained.stderr
        with place.engine.connect() as connection:
            waiting = connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one()
        if not waiting:
            return
    pytest.fail("snoozes are still waiting")


def test_a_dead_workers_row_is_recovered_by_the_clock(place: Field) -> None:
    id = a_snooze(place.engine, message_id="<held@mail.example>")
    place.run("worker", "--drain", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="body:kill")
    assert the_row(place.engine, id).claimed_by is not None
    clock = place.start("clock")
    try:
        wait(lambda: the_row(place.engine, id).claimed_by is None)
    finally:
        clock.terminate()
        clock.communicate()
    assert clock.returncode == 0
    assert "recovered" in the_events(place.engine, id)


def test_a_worker_that_stops_releases_what_it_never_began(place: Field) -> None:
    ids = [a_snooze(place.engine) for _ in range(30)]
    # A lease that ends while the machine does other work is left to recovery.
    place.settings = PATIENT
    worker = place.start("worker", "--concurrency", "1", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="body:stop:3")
    wait_until_stopped(worker)
    worker.terminate()
    worker.send_signal(signal.SIGCONT)
    out, err = worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0, out + err
    rows = [the_row(place.engine, id) for id in ids]
    assert not any(row.claimed_at for row in rows)
    assert not any(row.attempts or row.crash_count for row in rows)
    assert sum(row.outcome == "sent" for row in rows) < len(rows)


def test_a_cancellation_while_the_body_is_handed_over_wins(place: Field) -> None:
    id = a_snooze(place.engine, message_id="<unwanted@mail.example>")
    place.settings = PATIENT
    worker = place.start("worker", "--drain", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="body:stop")
    wait_until_stopped(worker)
    with place.engine.begin() as connection:
        assert cancel(connection, id)
    worker.send_signal(signal.SIGCONT)
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0
    assert place.sink.accepted() == []
    assert the_send(place.engine, id) is None


@pytest.mark.parametrize("step", ["claimed", "body", "marked"])
def test_a_zombie_that_slept_past_its_lease_sends_nothing(place: Field, step: str) -> None:
    id = a_snooze(place.engine, message_id="<slept@mail.example>")
    zombie = place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT=f"{step}:stop")
    wait_until_stopped(zombie)
    ends = time.monotonic() + TIMEOUT
    while (the_row(place.engine, id).outcome is None or _a_worker_is_alive(place)) and time.monotonic() < ends:
        place.run("worker", "--drain")
    zombie.send_signal(signal.SIGCONT)
    zombie.communicate(timeout=TIMEOUT)
    assert zombie.returncode == 1, "it was declared dead and says so"
    assert len(place.sink.accepted()) == 1


@pytest.mark.parametrize("pooled", ["0", "1"])
def test_rows_in_the_transaction_of_a_frozen_worker_are_soon_free(place: Field, pooled: str) -> None:
    """They were locked for a minute, and behind a pooler until the worker was killed."""
    id = a_snooze(place.engine)
    place.settings = {"SNOOZER_PGBOUNCER": pooled}
    frozen = place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="claimed:stop")
    wait_until_stopped(frozen)
    healthy = place.start("worker")
    wait(lambda: the_row(place.engine, id).outcome == "sent")
    frozen.kill()
    healthy.terminate()
    for worker in (frozen, healthy):
        worker.communicate(timeout=TIMEOUT)
    assert healthy.returncode == 0


def _a_worker_is_alive(place: Field) -> bool:
    with place.engine.connect() as connection:
        return connection.execute(text("SELECT 1 FROM workers WHERE state <> 'dead'")).first() is not None
