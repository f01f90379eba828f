"""Sign-in at an organisation's provider, a real one at a socket: who gets in, and as what."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db.queries import account_roles
from snoozer.db.roles import ROLES
from snoozer.delivery.chores import chores
from snoozer.people import accounts, organisation_sign_in
from tests.factories import ANN, People
from tests.web.oidc_provider import OidcProvider
from tests.web.oidc_visits import PERSON, begin, fields, is_signed_in, sign_in, the_accounts


@pytest.fixture
def site(make_site: Callable[..., Flask]) -> Flask:
    return make_site()


@pytest.fixture
def browser(site: Flask) -> FlaskClient:
    return site.test_client()


def test_who_signs_in_for_the_first_time_gets_an_account_with_the_verified_address(
    browser: FlaskClient, engine: Engine
) -> None:
    page = browser.get("/sign-in?next=/add").text
    assert page.count("Sign in with your organisation") == 1
    answer = sign_in(browser, next="/add")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/add")
    assert the_accounts(engine) == [(ANN, "user", None, True)]
    assert is_signed_in(browser)


def test_coming_back_changes_nothing_and_uses_nothing_up(
    browser: FlaskClient, engine: Engine, provider: OidcProvider
) -> None:
    path = begin(browser)
    for _ in range(3):
        assert browser.get(path).status_code == 200
    assert (the_accounts(engine), provider.requests.count("/token")) == ([], 0)
    assert browser.post("/sign-in/organisation/finish", data=fields(browser.get(path))).status_code == 303


def test_an_account_that_exists_is_signed_in_to_and_stays_the_persons(
    browser: FlaskClient, engine: Engine, people: People, provider: OidcProvider
) -> None:
    ann = people.ann(role="operator")
    assert sign_in(browser).status_code == 303
    provider.person |= {"email": "ann.married@snoozer.example"}
    assert sign_in(browser).status_code == 303
    assert the_accounts(engine) == [(ANN, "operator", None, True)]
    assert f"{ann.email}" in browser.get("/settings").text


def test_an_address_that_another_person_of_the_organisation_got_does_not_open_the_account(
    browser: FlaskClient, site: Flask, engine: Engine, provider: OidcProvider
) -> None:
    assert sign_in(browser).status_code == 303
    provider.person |= {"sub": "2002"}
    other = site.test_client()
    assert sign_in(other).status_code == 403
    assert not is_signed_in(other)
    with engine.begin() as connection:
        assert organisation_sign_in.unlink(connection, account_id=1) == 1
    assert sign_in(other).status_code == 303


def test_a_closed_account_stays_closed(browser: FlaskClient, engine: Engine, people: People) -> None:
    people.ann()
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
    assert sign_in(browser).status_code == 403
    with engine.begin() as connection:
        accounts.reopen(connection, email=ANN)
    assert sign_in(browser).status_code == 303
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
    assert not is_signed_in(browser)
    assert sign_in(browser).status_code == 403


def test_groups_give_a_role_that_ends_with_them_and_what_was_given_here_stays(
    browser: FlaskClient, engine: Engine, provider: OidcProvider, people: People
) -> None:
    people.ann(role="viewer")
    for groups, role in (
        (["lookers"], "viewer"),
        (["staff", "ops"], "operator"),
        ("cn=admins,ou=it", "admin"),
        ([], None),
        (["ops", 7, None], "operator"),
        (None, None),
    ):
        provider.person |= {"groups": groups}
        assert sign_in(browser).status_code == 303
        assert the_accounts(engine) == [(ANN, "viewer", role, True)]
        wanted = {"viewer": (200, 403), None: (200, 403), "operator": (200, 403), "admin": (200, 200)}[role]
        assert (browser.get("/admin").status_code, browser.get("/admin/accounts").status_code) == wanted
    with engine.connect() as connection:
        changes = connection.execute(text("SELECT actor, act, target, before, after FROM audit_log ORDER BY id")).all()
    assert {row[:3] for row in changes} == {("provider", "change_group_role", "account:1")}
    assert [(row.before["role"], row.after["role"]) for row in changes] == [
        *((None, "viewer"), ("viewer", "operator"), ("operator", "admin")),
        *(("admin", None), (None, "operator"), ("operator", None)),
    ]


def test_what_groups_gave_ends_a_day_later_also_for_who_comes_back_by_mail(
    browser: FlaskClient, engine: Engine, provider: OidcProvider, people: People
) -> None:
    provider.person |= {"groups": ["ops"]}
    assert sign_in(browser).status_code == 303
    chores.prune(engine)
    assert the_accounts(engine) == [(ANN, "user", "operator", True)]
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET group_role_at = group_role_at - INTERVAL '25 hours'"))
    # Whether or not the clock runs.
    browser.set_cookie("snoozer_session", people.ann().session)
    assert browser.get("/admin").status_code == 403
    assert "operator" not in browser.get("/api/v1/settings", headers=people.ann().bearer).text
    with engine.connect() as connection:
        assert account_roles.with_roles(connection, wanted=ROLES[1:]) == []
        assert account_roles.page(connection, role="operator").rows == []
        assert [account.group_role for account in account_roles.page(connection).rows] == [None]
    chores.prune(engine)
    assert the_accounts(engine) == [(ANN, "user", None, True)]
    assert browser.get("/admin").status_code == 403
    with engine.connect() as connection:
        last = connection.execute(text("SELECT actor, act, target FROM audit_log ORDER BY id DESC LIMIT 1")).one()
    assert last == ("clock", "change_group_role", "account:1")


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email_verified": "true"},
        {"email": None},
        {"email": "no address"},
        {"email": [ANN]},
    ],
)
def test_no_address_is_taken_that_is_not_verified(
    browser: FlaskClient, engine: Engine, provider: OidcProvider, claims: dict[str, Any]
) -> None:
    provider.person |= claims
    assert sign_in(browser).status_code == 403
    assert (the_accounts(engine), is_signed_in(browser)) == ([], False)


def test_what_only_the_userinfo_names_is_taken_from_there(
    browser: FlaskClient, engine: Engine, provider: OidcProvider
) -> None:
    provider.person = {"sub": "1001"}
    provider.userinfo = {**PERSON, "groups": ["ops"]}
    assert sign_in(browser).status_code == 303
    assert the_accounts(engine) == [(ANN, "user", "operator", True)]
    provider.userinfo |= {"sub": "2002"}
    assert sign_in(browser).status_code == 422
    # An address of the token is not verified by what the userinfo says of another one.
    provider.person = {"sub": "3003", "email": "boss@snoozer.example"}
    provider.userinfo = {"sub": "3003", "email": "x@snoozer.example", "email_verified": True, "groups": []}
    assert sign_in(browser).status_code == 403


def test_a_wrong_secret_is_the_operators_to_mend(make_site: Callable[..., Flask]) -> None:
    answer = sign_in(make_site(SNOOZER_OIDC_CLIENT_SECRET="old").test_client())
    assert (answer.status_code, "does not accept this Snoozer" in answer.text) == (422, True)


def test_what_another_browser_began_is_refused(browser: FlaskClient, site: Flask, engine: Engine) -> None:
    path = begin(browser)
    victim = site.test_client()
    assert victim.get(path).status_code == 422
    own = fields(browser.get(path))
    assert victim.post("/sign-in/organisation/finish", data=own).status_code == 422
    begin(victim)
    assert victim.post("/sign-in/organisation/finish", data=own).status_code == 422
    assert (the_accounts(engine), is_signed_in(victim)) == ([], False)
    assert browser.post("/sign-in/organisation/finish", data=own).status_code == 303
    again = browser.post("/sign-in/organisation/finish", data=own)
    assert again.status_code == 422


def test_a_sign_in_that_was_denied_or_took_too_long_is_over(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.denies = True
    assert browser.get(begin(browser)).status_code == 422
    provider.denies = False
    path = begin(browser)
    later = time.time() + 901
    monkeypatch.setattr(time, "time", lambda: later)
    assert browser.get(path).status_code == 422
    for query in ("", "?state=", "?state=x&code=y", f"?state={'x' * 300}"):
        assert browser.get(f"/sign-in/organisation{query}").status_code == 422


def test_a_session_ends_at_sign_out_and_after_a_day(browser: FlaskClient, engine: Engine) -> None:
    sign_in(browser)
    with engine.begin() as connection:
        ends = connection.execute(text("SELECT expires_at - created_at FROM sessions")).scalar_one()
    assert 0.99 < ends.total_seconds() / 86_400 <= 1.01
    session = browser.get_cookie("snoozer_session", domain="snoozer.example") or browser.get_cookie("snoozer_session")
    assert session is not None
    browser.post("/sign-out")
    browser.set_cookie("snoozer_session", session.value)
    assert not is_signed_in(browser)


def test_without_mailed_links_the_provider_is_the_only_way_but_for_the_console(
    make_site: Callable[..., Flask], engine: Engine, people: People
) -> None:
    people.ann(role="admin")
    browser = make_site(SNOOZER_MAIL_SIGN_IN="off").test_client()
    page = browser.get("/sign-in").text
    assert ("Sign in with your organisation" in page, "Mail me a sign-in link" in page) == (True, False)
    assert browser.post("/sign-in", data={"email": ANN}).status_code == 404
    assert browser.get("/sign-in/code").status_code == 404
    assert browser.post("/sign-in/code", data={"code": "1"}).status_code == 404
    with engine.begin() as connection:
        link = accounts.console_sign_in_token(connection, email=ANN)
    assert browser.post(f"/sign-in/{link}").status_code == 303
    assert browser.post("/admin/confirm/mail").status_code == 404
    assert "Mail me a code" not in browser.get("/admin/confirm").text


def test_a_fresh_sign_in_confirms_the_session(
    browser: FlaskClient, engine: Engine, provider: OidcProvider, people: People
) -> None:
    people.ann(role="admin")
    sign_in(browser)

    def confirmed() -> bool:
        answer = browser.post("/admin/unmask", data={"account": 1, "why": "x", "here": "/admin/accounts/1"})
        return answer.status_code == 200

    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = NULL"))
    assert not confirmed()
    purpose = {"purpose": "confirm", "next": "/admin/accounts/1"}
    provider.lies = {"auth_time": 1_700_000_000}
    assert sign_in(browser, **purpose).status_code == 422
    provider.lies = {"auth_time": None}
    assert sign_in(browser, **purpose).status_code == 422
    provider.lies, provider.person = {}, {**PERSON, "sub": "2002", "email": "bob@snoozer.example"}
    assert sign_in(browser, **purpose).status_code == 422
    assert not confirmed()
    provider.person = dict(PERSON)
    answer = sign_in(browser, **purpose)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/accounts/1")
    assert confirmed()
    assert browser.post("/sign-out").status_code == 303
    assert browser.post("/sign-in/organisation", data={"purpose": "confirm"}).status_code == 303


@pytest.mark.parametrize(
    ("ago", "confirms"), [(None, False), (4_000, False), (601, False), (30, True), ("now", False), (True, False)]
)
def test_a_session_that_begins_is_confirmed_only_by_credentials_that_were_just_shown(
    browser: FlaskClient, provider: OidcProvider, people: People, ago: object, confirms: bool
) -> None:
    """A live session at the provider opens one here without asking for credentials."""
    people.ann(role="admin")
    provider.lies = {"auth_time": int(time.time()) - ago if type(ago) is int else ago}
    assert sign_in(browser).status_code == 303
    unmasked = browser.post("/admin/unmask", data={"account": 1, "why": "x", "here": "/admin/accounts/1"})
    page = browser.get("/settings/data/delete").text
    asked = browser.post("/settings/data/delete", follow_redirects=True).text
    assert [unmasked.status_code == 200, "Delete my account in a day" in page] == [confirms, confirms]
    assert ("Sign in again first" in asked) == (not confirms)
    if not confirms:
        provider.lies = {}
        back = sign_in(browser, purpose="confirm", next="/settings/data/delete")
        assert back.headers["Location"] == "/settings/data/delete"
        assert "Delete my account in a day" in browser.get("/settings/data/delete").text


def test_without_a_provider_there_are_no_such_routes(client: FlaskClient) -> None:
    assert "organisation" not in client.get("/sign-in").text
    assert client.post("/sign-in/organisation").status_code == 404
    assert client.get("/sign-in/organisation?code=x&state=y").status_code == 404
    assert client.post("/sign-in/organisation/finish").status_code == 404
