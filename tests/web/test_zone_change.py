"""A change of zone needs one confirmation: whether wall-clock snoozes keep their hour or their instant."""

from zoneinfo import ZoneInfo

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import ANN, HOUR, a_snooze, asked_for, now, the_events, the_row

THERE = {"zone": "Asia/Kolkata", "locale": "en_GB"}


def zone_of(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(text("SELECT zone FROM accounts WHERE email = :e"), {"e": ANN}).scalar_one())


def test_the_confirmation_comes_before_saving_and_shows_what_would_move(ann: FlaskClient, engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am", subject="Board papers <b>")
    asked_for(engine, "in 72 hours", subject="Call back")
    before = the_row(engine, id)
    page = ann.post("/settings", data=THERE)
    assert page.status_code == 200
    assert "Follow me to Asia/Kolkata" in page.text
    assert "1 snooze is kept by the clock of Europe/Berlin" in " ".join(page.text.split())
    assert "Board papers &lt;b&gt;" in page.text
    assert "Call back" not in page.text
    assert the_row(engine, id) == before
    assert zone_of(engine) == "Europe/Berlin"


def test_follow_me_moves_the_hour(ann: FlaskClient, engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am")
    saved = ann.post("/settings", data={**THERE, "moving": "follow"}, follow_redirects=True)
    assert "1 snooze keeps its hour there" in saved.text
    at = the_row(engine, id).remind_at.astimezone(ZoneInfo("Asia/Kolkata"))
    assert (at.hour, at.minute) == (8, 0)
    assert zone_of(engine) == "Asia/Kolkata"
    assert "It went with you from Europe/Berlin to Asia/Kolkata" in ann.get(f"/snoozes/{id}").text


def test_keeping_the_instants_writes_no_row_and_needs_no_second_confirmation(ann: FlaskClient, engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am")
    before = the_row(engine, id)
    assert ann.post("/settings", data={**THERE, "moving": "keep"}).status_code == 303
    assert ann.post("/settings", data=THERE).status_code == 303
    assert ann.post("/settings", data={**THERE, "zone": "America/New_York"}).status_code == 303
    assert the_row(engine, id) == before
    assert the_events(engine, id) == []


def test_without_wall_clock_snoozes_no_confirmation_is_needed(ann: FlaskClient, engine: Engine) -> None:
    asked_for(engine, "in 72 hours")
    a_snooze(engine, remind_at=now() + 72 * HOUR)
    assert ann.post("/settings", data=THERE).status_code == 303
    assert zone_of(engine) == "Asia/Kolkata"


def test_a_zone_with_the_same_wall_time_needs_no_confirmation(ann: FlaskClient, engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am")
    promise = the_row(engine, id).remind_at
    assert ann.post("/settings", data={**THERE, "zone": "Europe/Paris"}).status_code == 303
    assert (the_row(engine, id).remind_at, the_row(engine, id).zone) == (promise, "Europe/Paris")


def test_any_other_choice_is_a_bad_request(ann: FlaskClient, engine: Engine) -> None:
    asked_for(engine, "in 3 days at 8am")
    assert ann.post("/settings", data={**THERE, "moving": "x"}).status_code == 400
    assert zone_of(engine) == "Europe/Berlin"
