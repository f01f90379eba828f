"""Your data: the files come by POST to their owner, whole, as attachments that no browser keeps; they are counted."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, now

BOB = "bob@snoozer.example"


@pytest.mark.parametrize("kind", ["json", "csv", "ics", "zip"])
def test_a_file_is_saved_and_kept_by_no_browser(ann: FlaskClient, engine: Engine, kind: str) -> None:
    a_snooze(engine, subject="Hers", remind_at=now() + HOUR)
    a_snooze(engine, user_email=BOB, subject="His", remind_at=now() + HOUR)
    a_kept_message(engine, subject="Hers")
    a_kept_message(engine, user_email=BOB, subject="His")
    answer = ann.post("/settings/data/download", data={"format": kind})
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=snoozer-20")
    assert answer.headers["Content-Disposition"].endswith(f".{kind}")
    content = answer.data
    if kind == "zip":
        content = b" ".join(name.encode() for name in ZipFile(BytesIO(content)).namelist())
    assert b"Hers" in content
    assert b"His" not in content


def test_the_page_says_how_much_there_is(ann: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now())
    a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now())
    page = ann.get("/settings/data").text
    assert "1 snooze to come back, 2 that are over, 0 kept messages." in page
    assert "/settings/data" in ann.get("/settings").text


def test_no_other_format_is_made(ann: FlaskClient) -> None:
    assert ann.post("/settings/data/download", data={"format": "exe"}).status_code == 400
    assert ann.get("/settings/data/download").status_code == 405


def test_downloads_are_counted_for_each_person(engine: Engine, settings: Settings, people: People) -> None:
    app = create_app(engine=engine, settings=settings.model_copy(update={"exports_per_hour": 2}))
    app.config["WTF_CSRF_ENABLED"] = False
    for email in (ANN, BOB):
        browser = app.test_client()
        browser.set_cookie("snoozer_session", people.ann(email).session)
        answers = [browser.post("/settings/data/download", data={"format": "json"}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert json.loads(answers[1].data)[1]["email"] == email
