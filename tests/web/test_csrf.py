"""The token of forms: masked anew in each page, required of every POST, and no other text is taken for it."""

import re
from base64 import urlsafe_b64encode

import pytest
from flask import Flask
from flask.testing import FlaskClient


@pytest.fixture
def browser(app: Flask) -> FlaskClient:
    app.config["WTF_CSRF_ENABLED"] = True
    return app.test_client()


def token_of(browser: FlaskClient) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', browser.get("/sign-in").text)
    assert found is not None
    return found.group(1)


def choose(browser: FlaskClient, **fields: str) -> int:
    return browser.post("/settings/theme", data={"theme": "dark", **fields}).status_code


def test_the_token_of_any_page_of_this_browser_is_taken_and_more_than_once(browser: FlaskClient) -> None:
    first, second = token_of(browser), token_of(browser)
    assert first != second
    assert [choose(browser, csrf_token=token) for token in (first, second, first)] == [303, 303, 303]


def test_a_script_may_send_it_in_its_header(browser: FlaskClient) -> None:
    headers = {"X-CSRFToken": token_of(browser)}
    assert browser.post("/settings/theme", data={"theme": "dark"}, headers=headers).status_code == 303


def test_the_token_of_another_browser_is_refused(browser: FlaskClient, app: Flask) -> None:
    token_of(browser)
    assert choose(browser, csrf_token=token_of(app.test_client())) == 400


@pytest.mark.parametrize(
    "token", ["", "x", "=", "AAAA", "\x00", "ü", "A" * 100_000, urlsafe_b64encode(b"ab" * 91).decode()]
)
def test_what_is_no_token_is_refused(browser: FlaskClient, token: str) -> None:
    token_of(browser)
    assert choose(browser, csrf_token=token) in {400, 413}
    assert choose(browser) == 400


def test_the_token_without_its_mask_is_refused(browser: FlaskClient) -> None:
    token_of(browser)
    with browser.session_transaction() as session:
        kept = dict(session)
    for raw in kept.values():
        assert choose(browser, csrf_token=str(raw), unmasked_csrf_token=str(raw)) == 400
