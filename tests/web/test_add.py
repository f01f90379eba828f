"""Adding messages and reminders: whole or not at all."""

import hashlib
import random
import re
from base64 import encodebytes
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import ANN, People, an_original, wait_until_a_session_waits


def rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def drop(browser: FlaskClient, *contents: bytes) -> tuple[int, str]:
    files = [(BytesIO(content), f"mail {n}.eml") for n, content in enumerate(contents)]
    answer = browser.post("/add/file", data={"message": files}, follow_redirects=True)
    return answer.status_code, answer.text


def test_a_dropped_message_is_kept_byte_for_byte_and_once(ann: FlaskClient, engine: Engine) -> None:
    original = an_original(subject="From the drop")
    status, page = drop(ann, original)
    assert status == 200
    assert "From the drop" in page
    assert "It was in your mailbox already" in drop(ann, original)[1]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT original FROM message_originals")).scalar_one() == original


def test_several_files_come_in_together(ann: FlaskClient, engine: Engine) -> None:
    assert "2 of 2 messages are new" in drop(ann, an_original(), an_original())[1]
    assert rows(engine, "messages") == 2


def test_the_same_files_in_opposite_order_at_the_same_moment_come_in_once(
    app: Flask, people: People, engine: Engine
) -> None:
    """Two uploads deadlocked, and one of them was refused."""
    first, middle, last = sorted((an_original(), an_original(), an_original()), key=_digest)
    session = people.ann().session

    def send(*contents: bytes) -> tuple[int, str]:
        browser = app.test_client()
        browser.set_cookie("snoozer_session", session)
        return drop(browser, *contents)

    with ThreadPoolExecutor(2) as threads:
        with engine.begin() as holding:
            mailbox_store.lock_original(holding, user_email=ANN, sha256=_digest(middle))
            sent = [threads.submit(send, first, middle, last), threads.submit(send, last, middle, first)]
            wait_until_a_session_waits(engine, how_many=2)
        answers = [one.result() for one in sent]
    assert [status for status, _ in answers] == [200, 200]
    assert {new for _, page in answers for new in (0, 3) if f"{new} of 3 messages are new" in page} == {0, 3}
    assert rows(engine, "messages") == 3


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("boundary", ["----WebKitFormBoundary7MA4YWxkTrZu0gW5", "-" * 24 + "d74496d66958873e", "edge"])
@pytest.mark.parametrize("size", [150_000, 3_000_000])
def test_a_message_of_ordinary_lines_is_taken_at_any_size(
    size: int, boundary: str, ann: FlaskClient, engine: Engine
) -> None:
    """Files of more than 128 kB were refused, unless they had hardly any line break."""
    attached = encodebytes(random.Random(size).randbytes(size)).replace(b"\n", b"\r\n")
    original = an_original() + b"\r\n" + attached
    body = b"--%s\r\nContent-Disposition: form-data; name=message; filename=a.eml\r\n\r\n" % boundary.encode()
    body += original + b"\r\n--%s--\r\n" % boundary.encode()
    answer = ann.post("/add/file", data=body, content_type=f"multipart/form-data; boundary={boundary}")
    assert answer.status_code == 303
    with engine.connect() as connection:
        assert connection.execute(text("SELECT original FROM message_originals")).scalar_one() == original


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n0000", b"%PDF-1.7 ...", b"just words\r\nand more"])
def test_what_is_no_message_is_refused_by_name(content: bytes, ann: FlaskClient, engine: Engine) -> None:
    status, page = drop(ann, an_original(), content)
    assert status == 422
    assert "mail 1.eml is not a mail message" in page
    assert 'aria-invalid="true" autofocus' in page
    assert rows(engine, "messages") == 0


def test_posting_no_file_shows_an_error(ann: FlaskClient) -> None:
    answer = ann.post("/add/file", data={"message": (BytesIO(b""), "")})
    assert answer.status_code == 422
    assert "Choose a message file first" in answer.text


def test_a_message_that_is_too_large_is_refused_whole(engine: Engine, settings: Settings, people: People) -> None:
    small = settings.model_copy(update={"largest_message": 65_536})
    app = create_app(engine=engine, settings=small)
    app.config["WTF_CSRF_ENABLED"] = False
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    for size in (65_537, 65_536 * 4):
        status, page = drop(browser, an_original().ljust(size, b"x"))
        assert status == 413
        assert "Nothing was saved" in page
    assert rows(engine, "messages") == 0
    assert drop(browser, an_original().ljust(65_536, b"x"))[0] == 200


def test_thirty_megabytes_are_refused_with_a_sentence(ann: FlaskClient, engine: Engine) -> None:
    body = b"--edge\r\nContent-Disposition: form-data; name=message; filename=large.eml\r\n\r\n"
    body = body.ljust(30 * 1024 * 1024, b"x") + b"\r\n--edge--\r\n"
    form = "multipart/form-data; boundary=edge"
    answer = ann.post("/add/file", input_stream=BytesIO(body), content_type=form, content_length=len(body))
    assert answer.status_code == 413
    assert "up to 25 MB" in answer.text
    assert rows(engine, "messages") == 0


def test_a_reminder_of_something_elsewhere_needs_a_subject_and_a_time(ann: FlaskClient, engine: Engine) -> None:
    at = {"at": "2031-05-01T08:00:00+00:00", "note": "n"}
    nameless = ann.post("/add", data={**at, "subject": " \x00 ", "sender": "Bob"})
    assert nameless.status_code == 422
    assert 'value="Bob"' in nameless.text
    timeless = ann.post("/add", data={"subject": "Call", "phrase": "whenever", "act": "snooze"})
    assert timeless.status_code == 422
    assert 'value="Call"' in timeless.text
    assert rows(engine, "email_snoozes") == 0
    assert ann.post("/add", data={**at, "subject": "Call\r\nBcc: x", "sender": "Bob"}).status_code == 303
    with engine.connect() as connection:
        row = connection.execute(text("SELECT * FROM email_snoozes")).one()
    assert (row.subject, row.sender_email, row.note) == ("Call Bcc: x", "Bob", "n")
    assert row.message_id.startswith("<")


def test_a_form_posted_twice_adds_one_reminder_and_another_subject_adds_another(
    ann: FlaskClient, engine: Engine
) -> None:
    found = re.search(r'name="page_id" value="([^"]+)"', ann.get("/add").text)
    assert found
    form = {"at": "2031-05-01T08:00:00+00:00", "page_id": found[1]}
    for subject in ("Call", "Call", "Write"):
        assert ann.post("/add", data={**form, "subject": subject}).status_code == 303
    assert rows(engine, "email_snoozes") == 2
    refused = ann.post("/add", data={**form, "subject": ""})
    assert found[1] in refused.text
    for _ in range(2):
        assert ann.post("/add", data={**form, "subject": "Call", "page_id": "none"}).status_code == 303
    assert rows(engine, "email_snoozes") == 4


def test_the_form_shows_how_large_a_message_may_be(ann: FlaskClient, app: Flask) -> None:
    assert "up to 25 MB" in ann.get("/add").text
