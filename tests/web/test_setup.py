"""The first account: by the printed link, once, after a test mail whose result the page shows."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.dev import ports
from snoozer.mail import message_parser
from snoozer.people import setup
from snoozer.queue import workers
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.people.setup import console
from tests.factories import ANN, People
from tests.mail.scripted_server import EOF, ScriptedServer
from tests.web.live_site import live_site

MAILED = re.compile(r"http://snoozer\.example(/setup/\S+)")
LINE = re.compile(rb"^There is no account yet\. .* within 60 minutes: http://snoozer\.example(/setup/\S+)\n", re.M)


def a_link(engine: Engine, settings: Settings) -> str:
    with engine.connect() as connection:
        token = setup.make_token(connection, keys=settings.keys)
    assert token is not None
    return f"/setup/{token}"


def an_app(engine: Engine, settings: Settings, **changed: object) -> Flask:
    app = create_app(engine=engine, settings=Settings(**settings.model_dump(by_alias=True) | changed))
    app.config["WTF_CSRF_ENABLED"] = False
    return app


def mail_of(server: ScriptedServer) -> tuple[str, str]:
    """The address and the link of the only mail."""
    [mail] = server.received
    found = MAILED.search(message_parser.parse(mail.data).text)
    assert found is not None
    return mail.rcpt_to[0], found[1]


def test_the_page_says_whether_a_worker_runs(engine: Engine, settings: Settings) -> None:
    link, site = a_link(engine, settings), an_app(engine, settings).test_client()
    assert "None runs, so no reminder would be sent." in site.get(link).text
    with engine.begin() as connection:
        workers.register(connection, id="w")
    assert "It runs, and sends reminders." in site.get(link).text


def test_the_test_mail_leads_to_the_first_admin(engine: Engine, settings: Settings) -> None:
    link = a_link(engine, settings)
    with ScriptedServer() as server:
        site = an_app(engine, settings, SMTP_URL=f"smtp://127.0.0.1:{server.port}", SNOOZER_SINK=False)
        browser = site.test_client()
        page = browser.get(link).text
        assert f"127.0.0.1:{server.port} answers." in page
        assert re.search(r"PostgreSQL [\d.]+, with tables of the version \d{4}", page)
        assert server.received == []
        page = browser.post(link, data={"act": "mail", "email": " Ann@Snoozer.example"}).text
    assert "The mail server accepted the test mail." in page
    assert "250 2.0.0 OK: queued as 4XyZ12abc" in page
    address, mailed = mail_of(server)
    assert address == f"TO:<{ANN}>"
    assert site.test_client().get(mailed).status_code == 404, "in another browser it opens nothing"
    assert site.test_client().post(mailed).status_code == 404
    assert ANN in browser.get(mailed).text
    answer = browser.post(mailed, data={"zone": "Europe/Berlin", "email": "eve@snoozer.example"})
    assert (answer.status_code, answer.location) == (303, "/mailbox")
    with engine.connect() as connection:
        [account] = connection.execute(text("SELECT email, role, zone, verified_at FROM accounts")).all()
        [entry] = connection.execute(text("SELECT actor, act, reason FROM audit_log")).all()
    assert account[:3] == (ANN, "admin", "Europe/Berlin")
    assert account.verified_at is not None
    assert tuple(entry) == ("operator:1", "change_role", "Setup")
    assert browser.get("/admin").status_code == 200
    for used in (link, mailed):
        assert (browser.get(used).status_code, browser.post(used).status_code) == (404, 404)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"rcpt": "550 5.1.1 unknown <ann@snoozer.example>"}, ["refused", "rcpt: 550 5.1.1 unknown", "Check the addr"]),
        ({"dot": "554 5.7.1 not from you"}, ["refused", "554 5.7.1 not from you", "own words say why"]),
        ({"rcpt": "451 4.7.1 greylisted"}, ["refused", "451 4.7.1 greylisted", "for now only"]),
        ({"mail": "550 5.7.1 no such sender"}, ["refused", "550 5.7.1 no such sender", "MAIL_FROM"]),
        ({"banner": "554 5.3.2 closed"}, ["cannot be used", "554 5.3.2 closed", "SMTP_URL"]),
        ({"dot": EOF}, ["did not say whether", "may arrive all the same"]),
    ],
)
def test_a_failed_test_mail_is_explained_and_stops_no_one(
    script: dict[str, Any], words: list[str], engine: Engine, settings: Settings
) -> None:
    link = a_link(engine, settings)
    with ScriptedServer(**script) as server:
        browser = an_app(engine, settings, SMTP_URL=f"smtp://127.0.0.1:{server.port}", SNOOZER_SINK=False).test_client()
        page = browser.post(link, data={"act": "mail", "email": ANN}).text
    for each in [*words, f"snoozer account sign-in {ANN}", f'value="{ANN}"']:
        assert each in page
    assert browser.post(link, data={"act": "create", "email": ANN}).location == "/mailbox"
    assert browser.get("/admin").status_code == 200


def test_a_mail_server_that_is_away_is_named_on_the_page(engine: Engine, settings: Settings) -> None:
    port = ports.any_free()
    browser = an_app(engine, settings, SMTP_URL=f"smtp://127.0.0.1:{port}").test_client()
    link = a_link(engine, settings)
    for page in (browser.get(link), browser.post(link, data={"act": "mail", "email": ANN})):
        assert page.status_code == 200
        assert f"127.0.0.1:{port} cannot be used" in page.text


def test_an_address_that_is_none_has_its_error_beside_the_field(client: FlaskClient, settings: Settings) -> None:
    link = a_link(client.application.extensions["snoozer"][0], settings)
    for act in ("mail", "create"):
        answer = client.post(link, data={"act": act, "email": "ann at home"})
        assert answer.status_code == 422
        assert "That is not a mail address" in answer.text
        assert 'value="ann at home"' in answer.text


def test_test_mails_count_as_sign_in_mails_of_a_network(engine: Engine, settings: Settings) -> None:
    link = a_link(engine, settings)
    with ScriptedServer() as server:
        changed = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_LIMIT_SIGN_INS_PER_HOUR": 1}
        browser = an_app(engine, settings, **changed).test_client()
        answers = [browser.post(link, data={"act": "mail", "email": ANN}).status_code for _ in range(2)]
    assert (answers, len(server.received)) == ([200, 429], 1)
    assert browser.get(link).status_code == 200


def older(link: str) -> str:
    until, _, mac = link.removeprefix("/setup/").partition("-")
    return f"/setup/{int(until) - 1}-{mac}"


@pytest.mark.parametrize(
    "change", [older, lambda link: link[:-1], lambda link: f"{link}0", lambda _: "/setup/é", lambda _: "/setup/-"]
)
def test_a_changed_link_opens_nothing(
    change: Callable[[str], str], engine: Engine, settings: Settings, client: FlaskClient
) -> None:
    link = a_link(engine, settings)
    assert client.get(link).status_code == 200
    assert client.get(change(link)).status_code == 404
    assert client.post(change(link), data={"act": "create", "email": ANN}).status_code == 404
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM accounts")).scalar_one() == 0


def test_a_link_ends_after_its_hour_and_stays_valid_when_a_key_is_added(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.connect() as connection:
        token = setup.make_token(connection, keys=settings.keys)
        monkeypatch.setattr(setup, "LINK_LIFETIME", timedelta(seconds=-1))
        expired = setup.make_token(connection, keys=settings.keys)
        assert token is not None
        assert expired is not None
        assert setup.is_valid(connection, token, keys=["a-newer-test-key-of-length", *settings.keys])
        assert not setup.is_valid(connection, token, keys=["a-newer-test-key-of-length"])
        assert not setup.is_valid(connection, expired, keys=settings.keys)


def test_two_browsers_at_once_make_one_admin(engine: Engine, settings: Settings) -> None:
    link, app, together, answers = a_link(engine, settings), an_app(engine, settings), Barrier(2), list[int]()

    def create(email: str) -> None:
        together.wait()
        answers.append(app.test_client().post(link, data={"act": "create", "email": email}).status_code)

    threads = [Thread(target=create, args=(email,)) for email in (ANN, "bob@snoozer.example")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [303, 404]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*), min(role) FROM accounts")).one() == (1, "admin")


def test_the_web_prints_one_link_at_its_start(engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    with live_site(postgres_url, tmp_path, options=["--workers", "3"]) as site:
        while not (found := LINE.findall(site.log.read_bytes())):
            assert site.request("/healthz")[0] == 200
        assert site.request(found[0].decode())[0] == 200
    assert len(LINE.findall(site.log.read_bytes())) == 1


def test_no_link_is_printed_by_later_processes_or_once_there_is_an_account(
    engine: Engine,
    settings: Settings,
    people: People,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.print_link(engine, settings)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(console, "prints_link", True)
    console.print_link(engine, settings)
    assert LINE.fullmatch(capsys.readouterr().out.encode())
    console.print_link(engine, settings.model_copy(update={"log_format": "json"}))
    line = json.loads(capsys.readouterr().out)
    assert LINE.fullmatch(f"{line['message']}\n".encode())
    assert line["process"] == "web"
    people.ann()
    console.print_link(engine, settings)
    assert capsys.readouterr().out == ""
