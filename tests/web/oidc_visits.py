"""A browser that signs in at the provider of an organisation, and what that comes to."""

import re
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from tests.factories import ANN

PERSON = {"sub": "1001", "email": ANN, "email_verified": True, "groups": ["staff"]}


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def at_the_provider(url: str) -> str:
    """Goes where the page leads; returns the path and query that the provider sends the browser back to."""
    try:
        build_opener(NoRedirects).open(url)
    except HTTPError as redirected:
        back = urlsplit(redirected.headers["Location"])
        assert back.path == "/sign-in/organisation"
        return f"{back.path}?{back.query}"
    raise AssertionError("no redirect")


def begin(browser: FlaskClient, **form: str) -> str:
    leaving = browser.post("/sign-in/organisation", data=form)
    assert leaving.status_code == 200
    return at_the_provider(leaving.headers["Refresh"].removeprefix("0; url="))


def fields(page: TestResponse) -> dict[str, str]:
    return dict(re.findall(r'name="(state|code)" value="([^"]*)"', page.text))


def sign_in(browser: FlaskClient, **form: str) -> TestResponse:
    back = browser.get(begin(browser, **form))
    assert back.status_code == 200, back.text
    return browser.post("/sign-in/organisation/finish", data=fields(back))


def the_accounts(engine: Engine) -> list[tuple[str, str, str | None, bool]]:
    rows = "SELECT email, role, group_role, verified_at IS NOT NULL FROM accounts ORDER BY id"
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(rows))]


def is_signed_in(browser: FlaskClient) -> bool:
    return browser.get("/settings").status_code == 200
