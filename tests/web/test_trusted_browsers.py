"""A browser that signed in before gets links when strangers have used up the limit of an address."""

from base64 import b64encode
from urllib.parse import unquote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.people.sign_in import routes
from tests.factories import ANN, People

BOB = "bob@snoozer.example"
COOKIE = "snoozer_known"


def enter(app: Flask, engine: Engine, browser: FlaskClient, *, email: str = ANN) -> None:
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=email)
    assert browser.post(f"/sign-in/{token}").status_code == 303


def links(engine: Engine, browser: FlaskClient, *, email: str = ANN) -> int:
    """Returns how many links are sent when this browser requests too many."""
    before = _sent(engine)
    for _ in range(accounts.MAX_LINKS_PER_HOUR + 2):
        assert browser.post("/sign-in", data={"email": f" {email.upper()}"}).status_code == 303
    return _sent(engine) - before


def _sent(engine: Engine) -> int:
    with engine.connect() as connection:
        mailed: int = connection.execute(text("SELECT count(*) FROM sign_ins WHERE code_hash IS NOT NULL")).scalar_one()
        return mailed


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns off the delay that evens out response times."""
    monkeypatch.setattr(routes, "RESPONSE_SECONDS", 0.0)


@pytest.fixture
def trusted(app: Flask, engine: Engine, people: People) -> FlaskClient:
    """Ann's browser, signed out again, after strangers have used up all links of the hour."""
    people.ann()
    people.ann(BOB)
    browser = app.test_client()
    enter(app, engine, browser)
    browser.post("/sign-out")
    for email in (ANN, BOB):
        assert links(engine, app.test_client(), email=email) == accounts.MAX_LINKS_PER_HOUR
        assert links(engine, app.test_client(), email=email) == 0
    return browser


def test_a_browser_that_was_signed_in_has_an_allowance_of_its_own(trusted: FlaskClient, engine: Engine) -> None:
    assert links(engine, trusted) == accounts.MAX_LINKS_PER_HOUR


def test_trust_holds_for_its_own_account_only(trusted: FlaskClient, app: Flask, engine: Engine) -> None:
    assert links(engine, trusted, email=BOB) == 0
    enter(app, engine, trusted, email=BOB)
    trusted.post("/sign-out")
    assert links(engine, trusted, email=BOB) == accounts.MAX_LINKS_PER_HOUR


def test_a_forged_cookie_is_not_trusted(trusted: FlaskClient, app: Flask, engine: Engine) -> None:
    cookie = trusted.get_cookie(COOKIE)
    assert cookie is not None
    own, _, signature = cookie.value.partition(".")
    for value in (
        "",
        ".",
        "made-up",
        f"made-up.{signature}",
        f"{own}.",
        f"{own}.{signature[:-2]}",
        "\u00e9.\u00e9",
        f".{signature}",
    ):
        forger = app.test_client()
        forger.set_cookie(COOKIE, value)
        assert links(engine, forger) == 0


def test_a_trusted_browser_keeps_its_id_when_the_keys_change(
    trusted: FlaskClient, engine: Engine, settings: Settings
) -> None:
    before = trusted.get_cookie(COOKIE)
    assert before is not None
    newer = Settings(**settings.model_dump(by_alias=True) | {"SECRET_KEY": f"the-newest-key-of-all,{settings.keys[0]}"})
    app = create_app(engine=engine, settings=newer)
    app.config["WTF_CSRF_ENABLED"] = False
    browser = app.test_client()
    browser.set_cookie(COOKIE, before.value)
    assert links(engine, browser) == accounts.MAX_LINKS_PER_HOUR
    enter(app, engine, browser)
    after = browser.get_cookie(COOKIE)
    assert after is not None
    assert after.value != before.value
    assert after.value.partition(".")[0] == before.value.partition(".")[0]


def test_the_cookie_is_http_only_and_does_not_name_the_account(
    engine: Engine, settings: Settings, people: People
) -> None:
    people.ann()
    secure = Settings(**settings.model_dump(by_alias=True) | {"BASE_URL": "https://snoozer.example"})
    app = create_app(engine=engine, settings=secure)
    app.config["WTF_CSRF_ENABLED"] = False
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=ANN)
    answer = app.test_client().post(f"/sign-in/{token}", base_url="https://snoozer.example")
    [cookie] = [line for line in answer.headers.getlist("Set-Cookie") if line.startswith("__Host-snoozer_known=")]
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=34560000"))
    assert ANN not in unquote(cookie)
    assert b64encode(ANN.encode()).decode()[:16] not in cookie
