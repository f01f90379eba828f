"""Real workers and a digest: killed at every step, two at once, a mail server that freezes, one that refuses. Each
reminder comes in exactly one mail or in an equal copy of it, or is a case by its own refusal."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from snoozer.runtime.failpoint import STEPS
from tests.db.digests import deferred, outcomes
from tests.db.invariants import look
from tests.factories import the_events, the_row, the_send
from tests.mail.scripted_server import STALL, USUAL, ScriptedServer
from tests.process.conftest import TIMEOUT, Field, wait

MAY_COPY = {"dot", "replied"}
# All of them: SNOOZER_STORM=1.
KILLED_AT = STEPS if os.environ.get("SNOOZER_STORM") == "1" else ("reserved", "dot")


@contextmanager
def running(place: Field, *commands: str) -> Iterator[None]:
    started = [place.start(command) for command in commands]
    try:
        yield
    finally:
        for each in started:
            each.terminate()
        for each in started:
            each.communicate(timeout=TIMEOUT)


def wait_until_over(place: Field, ids: Sequence[int]) -> None:
    wait(lambda: None not in outcomes(place.engine, ids))


@pytest.mark.parametrize("step", KILLED_AT)
def test_killed_at_a_step_of_a_digest_each_reminder_comes_in_one_mail(place: Field, step: str) -> None:
    ids = deferred(place.engine, 5)
    # It is claimed and refused once before it is a digest.
    nth = 2 if step in {"claimed", "reserved"} else 1
    failpoint = f"{step}:kill:{nth}@{the_row(place.engine, ids[0]).message_id}"
    killed = place.start("worker", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT=failpoint)
    killed.communicate(timeout=TIMEOUT)
    assert killed.returncode == -signal.SIGKILL
    with running(place, "worker", "clock"):
        wait_until_over(place, ids)
    assert outcomes(place.engine, ids) == ["sent"] * len(ids)
    mails = [(mail["message_id"], mail["sha256"]) for mail in place.sink.accepted()]
    assert len(set(mails)) == 1
    assert len(mails) == 1 or step in MAY_COPY
    assert len(mails) <= 2
    assert look(place.engine) == {}


def test_two_workers_send_one_mail(place: Field) -> None:
    ids = deferred(place.engine, 30)
    with running(place, "worker", "worker"):
        wait_until_over(place, ids)
    [mail] = place.sink.accepted()
    assert "Subject: 30 reminders\r\n" in mail["head"]
    assert outcomes(place.engine, ids) == ["sent"] * len(ids)
    assert look(place.engine) == {}


def test_a_server_that_freezes_after_the_dot_gets_an_equal_copy_and_no_single_mail(place: Field) -> None:
    ids = deferred(place.engine, 5)
    with ScriptedServer(dot=[STALL, USUAL["dot"]]) as server:
        place.settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_DEADLINE_SECONDS": "3"}
        with running(place, "worker", "worker"):
            wait_until_over(place, ids)
        mails = [mail.data for mail in server.received]
    assert len(mails) == 2
    assert len(set(mails)) == 1
    assert "uncertain" in the_events(place.engine, ids[0])
    assert outcomes(place.engine, ids) == ["sent"] * len(ids)
    assert look(place.engine) == {}


def test_when_the_recipient_is_refused_each_reminder_is_a_case_by_its_own_refusal(place: Field) -> None:
    ids = deferred(place.engine, 4)
    with ScriptedServer(rcpt="550 5.1.1 no such user") as server:
        place.settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}"}
        with running(place, "worker"):
            wait_until_over(place, ids)
        assert server.received == []
    assert outcomes(place.engine, ids) == ["retired"] * len(ids)
    assert [the_send(place.engine, id).smtp_code for id in ids] == [550] * len(ids)
    with place.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM digests")).scalar_one() == 0
    assert look(place.engine) == {}
