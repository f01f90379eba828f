"""The security log has one line for each event, with ids and counts, and no address or token."""

import logging
import re
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.cli import commands
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.telemetry import security_log
from snoozer.web import create_app
from tests.factories import ANN, People

LINE = re.compile(r"[a-z_]+( [a-z]+=[A-Za-z0-9_,]+)*")


@pytest.fixture(autouse=True)
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What was logged; afterwards it is checked that no line holds an address or anything else unexpected."""
    caplog.set_level(logging.INFO, logger="snoozer.security")
    yield caplog
    for line in messages(caplog):
        assert LINE.fullmatch(line), line
        assert "ann" not in line.lower()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "snoozer.security"]


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Each event with its facts, without the network."""
    return [re.sub(r" network=[0-9a-f]{16}", "", line) for line in messages(caplog)]


def test_signing_in_and_out_is_logged(
    client: FlaskClient, engine: Engine, people: People, lines: pytest.LogCaptureFixture
) -> None:
    people.ann()
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=ANN)
    for email in (ANN, "unknown@snoozer.example"):
        client.post("/sign-in", data={"email": email})
    client.post("/sign-in/code", data={"code": "x"})
    client.post(f"/sign-in/{token}")
    client.post(f"/sign-in/{token}")
    client.post("/settings/sessions/end")
    client.post("/sign-out")
    assert events(lines) == [
        "sign_in_asked account=1",
        "sign_in_asked",
        "code_refused",
        "signed_in account=1",
        "link_refused link=used",
        "sessions_ended account=1 sessions=1",
        "signed_out account=1",
    ]
    assert len({line.rpartition("network=")[2] for line in messages(lines) if "network=" in line}) == 1


def test_refused_tokens_and_quotas_are_logged(
    engine: Engine, settings: Settings, people: People, lines: pytest.LogCaptureFixture
) -> None:
    ann = people.ann()
    limits = {"snoozes_per_day": 1, "failed_tokens_per_minute": 0}
    app: Flask = create_app(engine=engine, settings=settings.model_copy(update=limits))
    client = app.test_client()
    client.get("/api/v1/snoozes", headers={"Authorization": "Bearer snz_made-up"})
    for number in range(2):
        body = {"message_id": f"<{number}@x>", "when": "in 3 days"}
        client.post("/api/v1/snoozes", json=body, headers=ann.bearer)
    assert events(lines) == ["token_refused", "quota_reached quota=snoozes_per_day"]


def test_what_operators_do_is_logged(
    engine: Engine,
    postgres_url: str,
    tmp_path: object,
    people: People,
    monkeypatch: pytest.MonkeyPatch,
    lines: pytest.LogCaptureFixture,
) -> None:
    people.ann()
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))
    for command in (
        ("account", "sign-in", ANN),
        ("account", "create", "bob@snoozer.example"),
        ("account", "create", "bob@snoozer.example"),
        ("account", "create", "bob@snoozer.example", "--role", "admin"),
        ("token", "create", ANN),
        ("token", "revoke", ANN),
        ("account", "close", ANN),
        ("account", "open", ANN),
    ):
        assert CliRunner().invoke(commands, command).exit_code == 0
    assert events(lines) == [
        "console_sign_in account=1",
        "account_created account=2 role=user",
        "role_changed account=2 role=admin",
        "token_created account=1",
        "tokens_revoked tokens=1,2",
        "account_closed account=1 sessions=1",
        "account_opened account=1",
    ]


def test_a_process_without_a_log_of_its_own_writes_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    security_log.start("text")
    security_log.start("text")
    security_log.record("account_closed", account=7, network=None)
    assert re.fullmatch(r"\S+ \S+ snoozer\.security: account_closed account=7\n", capsys.readouterr().err)
