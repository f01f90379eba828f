"""Mails that real workers prepare ahead: accepted at their time, never before it, and never lost by a kill between the
authorisation and the time."""

import os
import signal
import time
from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import text

from snoozer.queue.promise import ReminderTime
from snoozer.snoozes.acts import Act, Annotate, Cancel, Move, Pause
from snoozer.snoozes.decision import Result
from tests.acting import act
from tests.factories import a_snooze, now, the_events, the_row, the_send
from tests.mail.scripted_server import ScriptedServer
from tests.process.conftest import PATIENT, TIMEOUT, Field, is_stopped, wait

FAR = timedelta(seconds=3)
MOST_LATE = 20
NOTE = "Call"
ACTS: dict[str, Act] = {
    "edit": Move(time=ReminderTime(remind_at=now() + timedelta(days=1))),
    "cancel": Cancel(),
    "pause": Pause(),
    "note": Annotate(note=NOTE),
}
# `make storm` has 200 of each.
EACH = 200 if os.environ.get("SNOOZER_STORM") == "1" else 10


def test_none_is_early_and_each_comes_once(place: Field) -> None:
    place.settings = PATIENT
    worker = place.start("worker")
    wait(lambda: bool(_workers(place)))
    at = now() + FAR
    rows = [a_snooze(place.engine, remind_at=at + timedelta(milliseconds=20 * number)) for number in range(20)]
    wait(lambda: all(place.is_sent(id) for id in rows))
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0
    accepted = {line["in_reply_to"]: line["at"] for line in place.sink.accepted()}
    assert len(accepted) == len(place.sink.accepted()) == 20
    for id in rows:
        row = the_row(place.engine, id)
        assert accepted[row.message_id] >= row.scheduled_for.timestamp()


def test_a_kill_while_mails_are_held_loses_none_and_blames_none_that_was_not_begun(place: Field) -> None:
    doomed = place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="held:kill@<held@mail.example>")
    wait(lambda: bool(_workers(place)))
    # A worker of a busy machine may meet a row late, with nothing held: then two others are tried.
    late = 0
    while True:
        at = now() + FAR
        held = a_snooze(place.engine, message_id="<held@mail.example>", remind_at=at)
        later = a_snooze(place.engine, remind_at=at + timedelta(milliseconds=400))
        wait(lambda: doomed.poll() is not None or (place.is_sent(held) and place.is_sent(later)))  # noqa: B023
        if doomed.poll() is not None:
            break
        late += 1
        assert late < MOST_LATE
    doomed.communicate(timeout=TIMEOUT)
    assert doomed.returncode == -signal.SIGKILL
    assert the_send(place.engine, held).state == "sending"
    row = the_row(place.engine, later)
    assert (row.claimed_at, row.crash_count, the_send(place.engine, later)) == (None, 0, None)
    assert len(place.sink.accepted()) == 2 * late

    clock, worker = place.start("clock"), place.start("worker")
    wait(lambda: "recovered" in the_events(place.engine, held))
    wait(lambda: place.is_sent(held) and place.is_sent(later))
    for process in (clock, worker):
        process.terminate()
        process.communicate(timeout=TIMEOUT)
    copies = [line["in_reply_to"] for line in place.sink.accepted()[2 * late :]]
    assert sorted(copies) == sorted(the_row(place.engine, id).message_id for id in (held, later))
    assert "uncertain" in the_events(place.engine, held)
    assert "recovered" not in the_events(place.engine, later)


@pytest.mark.parametrize("step", ["body", "held"])
def test_a_worker_that_is_frozen_across_the_time_is_late_and_sends_once(place: Field, step: str) -> None:
    place.settings = PATIENT
    # A worker of a busy machine may meet a row late, with nothing held: then another one is tried, by another worker,
    # as each stops once.
    late = 0
    while True:
        worker = place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT=f"{step}:stop@<frozen@mail.example>")
        wait(lambda: _workers(place) > late)  # noqa: B023
        at = now() + FAR
        id = a_snooze(place.engine, message_id="<frozen@mail.example>", remind_at=at)
        wait(lambda: is_stopped(worker) or place.is_sent(id))  # noqa: B023
        if is_stopped(worker) and (the_row(place.engine, id).claimed_at is not None) is (step == "held"):
            break
        worker.send_signal(signal.SIGCONT)
        wait(lambda: place.is_sent(id))  # noqa: B023
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)
        late += 1
        assert late < MOST_LATE
    wait(lambda: now() > at + timedelta(milliseconds=200))
    assert len(place.sink.accepted()) == late
    worker.send_signal(signal.SIGCONT)
    wait(lambda: place.is_sent(id))
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert (worker.returncode, len(place.sink.accepted())) == (0, late + 1)
    assert the_row(place.engine, id).crash_count == 0


def _workers(place: Field) -> int:
    with place.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM workers")).scalar_one())


def test_a_recipient_who_is_refused_ahead_is_asked_for_again_once_due(place: Field) -> None:
    """A worker on a busy machine may meet a row when it is due already: then it asks once, and another row is tried."""
    for _ in range(MOST_LATE):
        asked = _asked_for_a_refused_one(place)
        if asked == 2:
            return
        assert asked == 1
    pytest.fail("no row was met before it was due")


def _asked_for_a_refused_one(place: Field) -> int:
    """How often a worker names the recipient of a row that is due soon, until it records the refusal."""
    with ScriptedServer(rcpt="450 4.2.1 later") as server:
        place.settings = PATIENT | {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_BACKOFF_SECONDS": "60"}
        worker = place.start("worker")
        wait(lambda: bool(_workers(place)))
        id = a_snooze(place.engine, remind_at=now() + FAR)
        wait(lambda: the_row(place.engine, id).last_error is not None)
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)
        asked = sum(command.startswith("RCPT") for command in server.commands)
    row = the_row(place.engine, id)
    assert row.last_error_at > row.scheduled_for
    return asked


@pytest.mark.chaos
def test_acts_in_the_last_moments_count_or_say_that_a_copy_may_arrive(place: Field) -> None:
    """At random moments before the promises, so that some come before the authorisation and some after it."""
    place.settings = PATIENT
    rng = Random(41)
    worker = place.start("worker")
    wait(lambda: bool(_workers(place)))
    kinds = [kind for kind in ACTS for _ in range(EACH)]
    rng.shuffle(kinds)
    start = now() + FAR
    promises = [start + timedelta(seconds=rng.uniform(0, len(kinds) / 25)) for _ in kinds]
    rows = [(a_snooze(place.engine, remind_at=at), kind, at) for kind, at in zip(kinds, sorted(promises), strict=True)]
    results: dict[int, Result] = {}
    for moment, id, kind in sorted((at - timedelta(seconds=rng.uniform(0, 0.6)), id, kind) for id, kind, at in rows):
        while now() < moment:
            time.sleep(0.001)
        with place.engine.begin() as connection:
            results[id] = act(connection, id, ACTS[kind])
    wait(lambda: now() > max(promises) and not _unfinished(place))
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0

    accepted = {line["in_reply_to"]: line["at"] for line in place.sink.accepted()}
    assert len(accepted) == len(place.sink.accepted()), "none twice"
    for id, kind, at in rows:
        row, result = the_row(place.engine, id), results[id]
        came = accepted.get(row.message_id)
        assert came is None or came >= at.timestamp(), "none early"
        if result.left is not None:
            assert came is not None, "the answer to a late act says so"
        elif kind == "note":
            assert came is not None
            assert result.may_arrive or the_send(place.engine, id).note == NOTE
        else:
            assert came is None or result.may_arrive, "what counted left nothing for the old promise"
    kept = sum(result.left is None and not result.may_arrive for result in results.values())
    print(f"{len(rows)} acts in the last 0.6 s: {kept} counted, {len(accepted)} mails")
    assert kept


def _unfinished(place: Field) -> int:
    unfinished = "claimed_at IS NOT NULL OR (NOT inactive AND remind_at <= now())"
    with place.engine.connect() as connection:
        count = text(f"SELECT count(*) FROM email_snoozes WHERE {unfinished}")  # noqa: S608 - of this file
        return int(connection.execute(count).scalar_one())
