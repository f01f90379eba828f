"""Operators' pages are in English, with all that is formatted for them, whatever their operator's language is."""

from datetime import timedelta

from flask.testing import FlaskClient
from sqlalchemy import Engine, insert, text

from snoozer.db.models import CircuitBreaker
from tests.factories import a_snooze, now
from tests.web.cases import page, visible_text


def in_german(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))


def test_no_time_on_an_operators_page_is_in_another_language(operator: FlaskClient, engine: Engine) -> None:
    in_german(engine)
    ago = now() - timedelta(minutes=9)
    with engine.begin() as connection:
        failed = {"state": "open", "opened_at": ago, "last_failure_at": ago}
        connection.execute(insert(CircuitBreaker).values(server="mx.example:25", **failed))
    case = a_snooze(
        engine, attempts=5, crash_count=2, inactive=True, outcome="retired", finished_at=ago, last_error="x"
    )
    shown = page(operator, "/admin")
    assert "for 9 minutes" in visible_text(shown)
    for markup in (shown, page(operator, "/admin/cases"), page(operator, f"/admin/cases/{case}")):
        assert '<html lang="en"' in markup
        assert "9 minutes" in visible_text(markup)
        assert "Minuten" not in markup
        assert "heute" not in markup


def test_the_pages_of_a_person_lead_to_the_operators_room_in_their_language(
    operator: FlaskClient, engine: Engine
) -> None:
    assert '<span data-word="Admin">Admin</span>' in operator.get("/").text
    assert '<a href="/admin" aria-current="page">' in page(operator, "/admin")
    in_german(engine)
    german = operator.get("/").text
    assert '<html lang="de-DE"' in german
    assert 'aria-label="Bereiche"' in german
    assert '<span data-word="Admin">Admin</span>' in german
