"""More than one address a person: added by the code in a mail to it, and mail goes to verified ones only."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import accounts, addresses
from tests.factories import ANN, People
from tests.web.inbox import Inbox

HOME, BEN = "ann@home.example", "ben@snoozer.example"
PAGE = "/settings/own-addresses"


@pytest.fixture
def browser(site: Flask, people: People) -> FlaskClient:
    client = site.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    return client


def code_in(inbox: Inbox) -> str:
    found = re.search(r"^\s*(\d{8})\s*$", inbox.text(), re.MULTILINE)
    assert found
    return found[1]


def ask(browser: FlaskClient, email: str = HOME) -> str:
    answer = browser.post(PAGE, data={"email": email})
    assert answer.status_code == 200
    return answer.text


def add(browser: FlaskClient, code: str, email: str = HOME) -> int:
    return browser.post(f"{PAGE}/code", data={"email": email, "code": code}).status_code


def own(engine: Engine) -> list[tuple[str, bool]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT email, gets_mail FROM account_addresses ORDER BY email")).all()
    return [(row.email, row.gets_mail) for row in rows]


def test_an_address_is_added_by_the_code_in_its_mail(browser: FlaskClient, inbox: Inbox, engine: Engine) -> None:
    assert HOME in ask(browser, f" {HOME.upper()} ")
    code = code_in(inbox)
    assert (inbox.recipients, own(engine)) == ([HOME], [])
    assert add(browser, "00000000") == 422
    assert add(browser, f"{code[:4]} {code[4:]}") == 303
    assert own(engine) == [(HOME, False)]
    assert HOME in inbox.text()
    assert inbox.recipients == [HOME, ANN], "the account's address hears of it"
    assert add(browser, code) == 422, "a code works once"
    page = browser.get(PAGE).text
    assert page.index(ANN) < page.index(HOME)
    browser.post(f"{PAGE}/remove", data={"email": HOME})
    assert own(engine) == []


def test_reminders_go_to_the_chosen_address(browser: FlaskClient, inbox: Inbox, engine: Engine) -> None:
    ask(browser)
    add(browser, code_in(inbox))
    browser.post(f"{PAGE}/choose", data={"email": HOME})
    assert own(engine) == [(HOME, True)]
    assert f"<dd>{HOME}</dd>" in browser.get("/settings").text
    browser.post(f"{PAGE}/choose", data={"email": "stranger@mail.example"})
    assert own(engine) == [(HOME, True)]
    browser.post(f"{PAGE}/choose", data={"email": ANN})
    assert own(engine) == [(HOME, False)]


def test_an_address_of_another_account_looks_like_any_other(
    browser: FlaskClient, inbox: Inbox, engine: Engine, people: People
) -> None:
    people.ann(BEN)
    unknown, known = (re.sub(r'value="[\w=-]{60,}"', "", ask(browser, email)) for email in (HOME, BEN))
    assert known.replace(BEN, HOME) == unknown
    codes = [code_in(inbox) for _ in range(2)]
    assert sorted(inbox.recipients) == [HOME, BEN]
    assert add(browser, codes[inbox.recipients.index(BEN)], BEN) == 422
    assert own(engine) == []


def test_a_code_is_good_for_its_address_and_its_session_and_signs_in_no_browser(
    browser: FlaskClient, site: Flask, inbox: Inbox, engine: Engine, people: People
) -> None:
    ask(browser)
    code = code_in(inbox)
    assert add(browser, code, "other@home.example") == 422
    stranger = site.test_client()
    stranger.set_cookie("snoozer_session", people.ann(BEN).session)
    assert add(stranger, code) == 422
    session = browser.get_cookie("snoozer_session")
    assert session is not None
    thief = site.test_client()
    thief.set_cookie("snoozer_browser", session.value)
    assert thief.post("/sign-in/code", data={"code": code}).status_code == 422
    assert own(engine) == []
    assert add(browser, code) == 303


def test_no_one_is_flooded_with_codes(browser: FlaskClient, inbox: Inbox) -> None:
    for number in range(5):
        ask(browser, f"a{number}@home.example")
    answer = browser.post(PAGE, data={"email": HOME})
    assert (answer.status_code, "Wait an hour" in answer.text) == (422, True)


@pytest.mark.parametrize("typed", ["", "ann", "a@b@c.example", "ann@home.example\r\nBcc: x@y.example", "a" * 300])
def test_what_is_no_address_is_refused(browser: FlaskClient, inbox: Inbox, typed: str) -> None:
    assert browser.post(PAGE, data={"email": typed}).status_code == 422
    assert add(browser, "12345678", typed) == 422
    assert inbox.recipients == []


def test_one_address_belongs_to_one_account(engine: Engine, people: People) -> None:
    ids = [people.ann().id, people.ann(BEN).id]

    def vouch(id: int) -> bool:
        with engine.begin() as connection:
            return addresses.vouch(connection, account_id=id, email=HOME)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(vouch, ids * 8)) == 1
    with engine.begin() as connection, pytest.raises(accounts.InvalidAddress):
        accounts.create(connection, email=HOME)
    with engine.begin() as connection:
        assert not addresses.vouch(connection, account_id=ids[0], email=BEN)
        added = [addresses.vouch(connection, account_id=ids[0], email=f"a{n}@x.example") for n in range(12)]
        assert len(addresses.list_all(connection, account_id=ids[0])) <= addresses.MAX_ADDRESSES
        assert not all(added)
