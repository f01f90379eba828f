"""The clock is killed while it erases an account: what is left is whole, and the next clock goes on."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.factories import People
from tests.forked import start_forked
from tests.process.cli.running import ENVIRONMENT, run_command

pytestmark = pytest.mark.process

FILL = """
WITH made AS (
    INSERT INTO accounts (email, verified_at) SELECT n || '@x.example', now() FROM generate_series(1, 40) AS n
    RETURNING id, email
), asked AS (
    INSERT INTO account_deletions (account_id, due_at, deliver) SELECT id, now(), FALSE FROM made
), snoozes AS (
    INSERT INTO email_snoozes (user_email, message_id, remind_at)
    SELECT email, n || '@x', now() + INTERVAL '1 day' FROM made, generate_series(1, 300) AS n
    RETURNING id, user_email, message_id, bucket
)
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, state, claim_token, zone,
    reserved_at, sent_at
)
SELECT id, user_email, message_id, now(), bucket, id || '@r', 'sent', gen_random_uuid(), 'UTC', now(), now()
FROM snoozes
"""


def count(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def test_a_clock_that_is_killed_midway_loses_nothing_of_the_work(
    engine: Engine, people: People, tmp_path: Path
) -> None:
    people.ann()
    with engine.begin() as connection:
        connection.execute(text(FILL))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
    url = engine.url.render_as_string(hide_password=False)
    clock = start_forked(
        "clock",
        "--once",
        env={**inherited, **ENVIRONMENT, "DATABASE_URL": url, "SNOOZER_HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while count(engine, "email_snoozes") == 12_000:
        assert time.monotonic() < until
        assert clock.poll() is None
    clock.send_signal(signal.SIGKILL)
    clock.wait()
    assert count(engine, "email_snoozes") % 300 == 0
    assert count(engine, "email_snoozes") == count(engine, "reminder_sends")
    for _ in range(3):
        ended = run_command("clock", "--once", engine=engine, home=tmp_path)
        assert ended.returncode == 0, ended.stderr
        with engine.begin() as connection:
            connection.execute(text("UPDATE account_deletions SET begun_at = now() - INTERVAL '6 minutes'"))
    assert [count(engine, name) for name in ("email_snoozes", "reminder_sends", "accounts")] == [0, 0, 1]
