"""Who may open the operators' pages. The matrix is made from the routes, so that a new one is in it."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.settings import Settings
from tests.factories import HOUR, People, a_snooze, now, the_row


def a_case(engine: Engine) -> int:
    return a_snooze(engine, inactive=True, outcome="retired", finished_at=now() - HOUR, last_error="550 no such user")


def routes(app: Flask) -> list[tuple[str, str]]:
    return [
        (method, rule.rule.replace("<row:id>", "1"))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/admin")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


FORM = {"act": "dismiss", "all": "1", "why": "because", "until": "2099-01-01T00:00:00+00:00"}


def test_the_matrix_contains_every_route(app: Flask) -> None:
    assert set(routes(app)) == {
        ("GET", "/admin"),
        ("GET", "/admin/cases"),
        ("GET", "/admin/cases/1"),
        ("GET", "/admin/mailboxes"),
        ("POST", "/admin/cases/preview"),
        ("POST", "/admin/cases/act"),
    }


def test_the_signed_out_are_sent_to_sign_in_and_change_nothing(app: Flask, client: FlaskClient, engine: Engine) -> None:
    id = a_case(engine)
    for method, path in routes(app):
        answer = client.open(path, method=method, data=FORM if method == "POST" else None)
        assert (answer.status_code, "/sign-in" in answer.headers["Location"]) == (303, True), path
    assert the_row(engine, id).outcome == "retired"


def test_users_who_are_no_operators_get_403_and_change_nothing(
    app: Flask, client: FlaskClient, people: People, engine: Engine
) -> None:
    id = a_case(engine)
    client.set_cookie("snoozer_session", people.ann().session)
    for method, path in routes(app):
        answer = client.open(path, method=method, data=FORM if method == "POST" else None)
        assert answer.status_code == 403, path
        assert "550 no such user" not in answer.get_data(as_text=True)
    assert the_row(engine, id).outcome == "retired"


def test_an_operator_whose_account_is_closed_is_signed_out(
    app: Flask, client: FlaskClient, people: People, engine: Engine
) -> None:
    a_case(engine)
    client.set_cookie("snoozer_session", people.operator().session)
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET disabled_at = now()"))
    for method, path in routes(app):
        assert client.open(path, method=method, data=FORM if method == "POST" else None).status_code == 303


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_operators_and_admins_enter(app: Flask, client: FlaskClient, people: People, engine: Engine, role: str) -> None:
    a_case(engine)
    client.set_cookie("snoozer_session", people.ann(email="olga@snoozer.example", role=role).session)
    for method, path in routes(app):
        answer = client.open(path, method=method, data=FORM if method == "POST" else None)
        assert answer.status_code in {200, 303}, path
        assert "/sign-in" not in answer.headers.get("Location", "")


def test_a_form_from_elsewhere_does_nothing(engine: Engine, settings: Settings, people: People) -> None:
    from snoozer.web import create_app

    id = a_case(engine)
    client = create_app(engine=engine, settings=settings).test_client()
    client.set_cookie("snoozer_session", people.operator().session)
    for path in ("/admin/cases/preview", "/admin/cases/act"):
        assert client.post(path, data=FORM).status_code == 400
    assert the_row(engine, id).outcome == "retired"


def test_looking_changes_nothing(client: FlaskClient, people: People, engine: Engine) -> None:
    id = a_case(engine)
    client.set_cookie("snoozer_session", people.operator().session)
    before = the_row(engine, id)
    for path in ("/admin", "/admin/cases", f"/admin/cases/{id}"):
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
    assert client.post("/admin/cases/preview", data=FORM).status_code == 200
    assert the_row(engine, id) == before


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
