"""Zone and locale: what is shown follows them, promised times do not."""

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import HOUR, a_snooze, now, the_row


@pytest.mark.parametrize("typed", ["Asia/Kolkata", "asia/kolkata", " America/New York "])
def test_a_zone_is_accepted_in_any_case_and_with_spaces(typed: str, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    before = the_row(engine, id)
    assert ann.post("/settings", data={"zone": typed, "locale": "en_US"}).status_code == 303
    with engine.connect() as connection:
        row = connection.execute(text("SELECT zone, locale FROM accounts")).one()
    assert row.zone in {"Asia/Kolkata", "America/New_York"}
    assert row.locale == "en_US"
    assert the_row(engine, id) == before
    assert row.zone in ann.get("/").text


@pytest.mark.parametrize("zone", ["Middle Earth", "localtime", "Factory"])
def test_an_unknown_zone_is_refused_and_stays_in_the_field(zone: str, ann: FlaskClient) -> None:
    answer = ann.post("/settings", data={"zone": zone, "locale": "en_GB"})
    assert answer.status_code == 422
    assert f'value="{zone}"' in answer.text
    assert "There is no zone of that name" in answer.text
    assert 'aria-describedby="zone-error" autofocus' in answer.text
    assert "there</small>" not in answer.text, "an unknown zone has no time to show"


def test_every_zone_on_offer_is_accepted(ann: FlaskClient) -> None:
    page = ann.get("/settings").text
    offered = page.count("<option>")
    assert offered > 300
