"""Requests that no form of this site sends: refused, without leaking anything or filling the log."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from time import monotonic

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, text

from snoozer.settings import Settings
from snoozer.web import context, create_app
from snoozer.web.people.sign_in.routes import RESPONSE_SECONDS
from snoozer.web.request_spans import trace_requests
from tests.conftest import HANG_SECONDS
from tests.factories import ANN, People, a_snooze, now
from tests.web.live_site import CHECKOUT


@pytest.mark.parametrize("reason", ["\x00", "a\x00b", "' OR 1=1", "f" * 33])
def test_a_reason_that_no_case_can_have_never_reaches_the_database(
    client: FlaskClient, people: People, reason: str
) -> None:
    client.set_cookie("snoozer_session", people.operator().session)
    form = {"act": "dismiss", "all": "1", "why": "because", "as_of": now().isoformat(), "reason": reason}
    assert client.get("/admin/cases", query_string={"reason": reason}).status_code == 400
    assert client.post("/admin/operations/preview", data=form).status_code == 400
    assert client.post("/admin/operations", data=form).status_code == 400


@pytest.mark.parametrize("before", ["0", "-1", "9" * 19, "9" * 400])
def test_an_impossible_page_of_the_sink_is_not_found(ann: FlaskClient, before: str) -> None:
    assert ann.get("/sink", query_string={"before": before}).status_code == 404


def test_choosing_a_theme_on_a_refused_form_leads_to_a_page(ann: FlaskClient, engine: Engine) -> None:
    snooze = f"/snoozes/{a_snooze(engine)}"
    for path, page in (("/add/file", "/add"), (f"{snooze}/time", snooze), ("/settings", "/settings")):
        answer = ann.post(path, data={"phrase": "blargh", "zone": "Mars"})
        assert answer.status_code == 422
        assert f'name="here" value="{page}"' in answer.text
        assert ann.get(page).status_code == 200


def test_a_body_in_chunks_that_is_too_large_is_called_that(client: FlaskClient, people: People) -> None:
    body = b'{"subject": "x", "when": "tomorrow", "note": "' + b"y" * 100_000 + b'"}'
    answer = client.post(
        "/api/v1/snoozes",
        input_stream=BytesIO(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {people.ann().bearer}"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert (answer.status_code, answer.get_json()["code"]) == (413, "too_large")


def test_response_times_do_not_show_who_has_an_account(client: FlaskClient, people: People) -> None:
    people.ann()
    for email in (ANN, "unknown@nowhere.example"):
        before = monotonic()
        client.post("/sign-in", data={"email": email})
        assert monotonic() - before >= RESPONSE_SECONDS


@pytest.mark.parametrize("disposition", ["form-data", 'form-data; filename="a.eml"', "form-data; name", ""])
@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/abc", "/add/file", "/admin/operations", "/settings"])
def test_a_part_without_a_name_is_a_bad_request(
    engine: Engine,
    settings: Settings,
    people: People,
    caplog: pytest.LogCaptureFixture,
    path: str,
    disposition: str,
) -> None:
    body = f"--b\r\nContent-Disposition: {disposition}\r\n\r\nabc\r\n--b--\r\n"
    browser = create_app(engine=engine, settings=settings).test_client()
    browser.set_cookie("snoozer_session", people.operator().session)
    answer = browser.post(path, data=body.encode(), content_type="multipart/form-data; boundary=b")
    assert answer.status_code == 400
    assert "Traceback" not in caplog.text


def test_a_row_that_the_database_refuses_is_not_logged(
    app: Flask, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    id = a_snooze(engine, message_id="<canary@example.org>")

    def break_it() -> str:
        with context.transaction() as connection:
            insert_again(connection, id)
        return "unreachable"

    app.add_url_rule("/break", view_func=break_it)
    assert app.test_client().get("/break").status_code == 500
    assert "UniqueViolation, SQLSTATE 23505" in caplog.text
    assert "insert_again" in caplog.text
    assert ANN not in caplog.text
    assert "canary" not in caplog.text


def insert_again(connection: Connection, id: int) -> None:
    again = "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
    again += "SELECT user_email, message_id, remind_at FROM email_snoozes WHERE id = :id"
    connection.execute(text(again), {"id": id})


def test_a_post_that_is_refused_at_once_has_its_span(
    engine: Engine, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(engine=engine, settings=settings)
    trace_requests(app)
    assert app.test_client().post("/sign-in", data={"email": ANN}).status_code == 400
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"SECRET_KEY": ""}, "snoozer: SECRET_KEY is not set"),
        ({"SECRET_KEY": "changeme"}, "snoozer: SECRET_KEY holds a sample value"),
        ({"SMTP_URL": "http://mail.example.org"}, "snoozer: SMTP_URL must begin with"),
        ({"SMTP_URL": "smtps://mail.example.org"}, "snoozer: BASE_URL is not set"),
        ({"SMTP_URL": "smtp://mail.example.org"}, "snoozer: SMTP_URL sends mail without TLS"),
        ({"BASE_URL": "http://snooze.example.org"}, "snoozer: BASE_URL begins with http://"),
    ],
)
def test_wrong_settings_end_the_server_instead_of_starting_it_for_ever(
    wrong: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    right = {
        "DATABASE_URL": "postgresql://user@127.0.0.1:1/none",
        "SECRET_KEY": "a-test-key-of-enough-length",
        "SMTP_URL": "smtp://127.0.0.1:1",
        "MAIL_FROM": "snoozer@snoozer.example",
    }
    ended = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", "wsgi:app"],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"], "SNOOZER_HOME": str(tmp_path), **right, **wrong},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.count("snoozer: ") == 1
    assert sentence in ended.stderr
