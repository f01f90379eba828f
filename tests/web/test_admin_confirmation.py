"""Asking again who one is: by a code that is mailed to the account's own address, typed in the browser that asked."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.datastructures import MultiDict

from snoozer.mail.notices import compose_notice
from snoozer.people import accounts
from snoozer.people.accounts import Invitation
from snoozer.settings import Settings
from snoozer.web.operators import confirmation
from tests.factories import People, Person, a_snooze
from tests.web.overviews import a_breaker

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


WHY = "The relay & its “twin” are moved"
GUARDED: dict[str, tuple[str, dict[str, Any]]] = {
    "trip": ("/admin/breakers/trip", {"server": "mail.example:25", "reason": WHY}),
    "change_role": ("/admin/accounts/2/role", {"role": "operator", "why": WHY, "here": "/admin/accounts/2"}),
    "unmask": ("/admin/unmask", {"snooze": "1", "why": WHY, "here": "/admin/cases/1"}),
    "dismiss": (
        "/admin/operations",
        {"act": "dismiss", "id": ["1", "2"], "why": WHY, "as_of": "2099-01-01T00:00:00+00:00", "here": "/admin/cases"},
    ),
}


@pytest.fixture
def guarded_places(engine: Engine, people: People, ada: Person) -> None:
    assert people.ann("vera@snoozer.example", role="viewer").id == 2
    a_breaker(engine)
    for _ in range(2):
        a_snooze(engine, inactive=True, outcome="retired", finished_at=text("now()"))


def the_kept_form(browser: FlaskClient) -> tuple[str, MultiDict[str, str]]:
    """The address and the fields of the form, as the browser would send it."""
    markup = browser.get("/admin/confirm/act").text
    found = re.search(r'<form class="card" method="post" action="([^"]+)">(.*?)</form>', markup, re.S)
    assert found is not None, markup
    fields = re.findall(r'name="([^"]+)" value="([^"]*)"', found[2])
    return found[1], MultiDict([(name, html.unescape(value)) for name, value in fields])


def code(browser: FlaskClient, engine: Engine, mails: list[Invitation]) -> str:
    browser.post("/admin/confirm/mail", data={"next": "/admin"})
    return browser.post("/admin/confirm", data={"code": mails[-1].code, "next": "/admin"}).headers["Location"]


def console_link(browser: FlaskClient, engine: Engine, mails: list[Invitation]) -> str:
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=ADA, lifetime=accounts.LINK_LIFETIME)
    return browser.post(f"/sign-in/{token}").headers["Location"]


@pytest.mark.parametrize("way", [code, console_link])
@pytest.mark.parametrize("act", GUARDED)
def test_a_confirmation_keeps_the_act_and_what_was_typed(
    browser: FlaskClient,
    engine: Engine,
    mails: list[Invitation],
    guarded_places: None,
    act: str,
    way: Callable[[FlaskClient, Engine, list[Invitation]], str],
) -> None:
    path, fields = GUARDED[act]
    asked = browser.post(path, data=fields)
    assert asked.headers["Location"].startswith("/admin/confirm")
    page = browser.get(asked.headers["Location"]).text
    assert "You are about to: " in page
    assert f"<code>snoozer account sign-in {ADA}</code>" in page
    assert way(browser, engine, mails) == "/admin/confirm/act"
    action, form = the_kept_form(browser)
    assert action == path
    form.poplist("csrf_token")
    assert form.to_dict(flat=False) == {
        name: value if isinstance(value, list) else [value] for name, value in fields.items()
    }
    done = browser.post(action, data=form)
    assert done.status_code in {200, 303}
    with engine.connect() as connection:
        given = text(
            "SELECT reason FROM audit_log WHERE act <> 'print_sign_in' UNION ALL SELECT reason FROM operations"
        )
        assert connection.execute(given).scalars().all() == [WHY]
    assert browser.get("/admin/confirm/act").status_code == 303, "it is kept no longer"


def test_an_act_is_kept_for_its_own_account_only(
    app: Flask, browser: FlaskClient, people: People, guarded_places: None
) -> None:
    path, fields = GUARDED["trip"]
    browser.post(path, data=fields)
    browser.set_cookie("snoozer_session", people.ann("olga@snoozer.example", role="operator").session)
    assert browser.get("/admin/confirm/act").status_code == 303
    assert WHY not in browser.get("/admin/confirm").text


def test_a_form_that_no_cookie_holds_leads_back(
    browser: FlaskClient, mails: list[Invitation], engine: Engine, guarded_places: None
) -> None:
    path, fields = GUARDED["dismiss"]
    ids = [str(7919 * number**3 % 1_000_003 + 1) for number in range(500)]
    browser.post(path, data={**fields, "id": ids, "why": "".join(chr(65 + int(id) % 26) for id in ids)})
    assert code(browser, engine, mails) == "/admin"


def test_the_mail_of_a_confirmation_has_its_own_words_and_no_link(browser: FlaskClient, settings: Settings) -> None:
    words = {"code": "1234 5678", "minutes": "10", "link": f"{settings.base_url}/sign-in/x"}
    mail = compose_notice(
        "confirmation",
        words,
        to=ADA,
        mail_from="Snoozer <snoozer@snoozer.example>",
        instance="snoozer.example",
        now=datetime.now(UTC),
        message_id="<c@snoozer.example>",
    ).decode()
    assert "Subject: Your code to confirm an act in Snoozer" in mail
    assert "1234 5678" in mail
    assert "/sign-in/" not in mail
    assert "asked to sign in" not in mail
