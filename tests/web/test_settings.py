"""Zone and clock: what is shown follows them, what was promised does not."""

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.postgres import sink
from tests.factories import ANN, HOUR, a_snooze, an_original, now, the_row


@pytest.mark.parametrize("typed", ["Asia/Kolkata", "asia/kolkata", " America/New York "])
def test_a_zone_is_taken_however_it_is_typed(typed: str, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    before = the_row(engine, id)
    assert ann.post("/settings", data={"zone": typed, "locale": "en_US"}).status_code == 303
    with engine.connect() as connection:
        row = connection.execute(text("SELECT zone, locale FROM accounts")).one()
    assert row.zone in {"Asia/Kolkata", "America/New_York"}
    assert row.locale == "en_US"
    assert the_row(engine, id) == before
    assert row.zone in ann.get("/").text


def test_a_zone_that_is_none_is_refused_and_kept(ann: FlaskClient) -> None:
    answer = ann.post("/settings", data={"zone": "Middle Earth", "locale": "en_GB"})
    assert answer.status_code == 422
    assert 'value="Middle Earth"' in answer.text
    assert "There is no zone of that name" in answer.text


def test_every_zone_on_offer_is_accepted(ann: FlaskClient) -> None:
    page = ann.get("/settings").text
    offered = page.count("<option>")
    assert offered > 300


def test_the_sink_shows_only_ones_own_mail_and_links_only_to_this_site(ann: FlaskClient, engine: Engine) -> None:
    body = "http://snoozer.example/r/abc and https://evil.example/ and http://snoozer.example.evil/ <script>x</script>"
    with engine.begin() as connection:
        mine = sink.keep(connection, mail_from="s@x", rcpt_to=ANN, original=an_original(subject="Mine", body=body))
        other = sink.keep(connection, mail_from="s@x", rcpt_to="bob@x", original=an_original(subject="Bobs"))
    assert "Mine" in ann.get("/sink").text
    assert "Bobs" not in ann.get("/sink").text
    assert ann.get(f"/sink/{other}").status_code == 404
    page = ann.get(f"/sink/{mine}").text
    assert '<a href="http://snoozer.example/r/abc">' in page
    assert 'href="https://evil' not in page
    assert 'href="http://snoozer.example.evil' not in page
    assert "<script>x" not in page
