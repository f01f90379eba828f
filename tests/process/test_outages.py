"""Six outages, made for real: the operator's overview names each within 15 s, and shows no figure that is not true."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import support
from snoozer.settings import Settings
from tests.factories import People
from tests.process.conftest import ROOT, SHORT, TIMEOUT, Field, wait
from tests.web.cases import page, visible_text
from tests.web.overviews import verdict

SECONDS = 15
WORKERS = 2
# Figures of the page, and the truth about each in plain SQL.
TRUTH = {
    "due": "NOT inactive AND claimed_at IS NULL AND remind_at <= now()",
    "in hand": "claimed_at IS NOT NULL",
    "to be tried again": "NOT inactive AND claimed_at IS NULL AND remind_at > now() AND last_error IS NOT NULL",
    "asleep": "NOT inactive AND claimed_at IS NULL AND remind_at > now() AND last_error IS NULL",
    "cases": "outcome = 'retired'",
}
SHOWN = {
    "due": r"Due now ([\d,]+) snooze",
    "in hand": r"In hand ([\d,]+) snooze",
    "to be tried again": r"To be tried again ([\d,]+) snooze",
    "asleep": r"Asleep ([\d,]+) snooze",
    "cases": r"Cases ([\d,]+) to decide",
    "sent": r"Sent ([\d,]+) in the last hour",
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of the processes: what is silent for so long is dead to all."""
    seconds = {
        "worker_dead": float(SHORT["SNOOZER_WORKER_DEAD_SECONDS"]),
        "sweep": float(SHORT["SNOOZER_SWEEP_SECONDS"]),
        "poll": float(SHORT["SNOOZER_POLL_SECONDS"]),
    }
    return settings.model_copy(update=seconds)


@pytest.fixture
def operator(client: FlaskClient, people: People) -> FlaskClient:
    client.set_cookie("snoozer_session", people.operator().session)
    return client


@pytest.fixture
def place(place: Field) -> Field:
    place.settings = {
        "SNOOZER_BACKOFF_SECONDS": "20",
        "SNOOZER_BREAKER_COOLDOWN_SECONDS": "60",
        "SNOOZER_LEASE_SECONDS": "30",
    }
    return place


def come_due(place: Field, count: int = 20) -> None:
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n || '@snoozer.example', gen_random_uuid() || '@mail.example', "
                "now() + CASE WHEN n > :count THEN INTERVAL '1 hour' ELSE '0' END "
                "FROM generate_series(1, :count + 3) AS n"
            ),
            {"count": count},
        )


@contextmanager
def running(place: Field, *, workers: int = WORKERS, clock: bool = True) -> Iterator[list["subprocess.Popen[str]"]]:
    """The workers, and the clock last, once all of them are at work; they are killed in the end."""
    with ExitStack() as stack:
        started = [place.start("worker") for _ in range(workers)] + ([place.start("clock")] if clock else [])
        for process in started:
            stack.callback(end, process)
        wait(lambda: at_work(place.engine, workers=workers, clock=clock))
        yield started


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.communicate(timeout=TIMEOUT)


def at_work(engine: Engine, *, workers: int, clock: bool) -> bool:
    """Whether each worker has sent a heartbeat since the last one of them started, and the clock has swept."""
    heard = (
        "SELECT count(*) FROM workers WHERE state = 'alive' AND heartbeat_at > (SELECT max(started_at) FROM workers)"
    )
    with engine.connect() as connection:
        alive = connection.execute(text(heard)).scalar_one()
        swept = connection.execute(text("SELECT count(*) FROM housekeeping_runs WHERE chore = 'recover'")).scalar_one()
    time.sleep(0.05)
    return bool(alive == workers and (swept or not clock))


def truth(engine: Engine) -> dict[str, int]:
    columns = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in TRUTH.values())
    with engine.connect() as connection:
        found = connection.execute(text(f"SELECT {columns} FROM email_snoozes")).one()  # noqa: S608
        sent = "SELECT count(*) FROM reminder_sends WHERE state = 'sent' AND sent_at > now() - INTERVAL '1 hour'"
        return dict(zip(TRUTH, found, strict=True)) | {"sent": connection.execute(text(sent)).scalar_one()}


def shown(operator: FlaskClient) -> dict[str, int]:
    """The figures of the page; a card that is not there stands for 0."""
    words = visible_text(page(operator, "/admin"))
    found = {name: re.search(pattern, words) for name, pattern in SHOWN.items()}
    return {name: int(match[1].replace(",", "")) if match else 0 for name, match in found.items()}


def known(engine: Engine) -> list[object]:
    """For a failure: what is known of the mail servers."""
    with engine.connect() as connection:
        return list(support.read(connection, "mail_servers"))


def named(operator: FlaskClient, engine: Engine, *kinds: str) -> None:
    """The overview says within the time which of these it is; then every figure is the truth: what is true before and
    after the page is shown on it."""
    ends = time.monotonic() + SECONDS
    while (found := verdict(operator))[0] not in kinds:
        assert time.monotonic() < ends, (found, known(engine))
        time.sleep(0.2)
    for _ in range(50):
        before = truth(engine)
        figures = shown(operator)
        if before == truth(engine):
            assert figures == before
            return
    pytest.fail("the queue never stood still for the time of a page")


def test_a_mail_server_that_is_frozen(place: Field, operator: FlaskClient) -> None:
    come_due(place)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{frozen.getsockname()[1]}"
        with running(place):
            named(operator, place.engine, "mail server frozen")


@pytest.mark.parametrize("due", [1, 20])
def test_a_mail_server_that_refuses(due: int, place: Field, operator: FlaskClient) -> None:
    """With one reminder due its breaker never opens."""
    come_due(place, due)
    with socket.create_server(("127.0.0.1", 0)) as port:
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{port.getsockname()[1]}"
    with running(place):
        named(operator, place.engine, "mail server refusing")


def test_a_mail_server_that_is_slow(place: Field, operator: FlaskClient) -> None:
    come_due(place)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.process.slow_server", "2.5"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{int(server.stdout.readline())}"
        with running(place):
            named(operator, place.engine, "mail server slow")
    finally:
        server.kill()
        server.communicate(timeout=TIMEOUT)


def test_a_database_full_of_locks(place: Field, operator: FlaskClient) -> None:
    with running(place), place.engine.connect() as migration:
        migration.execute(text("LOCK TABLE email_snoozes IN SHARE ROW EXCLUSIVE MODE"))
        try:
            named(operator, place.engine, "locks")
        finally:
            migration.rollback()


def test_a_clock_that_is_dead(place: Field, operator: FlaskClient) -> None:
    come_due(place, 3)
    with running(place) as processes:
        processes[-1].kill()
        named(operator, place.engine, "clock")


def test_half_of_the_workers_frozen(place: Field, operator: FlaskClient) -> None:
    with running(place) as processes:
        processes[0].send_signal(signal.SIGSTOP)
        come_due(place, 3)
        named(operator, place.engine, "workers lost")
