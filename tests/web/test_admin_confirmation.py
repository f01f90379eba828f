"""Asking again who one is: by a code that is mailed to the account's own address, typed in the browser that asked."""

from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import accounts
from snoozer.people.accounts import Invitation
from snoozer.web.operators import confirmation
from tests.factories import People, Person, a_snooze

ADA = "ada@snoozer.example"
NEXT = "/admin/accounts/1"


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> list[Invitation]:
    """What was mailed."""
    found: list[Invitation] = []
    monkeypatch.setattr(confirmation, "send_invitation", lambda invitation, **_: found.append(invitation))
    return found


@pytest.fixture
def ada(people: People, engine: Engine) -> Person:
    """She signed in a while ago."""
    ada = people.ann(ADA, role="admin")
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = now() - :ago"), {"ago": timedelta(minutes=11)})
    return ada


@pytest.fixture
def browser(client: FlaskClient, ada: Person) -> FlaskClient:
    client.set_cookie("snoozer_session", ada.session)
    return client


def is_confirmed(engine: Engine, person: Person) -> bool:
    with engine.begin() as connection:
        return accounts.is_confirmed(connection, session=person.session)


def test_a_mailed_code_confirms_this_session_for_a_while(
    browser: FlaskClient, engine: Engine, ada: Person, mails: list[Invitation], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "snoozer.security")
    assert browser.get("/admin/confirm").status_code == 200
    assert (mails, is_confirmed(engine, ada)) == ([], False)
    asked = browser.post("/admin/confirm/mail", data={"next": NEXT})
    assert (asked.status_code, asked.headers["Location"]) == (303, f"/admin/confirm?sent=1&next={NEXT}")
    assert [mail.email for mail in mails] == [ADA]
    assert browser.post("/admin/confirm", data={"code": "00000000", "next": NEXT}).status_code == 422
    assert not is_confirmed(engine, ada)
    done = browser.post("/admin/confirm", data={"code": mails[0].code, "next": NEXT})
    assert (done.status_code, done.headers["Location"], is_confirmed(engine, ada)) == (303, NEXT, True)
    assert browser.post("/admin/confirm", data={"code": mails[0].code}).status_code == 422
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [f"confirmation_refused account={ada.id}", f"confirmed account={ada.id}", *logged[:1]]


def test_the_code_of_another_browser_or_another_account_confirms_nothing(
    app: Flask, browser: FlaskClient, people: People, engine: Engine, ada: Person, mails: list[Invitation]
) -> None:
    other, vera = app.test_client(), people.ann("vera@snoozer.example", role="viewer")
    other.set_cookie("snoozer_session", vera.session)
    other.post("/admin/confirm/mail")
    browser.post("/admin/confirm/mail")
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = NULL"))
    for code in (mails[0].code, ""):
        assert browser.post("/admin/confirm", data={"code": code}).status_code == 422
    # In Vera's browser, but as Ada.
    other.set_cookie("snoozer_session", ada.session)
    assert other.post("/admin/confirm", data={"code": mails[0].code}).status_code == 422
    assert not is_confirmed(engine, ada)


def test_five_codes_an_hour_are_mailed(browser: FlaskClient, mails: list[Invitation]) -> None:
    statuses = [browser.post("/admin/confirm/mail").status_code for _ in range(6)]
    assert (statuses, len(mails)) == ([303] * 5 + [429], 5)


def test_a_sign_in_confirms(engine: Engine, people: People) -> None:
    assert is_confirmed(engine, people.ann())


def test_many_cases_are_dismissed_by_who_was_asked_again(
    browser: FlaskClient, engine: Engine, ada: Person, mails: list[Invitation]
) -> None:
    ids = [a_snooze(engine, inactive=True, outcome="retired", finished_at=text("now()")) for _ in range(2)]
    preview = browser.post("/admin/operations/preview", data={"act": "dismiss", "id": ids}).text
    assert 'name="here" value="/admin/cases"' in preview
    form = {"as_of": "2099-01-01T00:00:00+00:00", "why": "x", "here": "/admin/cases"}
    many = browser.post("/admin/operations", data={**form, "act": "dismiss", "id": ids})
    assert (many.status_code, many.headers["Location"]) == (303, "/admin/confirm?next=/admin/cases")
    for allowed in ({"act": "reactivate", "id": ids}, {"act": "dismiss", "id": ids[0], "from": "case"}):
        assert (
            browser.post("/admin/operations", data={**form, **allowed}).headers["Location"]
            != "/admin/confirm?next=/admin/cases"
        )
    browser.post("/admin/confirm/mail")
    browser.post("/admin/confirm", data={"code": mails[0].code})
    done = browser.post("/admin/operations", data={**form, "act": "dismiss", "id": ids})
    assert done.headers["Location"].startswith("/admin/operations/")
