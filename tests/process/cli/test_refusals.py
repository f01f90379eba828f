"""Settings that make no sense end in one sentence and exit code 2, before anything is touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.cli.database_connection import explain
from snoozer.settings import Settings
from tests.forked import run_forked

ROOT = Path(__file__).resolve().parents[3]
WHOLE = {
    "DATABASE_URL": "postgresql://unknown:nothing@127.0.0.1:1/nowhere",
    "SECRET_KEY": "a-key-of-enough-length-for-this",
    "SMTP_URL": "smtp://127.0.0.1:9",
    "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
    "BASE_URL": "",
}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"DATABASE_URL": ""}, "No database"),
        ({"DATABASE_URL": "mysql://x/y"}, "must start with postgresql://"),
        ({"DATABASE_URL": "postgresql://u:p@127.0.0.1:abc/x"}, "DATABASE_URL is not a URL"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"SECRET_KEY": "change-me"}, "sample value"),
        ({"SMTP_URL": "bogus://mail.example"}, "SMTP_URL"),
        ({"MAIL_FROM": "snoozer"}, "MAIL_FROM is not an address"),
        ({"MAIL_FROM": ""}, "MAIL_FROM is not set"),
        ({"SNOOZER_DKIM_SELECTOR": "s1"}, "set both or neither"),
        ({"SNOOZER_DKIM_SELECTOR": "s 1"}, "SNOOZER_DKIM_SELECTOR is a name of the DNS"),
        ({"SNOOZER_DKIM_SELECTOR": "s1", "SNOOZER_DKIM_KEY_FILE": "/no/such/key"}, "SNOOZER_DKIM_KEY_FILE cannot be"),
        ({"SNOOZER_DKIM_SELECTOR": "s1", "SNOOZER_DKIM_KEY_FILE": __file__}, "SNOOZER_DKIM_KEY_FILE holds no"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "foo"}, "OTEL_EXPORTER_OTLP_ENDPOINT must start with http"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://"}, "OTEL_EXPORTER_OTLP_ENDPOINT must start with http"),
        ({"OTEL_EXPORTER_PROMETHEUS_PORT": "9464"}, "not supported; set SNOOZER_METRICS_PORT"),
        ({"SNOOZER_LOG_FORMAT": "xml"}, "SNOOZER_LOG_FORMAT"),
        ({"SMTP_URL": "smtps://mail.example"}, "BASE_URL is not set"),
        ({"SMTP_URL": "smtp://mail.example"}, "SMTP_URL sends mail without TLS to mail.example"),
        ({"BASE_URL": "http://snooze.example.org"}, "BASE_URL begins with http://"),
        ({"BASE_URL": "http://8.8.8.8:8000"}, "BASE_URL begins with http://"),
        ({"SECRET_KEY": "password12345678"}, "SECRET_KEY holds a key that can be guessed"),
        ({"BASE_URL": "https://"}, "BASE_URL names no host"),
        ({"BASE_URL": "https://x.example/?q=1"}, "BASE_URL is a host and perhaps a path"),
        ({"BASE_URL": "https://u:p@x.example"}, "BASE_URL is a host and perhaps a path"),
        (
            {"SNOOZER_FRONT_DOOR_URL": "javascript:alert(1)"},
            "SNOOZER_FRONT_DOOR_URL: string should match pattern '^(https?://",
        ),
        ({"BASE_URL": "https://x.example/a b"}, "BASE_URL holds a blank"),
        ({"SNOOZER_LEASE_SECONDS": "soon"}, "SNOOZER_LEASE_SECONDS"),
        ({"SNOOZER_HEARTBEAT_SECONDS": "9"}, "SNOOZER_WORKER_DEAD_SECONDS"),
        ({"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": "nowhere:kill"}, "SNOOZER_FAILPOINT"),
        ({}, "The database cannot be reached"),
    ],
)
def test_a_worker_that_cannot_start_reports_why(tmp_path: Path, changed: dict[str, str], words: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "DATABASE_"))}
    environment = inherited | WHOLE | {"SNOOZER_HOME": str(tmp_path)} | changed
    ended = run_forked("worker", "--drain", env=environment, cwd=ROOT)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "Traceback" not in ended.stderr


def test_a_fresh_interpreter_reports_why_just_so(tmp_path: Path) -> None:
    """The others are forked from a process that has imported the product's code."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "DATABASE_"))}
    environment = inherited | WHOLE | {"SNOOZER_HOME": str(tmp_path)}
    for changed in ({"SECRET_KEY": ""}, {}):
        fresh = subprocess.run(
            [sys.executable, "-m", "snoozer", "worker", "--drain"],
            cwd=ROOT,
            env=environment | changed,
            capture_output=True,
            text=True,
            check=False,
        )
        forked = run_forked("worker", "--drain", env=environment | changed, cwd=ROOT)
        assert (fresh.returncode, fresh.stdout, fresh.stderr) == (forked.returncode, forked.stdout, forked.stderr)


@pytest.mark.parametrize(
    "settings",
    [
        {"SMTP_URL": "smtp://mail.example", "BASE_URL": "https://snooze.example.org"},
        {"BASE_URL": "http://snooze.example.org"},
    ],
)
def test_transport_without_tls_is_possible_where_it_is_meant(settings: dict[str, str]) -> None:
    chosen = Settings.model_validate(WHOLE | settings | {"SNOOZER_INSECURE_TRANSPORT": "allow"})
    chosen.require("smtp_url", "base_url")


@pytest.mark.parametrize(
    "url", ["https://snooze.example.org", "http://snoozer", "http://10.0.0.5:8000", "http://[::1]:8000"]
)
def test_pages_by_tls_or_on_this_network_are_no_risk(url: str) -> None:
    Settings.model_validate(WHOLE | {"BASE_URL": url}).require("smtp_url", "base_url")


def test_a_value_that_no_program_can_read_is_no_absent_database(engine: Engine) -> None:
    """`clock --once` sent people to look for a server that had just answered."""
    with pytest.raises(DBAPIError) as unread, engine.connect() as connection:
        connection.execute(text("SELECT '-infinity'::timestamptz")).all()
    failure = explain(unread.value)
    assert failure.problem.startswith("A value in the database cannot be read: timestamp too small")
