"""Your data: the files come by POST to their owner, whole, as attachments that no browser keeps; they are counted."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.settings import Settings
from snoozer.web import create_app
from tests.export_files import a_file, a_record
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
    assert "Still to come back: 1. Over: 2. Kept messages: 0." in page
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


def upload(browser: FlaskClient, content: bytes, name: str = "snoozer.json") -> TestResponse:
    return browser.post("/settings/data/import", data={"file": (BytesIO(content), name)})


def rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def test_a_file_is_shown_before_it_is_saved(ann: FlaskClient, engine: Engine) -> None:
    past = a_record(message_id="<2@x>", promised="2026-02-01T00:00:00+00:00")
    answer = upload(ann, a_file(a_record(), past, a_record(message_id="", subject="<script>")))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/settings/data/import")
    page = ann.get("/settings/data/import").text
    assert "2 new snoozes" in page
    assert "The one whose time has passed" in page
    assert "because its message_id is no text" in page
    assert rows(engine, "email_snoozes") == 0
    answer = ann.post("/settings/data/import/confirm", data={"past": "history"}, follow_redirects=True)
    assert "1 snooze comes back here now. 1 is in your history." in answer.text
    assert (rows(engine, "email_snoozes"), rows(engine, "email_snoozes_archive")) == (1, 1)
    again = ann.post("/settings/data/import/confirm", follow_redirects=True)
    assert "That file is forgotten already." in again.text
    assert ann.get("/settings/data/import").status_code == 303


def test_a_preview_reads_the_file_no_second_time(ann: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(ann, a_file(a_record()))
    monkeypatch.delattr("snoozer.people.personal_data.import_file.read")
    monkeypatch.delattr("snoozer.people.personal_data.rows.read_row")
    assert "1 new snooze" in ann.get("/settings/data/import").text
    assert ann.post("/settings/data/import/confirm").status_code == 303


def test_a_file_can_be_forgotten(ann: FlaskClient, engine: Engine) -> None:
    upload(ann, a_file(a_record()))
    assert "A file is read" in ann.get("/settings/data").text
    assert "The file is forgotten." in ann.post("/settings/data/import/discard", follow_redirects=True).text
    assert (rows(engine, "imports"), rows(engine, "import_rows"), rows(engine, "email_snoozes")) == (0, 0, 0)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff" * 99, b"[" * 200_000, a_file()[1:]], ids=lambda content: repr(content[:9])
)
def test_what_is_no_export_is_refused_with_a_sentence(ann: FlaskClient, engine: Engine, content: bytes) -> None:
    answer = upload(ann, content)
    assert answer.status_code == 422
    assert "Nothing was saved." in answer.text
    assert rows(engine, "imports") == 0


def test_no_file_and_one_that_is_too_large_are_refused(ann: FlaskClient, settings: Settings) -> None:
    assert "Choose a file first" in ann.post("/settings/data/import", data={}).text
    body = b" " * (settings.largest_message + 70_000)
    assert ann.post("/settings/data/import", data=body, content_type="text/csv").status_code == 413


def test_the_zip_of_an_export_is_kept_once(ann: FlaskClient, engine: Engine) -> None:
    a_kept_message(engine)
    content = ann.post("/settings/data/download", data={"format": "zip"}).data
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM messages"))
    for words in ("1 message is kept here now.", "0 messages are kept here now. 1 was here already."):
        assert upload(ann, content, "snoozer.zip").status_code == 303
        assert words in ann.get("/settings/data").text
    assert upload(ann, content[:-9], "snoozer.zip").status_code == 422
    assert rows(engine, "messages") == 1


def test_a_persons_file_is_no_others(ann: FlaskClient, app: Flask, people: People, engine: Engine) -> None:
    upload(ann, a_file(a_record()))
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann(BOB).session)
    assert bob.get("/settings/data/import").status_code == 303
    bob.post("/settings/data/import/discard")
    bob.post("/settings/data/import/confirm")
    assert (rows(engine, "imports"), rows(engine, "email_snoozes")) == (1, 0)
