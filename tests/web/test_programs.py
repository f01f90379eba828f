"""Settings, Programs: tokens are made with scopes and an end, shown once, and revoked by their owner."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import api_tokens
from tests.factories import ANN, People, now

PAGE = "/settings/programs"
FORM = {"name": "Backup script", "scope": ["snoozes:read"], "lifetime": "30"}


@pytest.fixture
def ann(app: Flask, people: People) -> FlaskClient:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    return browser


def secret_in(page: str) -> str:
    [secret] = re.findall(r'value="(snz_[\w-]{43})"', page)
    return str(secret)


def test_a_token_is_shown_once_and_does_what_was_chosen(ann: FlaskClient, engine: Engine) -> None:
    made = ann.post(PAGE, data=FORM)
    secret = secret_in(made.text)
    assert made.headers["Cache-Control"] == "no-store"
    assert secret not in ann.get(PAGE).text
    assert "Backup script" in ann.get(PAGE).text
    with engine.connect() as connection:
        found = api_tokens.find(connection, secret=secret)
        assert found is not None
        assert found.scopes == frozenset({"snoozes:read"})
        [token] = [each for each in api_tokens.list_all(connection, email=ANN) if each.id == found.id]
        assert token.expires_at is not None
        assert timedelta(days=29) < token.expires_at - now() < timedelta(days=31)
        stored = connection.execute(text("SELECT string_agg(t::text, '') FROM api_tokens t")).scalar_one()
    assert secret not in stored


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"name": " "}, 422), ({"scope": []}, 422), ({"scope": ["root"]}, 400), ({"lifetime": "7"}, 400)],
)
def test_a_form_that_is_not_whole_makes_no_token(
    changed: dict[str, object], status: int, ann: FlaskClient, engine: Engine
) -> None:
    answer = ann.post(PAGE, data=FORM | changed)
    assert answer.status_code == status
    assert "snz_" not in answer.text
    with engine.connect() as connection:
        assert len(api_tokens.list_all(connection, email=ANN)) == 1


def test_a_name_is_one_line_of_what_can_be_shown(ann: FlaskClient) -> None:
    assert "a b &lt;b&gt;" in ann.post(PAGE, data=FORM | {"name": " a\x00\n b <b>"}).text


def test_a_revoked_token_is_refused_and_only_its_owner_revokes_it(
    ann: FlaskClient, app: Flask, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    secret = secret_in(ann.post(PAGE, data=FORM).text)
    [path] = re.findall(r"/settings/programs/\d+/revoke", ann.get(PAGE).text)[:1]
    ask = {"Authorization": f"Bearer {secret}"}
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    bob.post(path)
    assert bob.get("/api/v1/snoozes", headers=ask).status_code == 200
    with caplog.at_level("INFO", logger="snoozer.security"):
        assert "refused from now on" in ann.post(path, follow_redirects=True).text
    assert "tokens_revoked account=" in caplog.text
    assert secret not in caplog.text
    assert bob.get("/api/v1/snoozes", headers=ask).status_code == 401
    assert "revoked already" in ann.post(path, follow_redirects=True).text


def test_a_person_has_only_so_many_tokens(ann: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO api_tokens (account_id, token_hash) SELECT 1, n::text FROM generate_series(2, 50) n")
        )
    answer = ann.post(PAGE, data=FORM)
    assert (answer.status_code, "You have 50 tokens, which is the limit" in answer.text) == (422, True)
    assert 'value="Backup script"' in answer.text
