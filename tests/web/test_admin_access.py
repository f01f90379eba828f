"""Who may open the operators' pages. The matrix is made from the routes, so that a new one is in it."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.routing import Rule

from snoozer.db.roles import ROLES, Role
from snoozer.web import auth
from tests.db.operations import an_operation
from tests.factories import HOUR, People, a_snooze, now, the_row


def a_case(engine: Engine) -> int:
    return a_snooze(engine, inactive=True, outcome="retired", finished_at=now() - HOUR, last_error="550 no such user")


# The least role for each route under /admin. A route that is not here fails the tests.
TABLE = {
    "GET /admin": "viewer",
    "GET /admin/live": "viewer",
    "GET /admin/live/changes": "viewer",
    "POST /admin/breakers/trip": "operator",
    "POST /admin/breakers/reset": "operator",
    "GET /admin/cases": "viewer",
    "GET /admin/cases/<row:id>": "viewer",
    "GET /admin/mailboxes": "viewer",
    "GET /admin/runbook": "viewer",
    "POST /admin/cases/find": "viewer",
    "POST /admin/cases/views": "viewer",
    "POST /admin/cases/views/<row:id>/delete": "viewer",
    "GET /admin/operations": "viewer",
    "GET /admin/operations/<row:id>": "viewer",
    "POST /admin/operations": "operator",
    "POST /admin/operations/<row:id>/cancel": "operator",
    "POST /admin/operations/<row:id>/undo": "operator",
    "POST /admin/operations/preview": "operator",
    "GET /admin/pauses": "viewer",
    "POST /admin/pauses": "operator",
    "POST /admin/pauses/preview": "operator",
    "POST /admin/pauses/<row:id>/resume": "operator",
    "GET /admin/accounts": "admin",
    "POST /admin/accounts/find": "admin",
    "GET /admin/accounts/<row:id>": "admin",
    "POST /admin/accounts/<row:id>/role": "admin",
    "POST /admin/unmask": "admin",
    "GET /admin/audit": "viewer",
    "GET /admin/confirm": "viewer",
    "GET /admin/confirm/act": "viewer",
    "POST /admin/confirm/mail": "viewer",
    "POST /admin/confirm": "viewer",
}
FORM = {
    **{"act": "dismiss", "id": "1", "from": "case", "why": "because", "as_of": "2099-01-01T00:00:00+00:00"},
    **{"email": "vera@snoozer.example", "role": "admin", "snooze": "1", "kind": "all"},
}
# The code that the form holds is not the one that was mailed.
REFUSED_FORMS = {"POST /admin/confirm": 422}


def rules(app: Flask) -> list[tuple[str, Rule]]:
    return [
        (method, rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/admin")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def path_of(rule: Rule) -> str:
    return rule.rule.replace("<row:id>", "1")


def routes(app: Flask) -> list[tuple[str, str]]:
    return [(method, path_of(rule)) for method, rule in rules(app)]


def test_the_table_has_every_route_with_the_role_that_it_asks_for(app: Flask) -> None:
    with app.app_context():
        asked = {f"{method} {rule.rule}": auth.required_role(rule.endpoint) for method, rule in rules(app)}
    assert asked == TABLE


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_the_table_says_and_nothing_else(
    role: Role, app: Flask, people: People, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    id, someone = a_case(engine), people.ann("vera@snoozer.example", role=role)
    an_operation(engine, act="dismiss", ids=[99])
    caplog.set_level("INFO", "snoozer.security")
    for method, rule in sorted(rules(app), key=lambda each: each[0]):
        browser, least = app.test_client(), TABLE[f"{method} {rule.rule}"]
        browser.set_cookie("snoozer_session", someone.session)
        caplog.clear()
        answer = browser.open(path_of(rule), method=method, data=FORM if method == "POST" else None)
        if ROLES.index(role) >= ROLES.index(least):
            assert answer.status_code in {200, 204, 303, REFUSED_FORMS.get(f"{method} {rule.rule}")}, rule
            assert "/sign-in" not in answer.headers.get("Location", ""), rule
        else:
            assert answer.status_code == 403, rule
            assert "550 no such user" not in answer.get_data(as_text=True)
            refused = f"refused account={someone.id} role={role} page={rule.endpoint.replace('.', '_')}"
            assert refused in [record.getMessage() for record in caplog.records]
            assert the_row(engine, id).outcome == "retired"
    assert the_row(engine, id).outcome == ("retired" if role in {"user", "viewer"} else "cancelled")


def test_a_case_that_is_not_there_is_not_found(client: FlaskClient, people: People) -> None:
    client.set_cookie("snoozer_session", people.operator().session)
    for path in (
        "/admin/cases/1",
        "/admin/cases/0",
        f"/admin/cases/{2**63}",
        "/admin/cases/x",
        "/admin/cases?before=zz",
    ):
        assert client.get(path).status_code == 404, path


def test_a_viewer_is_shown_no_act(client: FlaskClient, people: People, engine: Engine) -> None:
    id = a_case(engine)
    client.set_cookie("snoozer_session", people.ann(role="viewer").session)
    for path in ("/admin", "/admin/cases", f"/admin/cases/{id}", "/admin/mailboxes"):
        page = client.get(path).get_data(as_text=True)
        assert "Reactivate" not in page, path
        assert 'name="id"' not in page, path
