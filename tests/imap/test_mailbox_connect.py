"""A mailbox connected by its form at a real server; its password is nowhere but encrypted."""

import logging
import subprocess
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mailboxes import registry
from snoozer.runtime import encryption
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.db.schema_file import pg_dump
from tests.factories import People, a_mailbox, now
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer

pytestmark = pytest.mark.dovecot

USER = "ann@mail.example"


@pytest.fixture
def browser(engine: Engine, settings: Settings, people: People) -> FlaskClient:
    app = create_app(engine=engine, settings=settings.model_copy(update={"allow_private_mailboxes": True}))
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    return client


def form(server: MailServer, **changed: str) -> dict[str, str]:
    return {
        "address": USER,
        "host": "LOCALHOST",
        "port": str(server.port),
        "security": "plain",
        "username": USER,
        "password": PASSWORD,
        **changed,
    }


def the_mailbox(engine: Engine) -> dict[str, object]:
    with engine.connect() as connection:
        return dict(connection.execute(text("SELECT * FROM mailboxes")).mappings().one())


def test_a_mailbox_is_connected_by_its_form(
    dovecot_server: MailServer, browser: FlaskClient, engine: Engine, settings: Settings
) -> None:
    answer = browser.post("/settings/mailboxes/connect", data=form(dovecot_server))
    row = the_mailbox(engine)
    assert answer.location == f"/settings/mailboxes/{row['id']}"
    page = browser.get(answer.location).text
    assert "Move a message into <bdi>Snooze / Tomorrow</bdi>" in page
    assert "The mailbox is connected." in page
    assert (row["host"], row["state"], row["address"], row["username"]) == ("localhost", "active", USER, USER)
    assert isinstance(row["secret"], bytes)
    assert encryption.decrypt(settings.keys, row["secret"]) == PASSWORD


def test_the_same_mailbox_again_is_the_same_row_with_the_new_password(
    dovecot_server: MailServer, browser: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_mailbox(
        engine, host="localhost", username=USER, state="paused", problem="login", problem_since=now(), port=1
    )
    browser.post("/settings/mailboxes/connect", data=form(dovecot_server))
    row = the_mailbox(engine)
    assert (row["id"], row["state"], row["problem"], row["port"]) == (id, "active", None, dovecot_server.port)


def test_a_new_password_ends_the_pause(
    dovecot_server: MailServer, browser: FlaskClient, engine: Engine, settings: Settings
) -> None:
    paused: dict[str, Any] = {"state": "paused", "problem": "login", "problem_since": now()}
    at: dict[str, Any] = {"host": "localhost", "port": dovecot_server.port, "security": "plain"}
    id = a_mailbox(engine, **at, **paused)
    path = f"/settings/mailboxes/{id}/password"
    refused = browser.post(path, data={"password": "not-the-password"})
    assert refused.status_code == 422
    assert "did not accept the user name and the password" in refused.text
    assert the_mailbox(engine)["state"] == "paused"
    assert browser.post(path, data={"password": PASSWORD}).status_code == 303
    row = the_mailbox(engine)
    assert (row["state"], row["problem"], row["problem_since"]) == ("active", None, None)
    assert isinstance(row["secret"], bytes)
    assert encryption.decrypt(settings.keys, row["secret"]) == PASSWORD


def test_a_new_password_lets_one_that_is_leaving_go_on_leaving(
    dovecot_server: MailServer, browser: FlaskClient, engine: Engine
) -> None:
    at: dict[str, Any] = {"host": "localhost", "port": dovecot_server.port, "security": "plain"}
    id = a_mailbox(engine, state="leaving", problem="login", problem_since=now(), **at)
    browser.post(f"/settings/mailboxes/{id}/password", data={"password": PASSWORD})
    row = the_mailbox(engine)
    assert (row["state"], row["problem"]) == ("leaving", None)


def test_a_person_has_at_most_ten(dovecot_server: MailServer, browser: FlaskClient, engine: Engine) -> None:
    for _ in range(registry.MAX_MAILBOXES):
        a_mailbox(engine)
    answer = browser.post("/settings/mailboxes/connect", data=form(dovecot_server))
    assert answer.status_code == 422
    assert "10 mailboxes are connected, which is the limit" in answer.text
    assert "You can connect up to 10 mailboxes" in browser.get("/settings/mailboxes").text


def test_neither_database_nor_logs_nor_pages_hold_a_password(
    dovecot_server: MailServer, browser: FlaskClient, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "not-the-password"
    pages = [
        browser.post("/settings/mailboxes/connect", data=form(dovecot_server, password=wrong)).text,
        browser.post("/settings/mailboxes/connect", data=form(dovecot_server), follow_redirects=True).text,
    ]
    id = the_mailbox(engine)["id"]
    for password in (wrong, PASSWORD):
        pages.append(browser.post(f"/settings/mailboxes/{id}/password", data={"password": password}).text)
    pages += [browser.get(f"/settings/mailboxes/{id}").text, browser.get("/settings/mailboxes").text]
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    dump = subprocess.run([pg_dump(), "--data-only", "--inserts", url], capture_output=True, text=True, check=True)
    assert USER in dump.stdout
    for secret in (wrong, PASSWORD):
        hidden = {secret, secret.encode().hex()}
        for place in (dump.stdout, caplog.text, *pages):
            assert not [each for each in hidden if each in place]
    assert USER not in caplog.text
