"""Signing in: by mail, once, in the browser that requested it, without showing who has an account."""

import logging
import re
from html import unescape
from random import Random

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.settings import Settings
from snoozer.web import auth, create_app
from tests.factories import ANN, People
from tests.web.inbox import Inbox


def request_link(browser: FlaskClient, email: str = ANN, **fields: str) -> str:
    answer = browser.post("/sign-in", data={"email": email, **fields}, follow_redirects=True)
    assert answer.status_code == 200
    return answer.text


def link_and_code(inbox: Inbox) -> tuple[str, str]:
    mail = inbox.text()
    link = re.search(r"http://snoozer\.example(/sign-in/\S+)", mail)
    code = re.search(r"\b(\d{4}[ ]?\d{4})\b", mail)
    assert link is not None
    assert code is not None
    return link.group(1), code.group(1)


def test_the_mailed_link_signs_in_once_and_only_when_the_button_is_pressed(
    site: Flask, people: People, inbox: Inbox
) -> None:
    people.ann()
    browser = site.test_client()
    request_link(browser)
    link, _ = link_and_code(inbox)
    for _ in range(5):
        assert browser.get(link).status_code == 200
        assert browser.head(link).status_code == 200
        assert browser.get("/").status_code == 303
    answer = browser.post(link, data={"zone": "Europe/Berlin"})
    assert (answer.status_code, answer.location) == (303, "/mailbox"), "where the first message is snoozed"
    assert browser.get("/").status_code == 200
    used = site.test_client().get(link)
    assert used.status_code == 410
    assert "Ask for a new link" in used.text


def test_signing_in_leads_to_the_page_that_was_asked_for(site: Flask, people: People, inbox: Inbox) -> None:
    people.ann()
    browser = site.test_client()
    request_link(browser, next="/settings?x=1")
    link, _ = link_and_code(inbox)
    assert browser.post(link).location == "/settings?x=1"


def test_a_forwarded_link_is_refused_in_another_browser(site: Flask, people: People, inbox: Inbox) -> None:
    people.ann()
    request_link(site.test_client())
    link, code = link_and_code(inbox)
    thief = site.test_client()
    assert thief.get(link).status_code == 403
    assert "belongs to another browser" in thief.post(link).text
    assert thief.post("/sign-in/code", data={"code": code}).status_code == 422
    assert thief.get("/").status_code == 303


def test_the_typed_code_signs_in_where_it_was_requested(site: Flask, people: People, inbox: Inbox) -> None:
    people.ann()
    browser = site.test_client()
    request_link(browser, next="/mailbox?folder=done")
    _, code = link_and_code(inbox)
    wrong = browser.post("/sign-in/code", data={"code": "00000000" if code != "00000000" else "1"})
    assert wrong.status_code == 422
    assert "does not fit" in wrong.text
    spaced = f"{code[:4]} {code[-4:]}"
    answer = browser.post("/sign-in/code", data={"code": spaced})
    assert answer.location == "/mailbox?folder=done"


def test_the_response_does_not_show_who_has_an_account(site: Flask, people: People, inbox: Inbox) -> None:
    people.ann()
    with_account = request_link(site.test_client(), ANN).replace(ANN, "ADDRESS")
    without_account = request_link(site.test_client(), "bob@snoozer.example").replace("bob@snoozer.example", "ADDRESS")
    assert _without_tokens(with_account) == _without_tokens(without_account)
    inbox.text()
    assert inbox.mails.empty()


def test_with_a_mail_sink_the_page_does_not_mention_an_inbox(
    engine: Engine, settings: Settings, people: People
) -> None:
    people.ann()
    pages = []
    for sink in (True, False):
        app = create_app(engine=engine, settings=settings.model_copy(update={"sink": sink}))
        app.config["WTF_CSRF_ENABLED"] = False
        browser = app.test_client()
        pages += [request_link(browser), browser.post("/sign-in/code", data={"code": "00000000"}).text]
    for page in pages[:2]:
        assert "snoozer account sign-in ADDRESS" in page
        assert "spam folder" not in page
        assert "/sign-in/" not in page.replace('"/sign-in/code"', "")
    for page in pages[2:]:
        assert "Look into your inbox" in page
        assert "sink" not in page


def test_an_invalid_address_has_its_error_beside_the_field(client: FlaskClient) -> None:
    answer = client.post("/sign-in", data={"email": "ann at home"})
    assert answer.status_code == 422
    assert "That is not a mail address" in answer.text
    assert 'value="ann at home"' in answer.text


def test_a_front_door_fills_in_the_address_and_nothing_else_happens(
    site: Flask, engine: Engine, people: People, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    people.ann()
    count = text("SELECT count(*) FROM sign_ins")
    with engine.connect() as connection:
        before = connection.execute(count).scalar_one()
    with caplog.at_level(logging.DEBUG):
        page = site.test_client().get("/sign-in", query_string={"email": ANN})
    assert page.status_code == 200
    assert f'value="{ANN}"' in page.text
    assert ANN not in caplog.text
    with engine.connect() as connection:
        assert connection.execute(count).scalar_one() == before
    assert inbox.mails.empty()


@pytest.mark.parametrize("given", ['"><script>alert(1)</script>', "a" * 300 + "@x.example", "\0\r\n\u202eann"])
def test_an_address_of_a_link_is_text_of_a_length_that_addresses_have(client: FlaskClient, given: str) -> None:
    page = client.get("/sign-in", query_string={"email": given})
    assert page.status_code == 200
    found = re.search(r'<input id="email"[^>]* value="([^"]*)"', page.text)
    assert found is not None
    assert unescape(found[1]) == given[:254]
    assert "<script>alert" not in page.text


def test_a_person_with_another_address_goes_back_to_the_front_door(engine: Engine, settings: Settings) -> None:
    door = "https://snooze.example.org"
    with_door = settings.model_copy(update={"front_door_url": door})
    pages = [
        create_app(engine=engine, settings=each).test_client().get("/sign-in").text for each in (settings, with_door)
    ]
    assert [f'<a href="{door}" rel="noreferrer">Sign in with another address</a>' in page for page in pages] == [
        False,
        True,
    ]


def test_the_browsers_zone_is_taken_until_the_person_chose_one(
    site: Flask, engine: Engine, people: People, inbox: Inbox
) -> None:
    people.ann(zone="UTC")
    refused = (("Not/AZone", "UTC"), ("Factory", "UTC"))
    for offered, kept in (*refused, ("Asia/Kolkata", "Asia/Kolkata"), ("Europe/Paris", "Asia/Kolkata")):
        browser = site.test_client()
        request_link(browser)
        link, _ = link_and_code(inbox)
        browser.post(link, data={"zone": offered})
        with engine.connect() as connection:
            assert connection.execute(text("SELECT zone FROM accounts")).scalar_one() == kept


@pytest.mark.parametrize(
    "target",
    [
        *(
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            " //evil.example",
        ),
        *("https:evil.example", "https://evil.example", "javascript:alert(1)", "evil.example"),
        *("/%09/evil.example\n", "/\x00/evil.example"),
    ],
)
def test_signing_in_leads_nowhere_else(target: str, client: FlaskClient, people: People) -> None:
    client.set_cookie("snoozer_session", people.ann().session)
    assert client.get("/sign-in", query_string={"next": target}).location == "/"
    assert auth.local_path(target) == "/"


@pytest.mark.parametrize(
    "letters", ["abcdefghijklmnopqrstuvwxyz0123456789", "äöüßéèñçøåþðæœ", "愛情物語日本中国漢字", "😀🎉🐘🚀🍕"]
)
def test_a_long_way_back_fits_into_the_cookie(client: FlaskClient, letters: str) -> None:
    dice, longest = Random(1), f"{'a' * 64}@{'b' * 185}.org"
    kept = set()
    for length in (200, 245, 320, 490, 990, 5_000):
        wanted = "/" + "".join(dice.choices(letters, k=length))
        answer = client.post("/sign-in", data={"email": longest, "next": wanted})
        [cookie] = [line for line in answer.headers.getlist("Set-Cookie") if line.startswith("snoozer_form=")]
        assert len(cookie) < 4_000
        with client.session_transaction() as session:
            kept |= {session["onward"] == wanted}
            assert session["onward"] in {wanted, "/"}
    assert kept == {True, False}


def test_two_copies_on_one_machine_do_not_sign_each_other_out(
    engine: Engine, settings: Settings, people: People
) -> None:
    person = people.ann()
    names = set()
    for url in ("http://127.0.0.1:8000", "http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8002"):
        changed = settings.model_copy(update={"base_url": url})
        browser = create_app(engine=engine, settings=changed).test_client()
        browser.set_cookie(auth.cookie_name(changed, "session"), person.session)
        assert browser.get("/").status_code == 200
        names |= {auth.cookie_name(changed, name) for name in ("session", "form")}
    assert len(names) == 6
    for url in ("http://127.0.0.1:8000", "http://snoozer.example", "http://snoozer.example:8080"):
        assert auth.cookie_name(settings.model_copy(update={"base_url": url}), "session") == "snoozer_session"


def test_signing_out_ends_the_session_everywhere_it_was_copied(ann: FlaskClient, app: Flask) -> None:
    copy = app.test_client()
    cookie = ann.get_cookie("snoozer_session")
    assert cookie is not None
    copy.set_cookie("snoozer_session", cookie.value)
    assert copy.get("/").status_code == 200
    ann.post("/sign-out")
    assert copy.get("/").status_code == 303


def _without_tokens(page: str) -> str:
    return re.sub(r'name="csrf_token" value="[^"]*"', "", page)
