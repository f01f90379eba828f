"""Pages come in the language of the account, of the browser's choice, or of its Accept-Language, in this order."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, select

from snoozer.db.accounts import set_preferences
from snoozer.db.models import Account
from snoozer.people import accounts
from tests.factories import ANN, People

GARBAGE = [
    "",
    "*",
    ";q=",
    ",,,;;;===",
    "de;q=abc",
    "xx-YY,fr;q=0.9",
    "q=1",
    "de-DE-x-ö",
    "\x00",
    "en-" + "a" * 3_000,
    ",".join(["zz"] * 1_000),
    "de;q=0",
]


def language(page: str) -> str | None:
    found = re.search(r'<html lang="([\w-]+)" dir="ltr"', page)
    return found and found.group(1)


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("de", "de-DE"),
        ("de-AT,de;q=0.9,en;q=0.8", "de-DE"),
        ("en-US,en;q=0.9", "en-US"),
        ("en-us", "en-US"),
        ("en", "en-GB"),
        ("en-CA", "en-US"),
        ("en-NZ", "en-GB"),
        ("fr-FR,fr;q=0.9,de;q=0.5,en;q=0.4", "de-DE"),
        ("en;q=0.2,de;q=0.8", "de-DE"),
        ("ja", "en-GB"),
    ],
)
def test_a_stranger_reads_what_the_browser_asks_for(client: FlaskClient, header: str, shown: str) -> None:
    answer = client.get("/sign-in", headers={"Accept-Language": header})
    assert language(answer.text) == shown
    assert "Accept-Language" in answer.headers["Vary"]


@pytest.mark.parametrize("header", GARBAGE)
def test_a_header_that_means_nothing_is_english(client: FlaskClient, header: str) -> None:
    answer = client.get("/sign-in", headers={"Accept-Language": header})
    assert answer.status_code == 200
    assert language(answer.text) in {"en-GB", "de-DE"}
    assert header.startswith("de") or language(answer.text) == "en-GB"


def test_what_a_browser_chose_comes_before_what_it_asks_for(client: FlaskClient) -> None:
    chosen = client.post("/settings/language", data={"locale": "de_DE", "here": "/sign-in"})
    assert chosen.location == "/sign-in"
    page = client.get("/sign-in", headers={"Accept-Language": "en-US"}).text
    assert language(page) == "de-DE"
    assert 'value="de_DE" lang="de-DE" aria-pressed="true"' in page


@pytest.mark.parametrize("locale", [None, "", "fr_FR", "de", "../de"])
def test_only_a_locale_that_there_is_can_be_chosen(client: FlaskClient, locale: str | None) -> None:
    assert client.post("/settings/language", data={"locale": locale} if locale is not None else {}).status_code == 400


def test_a_choice_leads_nowhere_else(client: FlaskClient) -> None:
    answer = client.post("/settings/language", data={"locale": "de_DE", "here": "//evil.example"})
    assert answer.location == "/"


def test_the_account_comes_before_the_browser(ann: FlaskClient, engine: Engine) -> None:
    assert language(ann.get("/settings", headers={"Accept-Language": "de"}).text) == "en-GB"
    with engine.begin() as connection:
        set_preferences(connection, id=1, zone="Europe/Berlin", locale="de_DE")
    answer = ann.get("/settings", headers={"Accept-Language": "en-US"})
    assert language(answer.text) == "de-DE"
    assert "Accept-Language" not in answer.headers.get("Vary", "")
    assert language(ann.get("/nothing").text) == "de-DE"


@pytest.mark.parametrize(("header", "locale"), [("de", "de_DE"), ("en-US", "en_US"), ("fr", "en_GB"), (None, "en_GB")])
def test_the_first_sign_in_keeps_the_language(
    client: FlaskClient, engine: Engine, people: People, header: str | None, locale: str
) -> None:
    people.ann()
    sign_in(client, engine, header)
    assert locale_of_ann(engine) == locale


def test_who_chose_a_language_keeps_it(client: FlaskClient, engine: Engine, people: People) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        set_preferences(connection, id=ann.id, zone="Europe/Berlin", locale="en_AU")
    sign_in(client, engine, "de")
    assert locale_of_ann(engine) == "en_AU"


def sign_in(client: FlaskClient, engine: Engine, header: str | None) -> None:
    with engine.begin() as connection:
        link = accounts.console_sign_in_token(connection, email=ANN)
    headers = {} if header is None else {"Accept-Language": header}
    assert client.post(f"/sign-in/{link}", headers=headers).status_code == 303


def locale_of_ann(engine: Engine) -> str:
    with engine.connect() as connection:
        return connection.execute(select(Account.locale).where(Account.email == ANN)).scalar_one()
