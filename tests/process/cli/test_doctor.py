"""`snoozer doctor`: 0 when all is right, 1 with a sentence for what is wrong, 2 without a database."""

import json
import os
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sqlalchemy import Engine, text

from snoozer.db import health_checks, schema
from snoozer.delivery.chores import chore_runner
from snoozer.queue import workers
from tests.factories import HOUR, a_snooze, now
from tests.forked import run_forked
from tests.mail.scripted_server import ScriptedServer

SECRET = "a-secret-key-for-the-doctor"


def examine(*arguments: str, url: str, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
    environment = {
        **inherited,
        "DATABASE_URL": url,
        "SNOOZER_HOME": str(home),
        "SECRET_KEY": SECRET,
        "SMTP_URL": "",
        "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
        "BASE_URL": "",
        **settings,
    }
    return run_forked("doctor", *arguments, env=environment)


def findings(*, url: str, home: Path, **settings: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and each check by its name."""
    ended = examine("--json", url=url, home=home, **settings)
    assert ended.stderr == ""
    return ended.returncode, {check["check"]: check for check in json.loads(ended.stdout)["checks"]}


@pytest.fixture
def healthy(engine: Engine) -> Engine:
    """A database with a live worker and a recent sweep, and no dead rows of other tests: autovacuum never comes."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_stat_reset()"))
        workers.register(connection, id="w")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() + INTERVAL '1 hour'"))
    for chore in ("recover", "prepare months"):
        chore_runner.run_exclusive(engine, chore, lambda _: None)
    return engine


def test_a_healthy_installation_ends_in_0(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    a_snooze(healthy, remind_at=now() + HOUR)
    with ScriptedServer({}) as server:
        smtp = f"smtp://127.0.0.1:{server.smtp_server().port}"
        ended = examine(url=postgres_url, home=tmp_path, SMTP_URL=smtp, BASE_URL="https://snoozer.example")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[0] == "Everything that was examined is as promised. Left out: sender's domain."
    assert "\x1b" not in ended.stdout
    for invariant in health_checks.INVARIANTS:
        assert f"invariant {invariant.replace('_', ' ')}" in ended.stdout


def test_the_first_sentence_says_no_more_than_the_lines_below_it(
    healthy: Engine, postgres_url: str, tmp_path: Path
) -> None:
    """Everything was as promised while the breaker was open and cases waited."""
    a_snooze(healthy, inactive=True, outcome="retired", finished_at=now())
    ended = examine(url=postgres_url, home=tmp_path, BASE_URL="https://snoozer.example")
    left_out = "Left out: mail server, sender's domain."
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (
        0,
        f"Nothing is wrong. Advice on: cases. {left_out}",
    )
    with healthy.begin() as connection:
        connection.execute(text("DELETE FROM workers"))
        connection.execute(
            text("INSERT INTO circuit_breakers (server, state, opened_at) VALUES ('mail.example:25', 'open', now())")
        )
    ended = examine(url=postgres_url, home=tmp_path, BASE_URL="https://snoozer.example")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (
        1,
        f"Wrong: workers, breaker; see below for what to do. Advice on: cases. {left_out}",
    )


def test_wrong_checks_come_first_and_settings_only_if_asked_for(
    healthy: Engine, postgres_url: str, tmp_path: Path
) -> None:
    with healthy.begin() as connection:
        connection.execute(text("DELETE FROM workers"))
    short = examine(url=postgres_url, home=tmp_path).stdout
    order = [short.index(word) for word in ("Wrong: workers", "No worker is alive", "PostgreSQL ")]
    assert order == sorted(order)
    assert "SNOOZER_LEASE_SECONDS" not in short
    long = examine("--settings", url=postgres_url, home=tmp_path).stdout
    assert "SNOOZER_LEASE_SECONDS" in long
    assert "Config(" not in long


def test_a_dropped_index_of_the_claim_and_a_disabled_trigger_are_wrong(empty_database: Engine, tmp_path: Path) -> None:
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("DROP INDEX ix_email_snoozes_lane"))
        connection.execute(text("ALTER TABLE reminder_sends DISABLE TRIGGER reminder_sends_keep_sent"))
    code, checks = findings(url=empty_database.url.render_as_string(hide_password=False), home=tmp_path)
    assert (code, checks["indexes"]["verdict"], checks["guards"]["verdict"]) == (1, "wrong", "wrong")
    assert checks["indexes"]["do"].startswith("CREATE INDEX ix_email_snoozes_lane ON email_snoozes (priority, ")
    assert checks["guards"]["do"] == "ALTER TABLE reminder_sends ENABLE TRIGGER reminder_sends_keep_sent;"


def test_rows_that_no_worker_knows_are_wrong(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    a_snooze(healthy, schema_version=2, remind_at=now() - 24 * HOUR, created_at=now() - 24 * HOUR)
    code, checks = findings(url=postgres_url, home=tmp_path)
    assert (code, checks["newer rows"]["verdict"]) == (1, "wrong")
    assert checks["newer rows"]["says"].startswith("1 due snoozes were written by a newer release")
    assert checks["invariant due is taken"]["verdict"] == "right"


def test_no_secret_is_printed(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    smtp = "smtps://carrier:hush-hush@127.0.0.1:9"
    for arguments in (("--settings",), ("--json",)):
        ended = examine(*arguments, url=postgres_url, home=tmp_path, SMTP_URL=smtp)
        password = healthy.url.password
        assert password
        assert not any(secret in ended.stdout + ended.stderr for secret in (SECRET, "hush-hush", password))
        assert "SNOOZER_LEASE_SECONDS" in ended.stdout


def test_an_installation_without_worker_and_clock_is_wrong(engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    code, checks = findings(url=postgres_url, home=tmp_path)
    assert code == 1
    assert {name for name, check in checks.items() if check["verdict"] == "wrong"} == {"clock", "workers"}
    assert all(check["do"] for check in checks.values() if check["verdict"] == "wrong")
    assert checks["mail server"]["verdict"] == "skipped"


def test_a_chore_that_is_not_done_is_named_while_the_clock_runs(
    healthy: Engine, postgres_url: str, tmp_path: Path
) -> None:
    with healthy.begin() as connection:
        connection.execute(text("INSERT INTO housekeeping_runs VALUES ('archive', now() - INTERVAL '11 minutes')"))
    code, checks = findings(url=postgres_url, home=tmp_path)
    assert (code, checks["clock"]["verdict"], checks["chores"]["verdict"]) == (1, "right", "wrong")
    assert checks["chores"]["says"] == "The chore archive was last done 11 min ago."


def test_a_broken_invariant_is_shown_and_wrong(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    id = a_snooze(healthy, inactive=True, outcome="sent", finished_at=now(), scheduled_for=now())
    code, checks = findings(url=postgres_url, home=tmp_path)
    broken = checks["invariant finished has its send"]
    assert (code, broken["verdict"]) == (1, "wrong")
    assert f"snooze {id}" in broken["says"]
    assert broken["do"]


def test_the_thresholds_of_the_invariants_are_the_settings(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    a_snooze(healthy, remind_at=now() - HOUR)
    short = {
        "SNOOZER_LEASE_SECONDS": "0.02",
        "SNOOZER_HEARTBEAT_SECONDS": "0.001",
        "SNOOZER_BACKOFF_SECONDS": "0.01",
        "SNOOZER_SWEEP_SECONDS": "0.01",
    }
    assert findings(url=postgres_url, home=tmp_path)[1]["invariant due is taken"]["verdict"] == "right"
    assert findings(url=postgres_url, home=tmp_path, **short)[1]["invariant due is taken"]["verdict"] == "wrong"


def test_a_reminder_that_is_uncertain_for_days_is_wrong(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    id = a_snooze(healthy, remind_at=now() + HOUR)
    with healthy.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket, zone, state, "
                "reminder_message_id, claim_token, reserved_at, dot_authorised_at, bytes_sha256, uncertain_at) "
                "SELECT id, user_email, message_id, remind_at, bucket, 'UTC', 'uncertain', '<1@snoozer.example>', "
                "gen_random_uuid(), now(), now() - INTERVAL '2 days', 'x', now() - INTERVAL '2 days' "
                "FROM email_snoozes WHERE id = :id"
            ),
            {"id": id},
        )
    code, checks = findings(url=postgres_url, home=tmp_path)
    assert (code, checks["uncertain"]["verdict"]) == (1, "wrong")


def test_a_mail_server_that_is_away_is_wrong_and_gets_no_mail(
    healthy: Engine, postgres_url: str, tmp_path: Path
) -> None:
    code, checks = findings(url=postgres_url, home=tmp_path, SMTP_URL="smtp://127.0.0.1:9")
    assert (code, checks["mail server"]["verdict"]) == (1, "wrong")
    assert "127.0.0.1:9" in checks["mail server"]["says"]
    code, checks = findings(url=postgres_url, home=tmp_path, SMTP_URL="ftp://127.0.0.1")
    assert (code, checks["mail server"]["verdict"]) == (1, "wrong")


def test_a_public_senders_records_are_looked_up(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    """Whether a name server answers here or not: the name cannot exist (RFC 6761)."""
    public = {"MAIL_FROM": "Snoozer <snoozer@no-such-name.onion>", "BASE_URL": "https://snoozer.example"}
    code, checks = findings(url=postgres_url, home=tmp_path, **public)
    looked_up = {checks[name]["verdict"] for name in ("SPF", "DMARC", "MX")}
    assert code == 0
    assert looked_up in ({"advice"}, {"skipped"})
    assert "sender's domain" not in checks


def test_the_record_of_the_key_that_signs_is_looked_up_and_a_bad_key_is_wrong(
    healthy: Engine, postgres_url: str, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    signed = {
        "MAIL_FROM": "Snoozer <snoozer@no-such-name.onion>",
        "BASE_URL": "https://snoozer.example",
        "SNOOZER_DKIM_KEY_FILE": str(file),
        "SNOOZER_DKIM_SELECTOR": "s1",
    }
    _, checks = findings(url=postgres_url, home=tmp_path, **signed)
    record = f's1._domainkey.no-such-name.onion TXT "v=DKIM1; k=rsa; p={b64encode(public).decode()}"'
    # Whether a name server answers here or not.
    looked_up = checks["DKIM"]
    assert record in looked_up["do"] or looked_up["says"] == "No name server answered."
    file.write_bytes(b"no key")
    code, checks = findings(url=postgres_url, home=tmp_path, **signed)
    assert (code, checks["sender"]["verdict"]) == (1, "wrong")
    assert "SNOOZER_DKIM_KEY_FILE holds no private key" in checks["sender"]["says"]


def test_a_sender_with_which_no_process_starts_is_wrong(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    code, checks = findings(url=postgres_url, home=tmp_path, MAIL_FROM="a@snoozer.example, b@snoozer.example")
    assert (code, checks["sender"]["verdict"]) == (1, "wrong")


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"MAIL_FROM": "Snoozer <snoozer@snoozer.org>"}, "wrong"),
        ({}, "advice"),
        ({"BASE_URL": "http://127.0.0.1:8000"}, "advice"),
        ({"MAIL_FROM": "Snoozer <snoozer@snoozer.org>", "BASE_URL": "https://snoozer.org"}, "right"),
    ],
)
def test_links_that_open_on_this_machine_only_are_found(
    healthy: Engine, postgres_url: str, tmp_path: Path, given: dict[str, str], verdict: str
) -> None:
    code, checks = findings(url=postgres_url, home=tmp_path, **given)
    assert (code, checks["links in mails"]["verdict"]) == (int(verdict == "wrong"), verdict)
    assert verdict == "right" or "BASE_URL" in checks["links in mails"]["do"]


def test_an_old_schema_is_wrong_and_ends_the_checks(engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE IF EXISTS unmigrated"))
        connection.execute(text("CREATE DATABASE unmigrated"))
    url = engine.url.set(database="unmigrated").render_as_string(hide_password=False)
    try:
        code, checks = findings(url=url, home=tmp_path)
    finally:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("DROP DATABASE unmigrated WITH (FORCE)"))
    assert (code, checks["schema"]["verdict"]) == (1, "wrong")
    assert "snoozer migrate" in checks["schema"]["do"]
    assert "workers" not in checks


def test_a_server_that_may_lose_a_commit_is_wrong(healthy: Engine, tmp_path: Path) -> None:
    url = healthy.url.update_query_dict({"options": "-c synchronous_commit=off"}).render_as_string(hide_password=False)
    code, checks = findings(url=url, home=tmp_path, SNOOZER_PGBOUNCER="1")
    assert (code, checks["database"]["verdict"]) == (1, "wrong")
    assert "synchronous_commit is off" in checks["database"]["says"]


def test_settings_that_make_no_sense_end_in_2(postgres_url: str, tmp_path: Path) -> None:
    for url, settings, sentence in (
        ("", {}, "No database"),
        (postgres_url, {"SNOOZER_KEEP_MONTHS": "0"}, "SNOOZER_KEEP_MONTHS"),
    ):
        ended = examine(url=url, home=tmp_path, **settings)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert sentence in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1


def test_a_database_that_is_away_is_wrong_and_the_rest_is_examined(tmp_path: Path) -> None:
    url = "postgresql://unknown@127.0.0.1:9/none"
    with ScriptedServer({}) as server:
        ended = examine("--json", url=url, home=tmp_path, SMTP_URL=f"smtp://127.0.0.1:{server.smtp_server().port}")
    checks = {check["check"]: check for check in json.loads(ended.stdout)["checks"]}
    assert (ended.returncode, json.loads(ended.stdout)["healthy"]) == (2, False)
    assert checks["database"]["verdict"] == "wrong"
    assert "The database cannot be reached" in checks["database"]["says"]
    assert checks["database"]["do"] == "Check DATABASE_URL and that the server runs."
    assert checks["mail server"]["verdict"] == "right"
    assert "The database cannot be reached" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_findings_before_a_failure_are_reported(empty_database: Engine, tmp_path: Path) -> None:
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text(f"DROP VIEW invariant_{health_checks.INVARIANTS[0]}"))
    ended = examine("--json", url=empty_database.url.render_as_string(hide_password=False), home=tmp_path)
    checks = json.loads(ended.stdout)["checks"]
    assert ended.returncode == 2
    assert [check["verdict"] for check in checks if check["check"] == "schema"] == ["right"]
    assert "The database refused" in checks[-3]["says"]


@pytest.mark.parametrize(("allowed", "verdict"), [("refuse", "wrong"), ("allow", "advice")])
def test_transport_without_tls_is_reported(
    healthy: Engine, postgres_url: str, tmp_path: Path, allowed: str, verdict: str
) -> None:
    base_url = {"BASE_URL": "http://snooze.example.org", "SNOOZER_INSECURE_TRANSPORT": allowed}
    code, checks = findings(url=postgres_url, home=tmp_path, **base_url)
    assert (code, checks["transport"]["verdict"]) == (1 if verdict == "wrong" else 0, verdict)
    assert "BASE_URL begins with http://" in checks["transport"]["says"]
    assert findings(url=postgres_url, home=tmp_path)[1]["transport"]["verdict"] == "right"


def test_a_key_that_can_be_guessed_is_reported(healthy: Engine, postgres_url: str, tmp_path: Path) -> None:
    _, checks = findings(url=postgres_url, home=tmp_path, SECRET_KEY="aaaaaaaaaaaaaaaa")
    assert checks["secret key"]["verdict"] == "wrong"
