"""A mail server that stalls before the dot or hangs up after it, and a worker that has to live with it."""

import signal
from datetime import timedelta

from sqlalchemy import text

from snoozer.queue import workers
from tests.db.transitions import record, recover
from tests.factories import a_snooze, the_events, the_row, the_send
from tests.mail.scripted_server import EOF, STALL, ScriptedServer
from tests.next_try import SECOND, set_next_try
from tests.process.conftest import TIMEOUT, Field, wait, wait_until_stopped

LONG = "720"
# The scripted server gives up a stall after a minute.
LESS_THAN_A_STALL = 40


def breaker_state(place: Field) -> str | None:
    with place.engine.connect() as connection:
        return connection.execute(text("SELECT state FROM circuit_breakers")).scalar_one_or_none()


def work_until_it_is_left_alone(place: Field, server: ScriptedServer) -> None:
    worker = place.start(
        "worker", "--concurrency", "2", "--batch", "2",
        SMTP_URL=f"smtp://127.0.0.1:{server.port}", SNOOZER_BREAKER_COOLDOWN_SECONDS=LONG,
    )  # fmt: skip
    wait(lambda: breaker_state(place) == "open")
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0


def test_a_worker_that_leaves_calls_back_a_mail_that_is_stalled_before_its_dot(place: Field) -> None:
    """It waited for the server's answer, minutes, until it was killed and the row had lost a worker."""
    with ScriptedServer({"rcpt": STALL}) as server:
        id = a_snooze(place.engine)
        worker = place.start("worker", SMTP_URL=f"smtp://127.0.0.1:{server.port}", SNOOZER_DEADLINE_SECONDS=LONG)
        wait(lambda: server.connections > 0)
        worker.terminate()
        out, err = worker.communicate(timeout=LESS_THAN_A_STALL)
    assert worker.returncode == 0, out + err
    row = the_row(place.engine, id)
    assert (row.claimed_at, row.attempts, row.crash_count, row.outcome) == (None, 0, 0, None)
    assert the_send(place.engine, id) is None


def test_a_server_that_hangs_up_after_mail_upon_mail_is_left_alone(place: Field) -> None:
    """Each mail was sent three times without an answer; the breaker heard nothing of it."""
    for _ in range(40):
        a_snooze(place.engine)
    with ScriptedServer({"dot": EOF}) as server:
        work_until_it_is_left_alone(place, server)
        assert len(server.abandoned) + len(server.received) < 40


def test_a_server_that_closes_after_mail_upon_mail_is_left_alone_and_no_reminder_pays_for_it(place: Field) -> None:
    """Each 421 spent an attempt, so a server that throttled for long made cases of a herd."""
    ids = [a_snooze(place.engine) for _ in range(10)]
    with ScriptedServer({"dot": "421 4.7.0 too much of you"}) as server:
        work_until_it_is_left_alone(place, server)
    rows = [the_row(place.engine, id) for id in ids]
    assert {(row.attempts, row.outcome) for row in rows} == {(0, None)}
    assert {send.state for id in ids if (send := the_send(place.engine, id))} == {"failed"}


def test_a_late_reply_while_the_second_copy_is_on_its_way_keeps_the_copy_back(place: Field) -> None:
    """The mark was refused and the claim kept until its lease ended, as if the worker had been lost."""
    id = a_snooze(place.engine)
    place.settings = {"SNOOZER_WORKER_DEAD_SECONDS": LONG, "SNOOZER_LEASE_SECONDS": "3600"}
    place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="marked:kill").communicate(timeout=TIMEOUT)
    with place.engine.begin() as connection:
        assert len(workers.mark_dead(connection, dead_after=timedelta(0))) == 1
    assert [found.uncertain for found in recover(place.engine)] == [True]
    with place.engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = uncertain_at - INTERVAL '1 day'"))
        set_next_try(connection, -SECOND, "NOT inactive")
    worker = place.start("worker", "--drain", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="body:stop")
    wait_until_stopped(worker)
    record(place.engine, the_send(place.engine, id))
    worker.send_signal(signal.SIGCONT)
    worker.communicate(timeout=TIMEOUT)
    assert worker.returncode == 0
    assert place.sink.accepted() == []
    assert (the_row(place.engine, id).outcome, the_row(place.engine, id).crash_count) == ("sent", 1)
    assert "resent" not in the_events(place.engine, id)
