"""Six outages, made for real: the operator's overview names each within 15 s, and no place shows an untrue figure."""

import os
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
from snoozer.telemetry import gauges
from tests.factories import People
from tests.process import ground_truth
from tests.process.conftest import ROOT, SHORT, TIMEOUT, Field, wait
from tests.web.overviews import troubles_of

# Beside other tests, only what hangs is to fail.
SECONDS = 60 if "PYTEST_XDIST_WORKER" in os.environ else 15
WORKERS = 2
ME = "olga@snoozer.example"
# No worker is declared dead because this machine is slow: it would end, and nothing starts it again.
DEAD_SECONDS = "6"
# Beside what happens in an outage there is something of every other kind.
BESIDE = """
WITH pause AS (
    INSERT INTO pauses (kind, value, actor, reason) VALUES ('domain', 'held.example', 'operator:1', 'moving')
    RETURNING id
),
one AS (
    INSERT INTO email_snoozes (
        user_email, message_id, remind_at, scheduled_for, inactive, outcome, finished_at, last_error, last_error_at,
        paused_by
    )
    VALUES
        ('a@snoozer.example', 'a@mail.example', now(), now(), TRUE, 'retired', now(), 'rcpt: 550 unknown', now(), NULL),
        ('a@snoozer.example', 'b@mail.example', now(), now(), TRUE, 'retired', now(), 'rcpt: 550 unknown', now(), NULL),
        (:me, 'c@mail.example', now(), now(), TRUE, 'retired', now(), 'data: 554 too large', now(), NULL),
        ('d@held.example', 'd@mail.example', now(), now(), TRUE, NULL, NULL, NULL, NULL, (SELECT id FROM pause)),
        (:me, 'e@mail.example', now() + INTERVAL '1 hour', NULL, TRUE, NULL, NULL, NULL, NULL, NULL),
        (:me, 'f@mail.example', now() + INTERVAL '1 hour', now() - INTERVAL '1 hour', FALSE, NULL, NULL, 'no reply',
            now(), NULL)
    RETURNING id, user_email, message_id, remind_at, scheduled_for, bucket
),
send AS (
    INSERT INTO reminder_sends (
        snooze_id, user_email, message_id, scheduled_for, bucket, zone, state,
        reminder_message_id, claim_token, reserved_at, dot_authorised_at, uncertain_at, bytes_sha256
    )
    SELECT id, user_email, message_id, scheduled_for, bucket, 'UTC', 'uncertain',
        'f@reminder', gen_random_uuid(), now(), now(), now(), 'x'
    FROM one
    WHERE message_id = 'f@mail.example'
),
event AS (
    INSERT INTO snooze_events (snooze_id, kind, actor, route) SELECT id, 'paused', 'user', 'web' FROM one
    WHERE message_id = 'e@mail.example'
),
mailbox AS (
    INSERT INTO mailboxes
        (account_id, address, host, port, security, username, secret, owner, owned_until, problem, problem_since)
    SELECT id, 'olga@mail.example', 'imap.mail.example', 993, 'tls', each.name, 'encrypted', each.owner, each.until,
        each.problem, CASE WHEN each.problem IS NOT NULL THEN now() - INTERVAL '1 hour' END
    FROM accounts
    CROSS JOIN (
        VALUES
            ('watched', 'ant-1', now() + INTERVAL '1 hour', 'login'),
            ('left a moment ago', 'ant-2', now() - INTERVAL '30 seconds', NULL)
    ) AS each (name, owner, until, problem)
    WHERE email = :me
    RETURNING id
)
INSERT INTO messages (
    mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, wanted, folder, uidvalidity, uid,
    returns_at, snooze_id
)
SELECT mailbox.id, :me, 'f@mail.example', '', 1, now(), 'INBOX', 'home', 'snoozed', 'INBOX', 1, 1,
    now() - INTERVAL '30 seconds', one.id
FROM one
CROSS JOIN (SELECT min(id) AS id FROM mailbox) AS mailbox
WHERE one.message_id = 'f@mail.example'
"""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of the processes: what is silent for so long is dead to all."""
    seconds = {
        "worker_dead": float(DEAD_SECONDS),
        "sweep": float(SHORT["SNOOZER_SWEEP_SECONDS"]),
        "poll": float(SHORT["SNOOZER_POLL_SECONDS"]),
    }
    return settings.model_copy(update=seconds)


@pytest.fixture
def operator(client: FlaskClient, people: People, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    """An operator, who has snoozes, too, and for whom gauges are read anew each time."""
    client.set_cookie("snoozer_session", people.operator().session)
    monkeypatch.setattr(gauges, "CACHE_SECONDS", -1)
    with engine.begin() as connection:
        connection.execute(text(BESIDE), {"me": ME})
    return client


@pytest.fixture
def place(place: Field) -> Field:
    place.settings = {
        "SNOOZER_BACKOFF_SECONDS": "20",
        "SNOOZER_BREAKER_COOLDOWN_SECONDS": "60",
        "SNOOZER_LEASE_SECONDS": "30",
        "SNOOZER_UNCERTAIN_HOLD_SECONDS": "600",
        "SNOOZER_WORKER_DEAD_SECONDS": DEAD_SECONDS,
    }
    return place


def come_due(place: Field, count: int = 20) -> None:
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT CASE WHEN n % 4 = 1 THEN :me ELSE 'p' || n || '@snoozer.example' END, "
                "gen_random_uuid() || '@mail.example', "
                "now() + CASE WHEN n > :count THEN INTERVAL '1 hour' ELSE '0' END "
                "FROM generate_series(1, :count + 3) AS n"
            ),
            {"count": count, "me": ME},
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


def known(engine: Engine) -> list[object]:
    """For a failure: what is known of the mail servers."""
    with engine.connect() as connection:
        return list(support.read(connection, "mail_servers"))


def named(operator: FlaskClient, engine: Engine, *kinds: str) -> None:
    """The overview says within the time which of these it is; then every figure of every page is the truth."""
    ends = time.monotonic() + SECONDS
    while not set(found := troubles_of(operator)) & set(kinds):
        assert time.monotonic() < ends, (found, known(engine))
        time.sleep(0.5)
    ground_truth.agree(engine, operator, ME)


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
    with socket.socket() as refusing:
        # Never listens, so that it refuses, and keeps the port from everybody else.
        refusing.bind(("127.0.0.1", 0))
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{refusing.getsockname()[1]}"
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
    with running(place, workers=1), place.engine.connect() as migration:
        migration.execute(text("LOCK TABLE email_snoozes IN SHARE ROW EXCLUSIVE MODE"))
        try:
            named(operator, place.engine, "locks")
        finally:
            migration.rollback()


def test_a_clock_that_is_dead(place: Field, operator: FlaskClient) -> None:
    come_due(place, 3)
    with running(place, workers=1) as processes:
        processes[-1].kill()
        named(operator, place.engine, "clock")


def test_half_of_the_workers_frozen(place: Field, operator: FlaskClient) -> None:
    with running(place) as processes:
        processes[0].send_signal(signal.SIGSTOP)
        come_due(place, 3)
        named(operator, place.engine, "workers lost")
