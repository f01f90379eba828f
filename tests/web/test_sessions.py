"""Sessions: a sign-in ends the one before it in the same browser, and a person sees and ends all of them."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import accounts
from snoozer.translations import speaking
from snoozer.web import auth
from snoozer.web.text.browser_name import browser_in_words, browser_name
from tests.factories import ANN, People, a_feed

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
BOB = "bob@snoozer.example"


def sign_in(app: Flask, engine: Engine, browser: FlaskClient, *, email: str = ANN, agent: str = FIREFOX) -> str:
    """Signs in by a link; returns the session's token."""
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=email)
    assert browser.post(f"/sign-in/{token}", headers={"User-Agent": agent}).status_code == 303
    cookie = browser.get_cookie("snoozer_session")
    assert cookie is not None
    return cookie.value


def is_signed_in(app: Flask, session: str) -> bool:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", session)
    return browser.get("/").status_code == 200


def session_ids(page: str) -> list[str]:
    return re.findall(r'action="/settings/sessions/(\d+)/end"', page)


@pytest.mark.parametrize("again", [ANN, BOB], ids=["the same account", "another account"])
def test_signing_in_again_ends_the_session_that_it_replaces(
    app: Flask, engine: Engine, people: People, again: str
) -> None:
    elsewhere = people.ann().session
    people.ann(BOB)
    browser = app.test_client()
    old = sign_in(app, engine, browser)
    new = sign_in(app, engine, browser, email=again)
    assert (is_signed_in(app, old), is_signed_in(app, new), is_signed_in(app, elsewhere)) == (False, True, True)


def test_a_sign_in_that_fails_ends_nothing(app: Flask, engine: Engine, people: People) -> None:
    people.ann()
    browser = app.test_client()
    session = sign_in(app, engine, browser)
    browser.post("/sign-in/made-up")
    browser.post("/sign-in/code", data={"code": "12345678"})
    assert is_signed_in(app, session)


def test_the_settings_list_every_browser_with_what_it_is(app: Flask, engine: Engine, people: People) -> None:
    people.ann()
    people.ann(BOB)
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"
    sign_in(app, engine, app.test_client(), agent=phone)
    sign_in(app, engine, app.test_client(), email=BOB, agent="Chrome/140.0 Windows")
    here = app.test_client()
    sign_in(app, engine, here)
    page = here.get("/settings").text
    assert page.index("<b>Firefox on Linux</b> · this one") < page.index("<b>Safari on iPhone</b>")
    assert "<b>An unknown browser</b>" in page
    assert "Windows" not in page
    assert len(session_ids(page)) == 2


def test_one_browser_is_signed_out_and_no_other(app: Flask, engine: Engine, people: People) -> None:
    people.ann(BOB)
    stranger = people.ann(BOB).session
    people.ann()
    there, here = app.test_client(), app.test_client()
    sessions = [sign_in(app, engine, there), sign_in(app, engine, here)]
    [_, ended] = sorted(session_ids(here.get("/settings").text), key=int)
    assert (
        here.post(f"/settings/sessions/{ended}/end", follow_redirects=True).text.count("That browser is signed out.")
        == 1
    )
    assert [is_signed_in(app, session) for session in sessions] == [False, True]
    with engine.connect() as connection:
        ids = connection.execute(text("SELECT sessions.id FROM sessions JOIN accounts ON accounts.id = account_id "
                                      "WHERE email = :email"), {"email": BOB}).scalars().all()  # fmt: skip
    for id in ids:
        assert "signed out already" in here.post(f"/settings/sessions/{id}/end", follow_redirects=True).text
    assert is_signed_in(app, stranger)


def test_signing_out_everywhere_else_ends_links_on_their_way(app: Flask, engine: Engine, people: People) -> None:
    lost = [people.ann().session for _ in range(3)]
    people.ann(BOB)
    here = app.test_client()
    own = sign_in(app, engine, here)
    with engine.begin() as connection:
        links = [accounts.console_sign_in_token(connection, email=email) for email in (ANN, BOB)]
    assert "3 other browsers are signed out." in here.post("/settings/sessions/end", follow_redirects=True).text
    assert [is_signed_in(app, session) for session in (*lost, own)] == [False, False, False, True]
    assert [app.test_client().post(f"/sign-in/{link}").status_code for link in links] == [410, 303]
    page = here.post("/settings/sessions/end", follow_redirects=True).text
    assert "No other browser was signed in." in page
    assert session_ids(page) == []


def test_signing_out_everywhere_ends_this_session_and_no_other_persons(
    app: Flask, engine: Engine, people: People
) -> None:
    lost, bob = people.ann(), people.ann(BOB)
    here = app.test_client()
    own = sign_in(app, engine, here)
    answer = here.post("/settings/sessions/end", data={"where": "here too"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")
    assert [is_signed_in(app, session) for session in (lost.session, own, bob.session)] == [False, False, True]
    assert here.get_cookie("snoozer_session") is None
    assert here.get_cookie("snoozer_known") is None
    assert "You are signed out everywhere." in here.get("/sign-in").text


@pytest.mark.parametrize("tokens", [False, True])
def test_api_tokens_end_with_the_sessions_where_that_is_chosen(
    app: Flask, engine: Engine, people: People, tokens: bool
) -> None:
    person, bob = people.ann(), people.ann(BOB)
    here = app.test_client()
    sign_in(app, engine, here)
    here.post("/settings/sessions/end", data={"tokens": "too"} if tokens else {})
    answers = [app.test_client().get("/api/v1/snoozes", headers=each.bearer).status_code for each in (person, bob)]
    assert answers == [401 if tokens else 200, 200]


@pytest.mark.parametrize("feeds", [False, True])
def test_addresses_of_feeds_end_with_the_sessions_where_that_is_chosen(
    app: Flask, engine: Engine, people: People, feeds: bool
) -> None:
    own, other = (a_feed(engine, account_id=people.ann(email).id) for email in (ANN, BOB))
    here = app.test_client()
    sign_in(app, engine, here)
    page = here.post("/settings/sessions/end", data={"feeds": "too"} if feeds else {}, follow_redirects=True).text
    assert ("No address of a feed works any more." in page) is feeds
    answers = [app.test_client().get(f"/feeds/{secret}.ics").status_code for secret in (own, other)]
    assert answers == [404 if feeds else 200, 200]


def test_no_browser_is_known_after_signing_out_everywhere_else_but_this_one(
    app: Flask, engine: Engine, people: People
) -> None:
    """A stolen browser that signed in before asks for links like any stranger's."""
    people.ann()
    there, here = app.test_client(), app.test_client()
    for browser in (there, here):
        sign_in(app, engine, browser)
    here.post("/settings/sessions/end")
    with app.test_request_context("/", headers={"Cookie": f"snoozer_known={cookie(there)}"}):
        assert auth.trusted_browser(ANN, forgotten=1) is None
    with app.test_request_context("/", headers={"Cookie": f"snoozer_known={cookie(here)}"}):
        assert auth.trusted_browser(ANN, forgotten=1) is not None


def test_a_sign_in_at_a_mail_provider_that_has_begun_ends_with_the_sessions(
    app: Flask, engine: Engine, people: People
) -> None:
    people.ann()
    here = app.test_client()
    sign_in(app, engine, here)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO mailbox_sign_ins (state_hash, session_hash, account_id, provider, address, verifier) "
                "SELECT 'x', 'y', id, 'google', email, '' FROM accounts"
            )
        )
    here.post("/settings/sessions/end")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM mailbox_sign_ins")).scalar_one() == 0


def cookie(browser: FlaskClient) -> str:
    found = browser.get_cookie("snoozer_known")
    assert found is not None
    return found.value


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 Version/17 Safari/605", "Safari on macOS"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) CriOS/140.0 Safari/604.1", "Chrome on iPad"),
        ("Something on Linux", "A browser on Linux"),
        ("curl/8.0", None),
        ("", None),
        ("x" * 100_000 + FIREFOX, None),
    ],
)
def test_a_browser_is_named_by_family_and_system(agent: str, name: str | None) -> None:
    assert browser_name(agent) == name
    assert browser_in_words(name) == name


@pytest.mark.parametrize(
    ("name", "german"),
    [
        ("Firefox on Linux", "Firefox unter Linux"),
        ("A browser on Linux", "Ein Browser unter Linux"),
        ("Safari", "Safari"),
        (None, None),
    ],
)
def test_a_browser_is_named_in_the_language_of_the_page(name: str | None, german: str | None) -> None:
    with speaking("de"):
        assert browser_in_words(name) == german
