"""Who is admin of whom: roles by page, addresses shown once, and who one is asked again before either."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db.queries import audit
from snoozer.db.queries.audit import Filter
from tests.factories import ANN, People, Person, a_snooze

ADA = "ada@snoozer.example"


@pytest.fixture
def ada(people: People) -> Person:
    return people.ann(ADA, role="admin")


@pytest.fixture
def browser(client: FlaskClient, ada: Person) -> FlaskClient:
    """Ada's, in which she just signed in."""
    client.set_cookie("snoozer_session", ada.session)
    return client


def entries(engine: Engine) -> list[tuple[str, str, str | None, int | None, str | None]]:
    with engine.connect() as connection:
        rows = audit.page(connection, Filter()).rows
    return [(row.actor, row.act, row.reason, row.snooze_id, row.target) for row in rows]


def confirmed_long_ago(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = now() - :ago"), {"ago": timedelta(minutes=11)})


def role_of(engine: Engine, id: int) -> str:
    with engine.connect() as connection:
        return str(connection.execute(text("SELECT role FROM accounts WHERE id = :id"), {"id": id}).scalar_one())


def test_accounts_are_listed_by_role_and_without_addresses(browser: FlaskClient, people: People) -> None:
    ann, olga = people.ann(), people.operator()
    page = browser.get("/admin/accounts").text
    assert [f"Account {person.id}<" in page for person in (ann, olga)] == [True, True]
    assert "a…@s…" in page
    operators = browser.get("/admin/accounts?role=operator").text
    assert re.findall(r">Account (\d+)<", operators) == [str(olga.id)]
    for path in ("/admin/accounts", f"/admin/accounts/{ann.id}", "/admin/accounts?role=user"):
        assert "@snoozer.example" not in browser.get(path).text, path
    assert browser.get("/admin/accounts?role=king").status_code == 400


def test_many_accounts_are_pages(browser: FlaskClient, people: People, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO accounts (email) SELECT 'p' || n || '@x.example' FROM generate_series(1, 75) AS n")
        )
    found, path = [], "/admin/accounts?role=user"
    for _ in range(2):
        page = browser.get(path).text
        found += re.findall(r">Account (\d+)<", page)
        following = re.search(r'href="([^"]+)" rel="next"', page)
        path = following[1].replace("&amp;", "&") if following else ""
    assert (len(found), len(set(found)), path) == (75, 75, "")


def test_an_account_is_found_by_its_whole_address_which_is_in_no_url(browser: FlaskClient, people: People) -> None:
    ann = people.ann()
    answer = browser.post("/admin/accounts/find", data={"email": f" {ANN.upper()} "})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/admin/accounts/{ann.id}")
    assert browser.post("/admin/accounts/find", data={"email": "x@y.example"}).status_code == 404
    assert browser.post("/admin/accounts/find", data={"email": "<script>"}).status_code == 422


def test_a_role_is_given_with_a_reason_and_stands_in_the_audit_log(
    browser: FlaskClient, people: People, engine: Engine, ada: Person
) -> None:
    ann = people.ann()
    path = f"/admin/accounts/{ann.id}"
    assert browser.post(f"{path}/role", data={"role": "operator", "why": " "}).status_code == 422
    assert browser.post(f"{path}/role", data={"role": "king", "why": "x"}).status_code == 400
    assert browser.post("/admin/accounts/999/role", data={"role": "viewer", "why": "x"}).status_code == 404
    assert (role_of(engine, ann.id), entries(engine)) == ("user", [])
    answer = browser.post(f"{path}/role", data={"role": "operator", "why": f"on call, says {ANN}"})
    assert (answer.status_code, answer.headers["Location"]) == (303, path)
    assert role_of(engine, ann.id) == "operator"
    assert entries(engine) == [
        (f"operator:{ada.id}", "change_role", "on call, says …@…", None, f"account:{ann.id}"),
    ]
    browser.post(f"{path}/role", data={"role": "operator", "why": "again"})
    assert len(entries(engine)) == 1


def test_there_is_always_one_admin(browser: FlaskClient, people: People, engine: Engine, ada: Person) -> None:
    own = f"/admin/accounts/{ada.id}/role"
    answer = browser.post(own, data={"role": "user", "why": "enough"})
    assert (answer.status_code, "last admin" in answer.text) == (409, True)
    closed = people.ann("carl@snoozer.example", role="admin")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET disabled_at = now() WHERE id = :id"), {"id": closed.id})
    assert browser.post(own, data={"role": "user", "why": "enough"}).status_code == 409
    assert (role_of(engine, ada.id), entries(engine)) == ("admin", [])
    people.ann("bea@snoozer.example", role="admin")
    assert browser.post(own, data={"role": "user", "why": "enough"}).status_code == 303
    assert role_of(engine, ada.id) == "user"
    assert browser.get("/admin/accounts").status_code == 403


def test_an_address_is_shown_once_with_a_reason_and_stands_in_the_audit_log(
    browser: FlaskClient, people: People, engine: Engine, ada: Person
) -> None:
    people.ann()
    id = a_snooze(engine, inactive=True, outcome="retired", finished_at=text("now()"))
    form = {"snooze": id, "here": f"/admin/cases/{id}"}
    refused = browser.post("/admin/unmask", data=form)
    assert (refused.status_code, ANN in refused.text, entries(engine)) == (422, False, [])
    shown = browser.post("/admin/unmask", data={**form, "why": "the person called"})
    assert (shown.status_code, ANN in shown.text, shown.headers["Cache-Control"]) == (200, True, "no-store")
    assert entries(engine) == [(f"operator:{ada.id}", "unmask", "the person called", id, None)]
    page = browser.get(f"/admin/cases/{id}").text
    assert (ANN in page, "the person called" in page, "Show the address" in page) == (False, True, True)
    assert browser.get("/admin/unmask").status_code == 405
    for bad in ({}, {"snooze": "x"}, {"snooze": 1, "account": 1}, {"account": 2**63}):
        assert browser.post("/admin/unmask", data={**bad, "why": "x"}).status_code == 400
    assert browser.post("/admin/unmask", data={"account": 999, "why": "x"}).status_code == 404


def test_a_session_that_was_confirmed_long_ago_is_asked_first(
    browser: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    confirmed_long_ago(engine)
    here = f"/admin/accounts/{ann.id}"
    for path, form in ((f"{here}/role", {"role": "admin"}), ("/admin/unmask", {"account": ann.id})):
        answer = browser.post(path, data={**form, "why": "x", "here": here})
        assert answer.status_code == 303
        assert answer.headers["Location"] == f"/admin/confirm?next=/admin/accounts/{ann.id}"
        elsewhere = browser.post(path, data={**form, "why": "x", "here": "//evil.example"})
        assert elsewhere.headers["Location"] == "/admin/confirm"
    assert (role_of(engine, ann.id), entries(engine)) == ("user", [])
    assert here in browser.get(f"/admin/confirm?next={here}").text


def test_a_session_from_before_confirmations_is_asked_too(browser: FlaskClient, people: People, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = NULL"))
    assert browser.post("/admin/unmask", data={"account": 1, "why": "x"}).headers["Location"] == "/admin/confirm"


def test_who_does_not_have_the_role_is_refused_before_being_asked(app: Flask, people: People, engine: Engine) -> None:
    browser, olga = app.test_client(), people.operator()
    browser.set_cookie("snoozer_session", olga.session)
    confirmed_long_ago(engine)
    assert browser.post(f"/admin/accounts/{olga.id}/role", data={"role": "admin", "why": "x"}).status_code == 403
