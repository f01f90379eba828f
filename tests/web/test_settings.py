"""Zone and locale: what is shown follows them, promised times do not."""

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.timephrase import zone_search
from snoozer.timephrase.zones import zone_in_words
from tests.factories import HOUR, a_snooze, now, the_row


@pytest.mark.parametrize("typed", ["Asia/Kolkata", "asia/kolkata", " America/New York ", "new york", "India"])
def test_a_zone_is_accepted_in_any_case_and_with_spaces(typed: str, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    before = the_row(engine, id)
    assert ann.post("/settings", data={"zone": typed, "locale": "en_US"}).status_code == 303
    with engine.connect() as connection:
        row = connection.execute(text("SELECT zone, locale FROM accounts")).one()
    assert row.zone in {"Asia/Kolkata", "America/New_York"}
    assert row.locale == "en_US"
    assert the_row(engine, id) == before
    assert zone_in_words(row.zone) in ann.get("/").text


def test_a_message_is_in_the_language_of_the_page_that_shows_it(ann: FlaskClient) -> None:
    german = ann.post("/settings", data={"zone": "Asia/Tokyo", "locale": "de_DE"}, follow_redirects=True).text
    assert 'lang="de' in german
    assert "Gespeichert. Zeiten werden in Asia/Tokyo gezeigt" in german
    english = ann.post("/settings", data={"zone": "Europe/Berlin", "locale": "en_US"}, follow_redirects=True).text
    assert "Saved. Times are shown in Europe/Berlin" in english
    assert "Gespeichert" not in english


def test_an_error_page_is_in_one_language(ann: FlaskClient) -> None:
    ann.post("/settings", data={"zone": "Europe/Berlin", "locale": "de_DE"})
    for path in ("/nothing", "/admin/cases/nothing"):
        page = ann.get(path, headers={"Accept-Language": "en-GB"}).text
        assert "Unter dieser Adresse" in page
        assert "Zu dem, was schlummert" in page


@pytest.mark.parametrize(
    ("path", "form", "message"),
    [
        ("/sign-out", {}, "You are signed out."),
        (
            "/settings/sessions/end",
            {"where": "here too", "tokens": "too"},
            "You are signed out everywhere. No API token",
        ),
    ],
)
def test_a_message_for_who_leaves_is_in_the_language_of_the_browser(
    path: str, form: dict[str, str], message: str, ann: FlaskClient
) -> None:
    ann.post("/settings", data={"zone": "Europe/Berlin", "locale": "de_DE"})
    ann.get("/settings")
    browser = {"Accept-Language": "en-GB"}
    page = ann.post(path, data=form, headers=browser)
    assert message in ann.get(page.headers["Location"], headers=browser).text


@pytest.mark.parametrize("zone", ["Middle Earth", "localtime", "Factory"])
def test_an_unknown_zone_is_refused_and_stays_in_the_field(zone: str, ann: FlaskClient) -> None:
    answer = ann.post("/settings", data={"zone": zone, "locale": "en_GB"})
    assert answer.status_code == 422
    assert f'value="{zone}"' in answer.text
    assert "There is no zone, city or country of that name" in answer.text
    assert 'aria-describedby="zone-error" autofocus' in answer.text
    assert "there</small>" not in answer.text, "an unknown zone has no time to show"


@pytest.mark.parametrize(
    ("typed", "offered"), [("IST", ["Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"]), ("EST", ["America/New_York"])]
)
def test_what_names_several_zones_offers_them_and_saves_none(
    typed: str, offered: list[str], ann: FlaskClient, engine: Engine
) -> None:
    answer = ann.post("/settings", data={"zone": typed, "locale": "en_GB"})
    assert answer.status_code == 422
    for zone in offered:
        assert f'name="place" value="{zone}"' in answer.text
    with engine.connect() as connection:
        assert connection.execute(text("SELECT zone FROM accounts")).scalar_one() == "Europe/Berlin"
    chosen = {"zone": typed, "place": offered[0], "locale": "en_GB"}
    assert ann.post("/settings", data=chosen).status_code == 303
    with engine.connect() as connection:
        assert connection.execute(text("SELECT zone FROM accounts")).scalar_one() == offered[0]


def test_every_zone_on_offer_is_accepted() -> None:
    offered = [place.zone for place in zone_search.places(2026)]
    assert len(offered) > 300
    assert [zone for zone in offered if zone_search.resolve(zone, year=2026) != zone] == []
