"""A mailbox whose server takes connections and says nothing: its pages say at once who is being asked."""

import html
import re
import socket
import time
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.mailboxes.mail.opening import close_connections
from snoozer.web.mailboxes.mail.routes import FIRST_SECONDS
from tests.factories import ANN, People

OPENED = {"Sec-Fetch-Mode": "navigate"}
# The time of a request to a mail server, shorter than in earnest.
REPLY_SECONDS = 2.0


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True})


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def app(engine: Engine, settings: Settings) -> Iterator[Flask]:
    app = create_app(engine=engine, settings=settings)
    yield app
    close_connections(app)


@pytest.fixture
def path(app: Flask, engine: Engine, settings: Settings, people: People, silent: socket.socket) -> str:
    ann = people.ann()
    server, login = Server("localhost", silent.getsockname()[1], "plain"), Login("ann", "wordpass")
    with engine.begin() as connection:
        id = registry.connect(
            connection, account_id=ann.id, address=ANN, server=server, login=login, key_ring=settings.keys
        )
    app.config["session"] = ann.session
    return f"/mailboxes/{id}/mail"


@pytest.fixture
def client(app: Flask, path: str) -> FlaskClient:
    client = app.test_client()
    client.set_cookie("snoozer_session", app.config["session"])
    return client


def test_a_silent_server_is_named_at_once_and_asked_again(
    client: FlaskClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snoozer.mailboxes.read.connections.REPLY_SECONDS", REPLY_SECONDS)
    began = time.monotonic()
    page = client.get(f"{path}?q=a+%22b%22&folder=", headers=OPENED)
    assert time.monotonic() - began < FIRST_SECONDS + REPLY_SECONDS
    assert page.status_code == 200
    assert "Asking localhost …" in page.text
    assert '<nav class="switch"' in page.text
    refresh = re.search(r'http-equiv="refresh" content="1; url=([^"]+)"', page.text)
    assert refresh is not None
    again = html.unescape(refresh[1])
    assert again == f"{path}?q=a+%22b%22&folder=&wait=1"
    answer = client.get(again, headers=OPENED)
    assert answer.status_code == 503
    assert "The mailbox cannot be reached" in answer.text
    link = re.search(r'href="([^"]+)">Try again', answer.text)
    assert link is not None
    assert html.unescape(link[1]) == f"{path}?q=a+%22b%22&folder="


def test_a_script_gets_the_answer_itself(client: FlaskClient, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoozer.mailboxes.read.connections.REPLY_SECONDS", REPLY_SECONDS)
    answer = client.get(path, headers={"Sec-Fetch-Mode": "cors"})
    assert answer.status_code == 503
    assert "Asking" not in answer.text


def test_a_server_that_refuses_connections_is_no_silent_one(
    client: FlaskClient, path: str, silent: socket.socket
) -> None:
    silent.close()
    assert client.get(path, headers=OPENED).status_code == 503
