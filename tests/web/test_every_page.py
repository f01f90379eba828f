"""What holds for every page: GET writes nothing, nothing is loaded from elsewhere, no POST without its token."""

import re
from collections.abc import Iterator
from io import BytesIO

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db import mailbox_store
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import create_app, from_environment
from snoozer.web.mailboxes.mail.untrusted_content import FRAME_POLICY
from tests.db.tables import checksum
from tests.factories import ANN, People, a_feed, a_kept_message, a_mailbox, a_snooze, an_original, now
from tests.web.reminders import a_link, a_sent_reminder


@pytest.fixture
def placeholders(engine: Engine, settings: Settings, people: People) -> dict[str, str]:
    """Adds a row for every kind of route; returns the value of each placeholder."""
    people.ann(role="operator")
    a_snooze(engine, remind_at=now())
    a_kept_message(engine)
    a_mailbox(engine)
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now())
    with engine.begin() as connection:
        mailbox_store.save_captured(connection, mail_from="x@y", rcpt_to=ANN, original=an_original())
    link = a_link(engine, settings, a_sent_reminder(engine))
    secret = a_feed(engine)
    return {
        "<row:id>": "1",
        "<row:key>": "1",
        "<token>": link.removeprefix("/r/"),
        "<act>": "tomorrow",
        "<path:filename>": "snoozer.css",
        **{"<row:mailbox_id>": "1", "<key>": "SU5CT1g.1.1", "<part>": "i0", "<secret>": secret},
        "<uuid:id>": "00000000-0000-4000-8000-000000000001",
    }


def paths(app: Flask, method: str, fill: dict[str, str]) -> Iterator[str]:
    for rule in app.url_map.iter_rules():
        if method in (rule.methods or set()):
            path = rule.rule
            for placeholder, value in fill.items():
                path = path.replace(placeholder, value)
            assert "<" not in path, f"{rule.rule}: add a value for its placeholder to `placeholders`"
            yield path


def test_no_get_writes_with_or_without_a_session(
    app: Flask, engine: Engine, people: People, placeholders: dict[str, str]
) -> None:
    signed_in = app.test_client()
    signed_in.set_cookie("snoozer_session", people.ann().session)
    before = checksum(engine)
    for browser in (app.test_client(), signed_in):
        for path in [
            *paths(app, "GET", placeholders),
            "/?after=x",
            "/when/preview?phrase=tomorrow",
            "/mailbox?folder=done",
        ]:
            for method in ("GET", "HEAD", "OPTIONS"):
                with browser.open(path, method=method) as answer:
                    # 503: the server of the mailbox is away.
                    is_away = answer.status_code == 503 and path.startswith("/mailboxes/")
                    assert answer.status_code < 500 or is_away, (method, path)
    assert checksum(engine) == before


def test_every_page_has_its_security_headers_and_nothing_inline(
    app: Flask, people: People, placeholders: dict[str, str]
) -> None:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    for path in [*paths(app, "GET", placeholders), "/nothing", "/r/forged", "/api/nothing"]:
        with browser.get(path) as answer:
            page, headers, kind = answer.get_data(as_text=True), answer.headers, answer.mimetype
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        if path.endswith("/html"):
            # The document of a frame: its style is its own, and it has no scripts.
            assert headers["Content-Security-Policy"] == FRAME_POLICY
            assert "<script" not in page
            continue
        assert "unsafe" not in headers["Content-Security-Policy"]
        if not path.startswith("/static"):
            assert headers["Cache-Control"] == ("private, no-cache" if path.endswith(".ics") else "no-store"), path
        if kind == "text/html":
            assert not re.search(r"<style|<script(?! src=\"/static/)|\son\w+=|style=|javascript:", page), path
            assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page), path


def test_no_two_pages_have_the_same_name(app: Flask, people: People, engine: Engine, settings: Settings) -> None:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.operator().session)
    reminders = [a_link(engine, settings, a_sent_reminder(engine, subject=subject)) for subject in ("One", "Two")]
    folders = ["/mailbox", "/mailbox?folder=asleep", "/mailbox?folder=done"]
    operators = ["/admin", "/admin/cases", f"/admin/cases?reason={'0' * 32}"]
    others = ["/", "/add", "/settings", "/sink", "/settings/mailboxes"]
    pages = [browser.get(path).text for path in [*folders, *operators, *others, *reminders]]
    names = [page.partition("<title>")[2].partition("</title>")[0] for page in pages]
    assert all(names)
    assert len(set(names)) == len(names), names


def test_no_post_is_accepted_without_its_csrf_token(
    engine: Engine, settings: Settings, people: People, placeholders: dict[str, str]
) -> None:
    app = create_app(engine=engine, settings=settings)
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    before = checksum(engine)
    for path in paths(app, "POST", placeholders):
        if path.startswith(("/r/", "/api/", "/share", "/push/act")):
            continue
        answer = browser.post(path, data={"at": "2031-05-01T08:00:00+00:00", "email": ANN})
        assert answer.status_code == 400, path
        assert "open for too long" in answer.text
    assert checksum(engine) == before


def test_cookies_are_bound_to_the_host_where_the_site_is_secure(engine: Engine, settings: Settings) -> None:
    secure = settings.model_copy(update={"base_url": "https://snoozer.example"})
    answer = (
        create_app(engine=engine, settings=secure).test_client().get("/sign-in", base_url="https://snoozer.example")
    )
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-snoozer_form=")
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"))


def test_what_is_not_there_not_allowed_or_not_understood_has_a_page(ann: FlaskClient) -> None:
    for answer, code in ((ann.get("/nothing"), 404), (ann.post("/"), 405), (ann.post("/settings/theme"), 400)):
        assert answer.status_code == code
        assert "<h1>" in answer.text
        assert "Snoozer" in answer.text
    assert "GET" in ann.post("/").headers["Allow"]


def test_error_pages_have_the_navigation_of_who_is_signed_in(
    ann: FlaskClient, engine: Engine, settings: Settings, people: People
) -> None:
    strict = create_app(engine=engine, settings=settings).test_client()
    strict.set_cookie("snoozer_session", people.ann().session)
    refused = [ann.get("/nothing"), ann.get("/mailbox/99"), ann.post("/"), ann.get("/admin"), strict.post("/add")]
    assert [answer.status_code for answer in refused] == [404, 404, 405, 403, 400]
    for answer in refused:
        assert '<a href="/mailbox">' in answer.text or 'href="/mailbox" aria-current' in answer.text, answer.status
        assert 'href="/admin"' not in answer.text


def test_error_pages_have_no_navigation_for_strangers_and_under_another_host(
    client: FlaskClient, ann: FlaskClient, settings: Settings
) -> None:
    client.set_cookie("snoozer_session", "forged")
    away = make_engine("postgresql+psycopg://user@127.0.0.1:1/none", name="tests")
    elsewhere = create_app(engine=away, settings=settings).test_client()
    elsewhere.set_cookie("snoozer_session", "any")
    wrong_host = ann.get("/nothing", headers={"Host": "evil.example"})
    missing = [client.get("/nothing"), elsewhere.get("/nothing")]
    assert [answer.status_code for answer in (*missing, wrong_host)] == [404, 404, 421]
    for answer in (*missing, wrong_host):
        assert "<nav" not in answer.text, answer.status
    away.dispose()


def test_a_database_that_is_away_has_an_error_page(settings: Settings) -> None:
    away = make_engine("postgresql+psycopg://user@127.0.0.1:1/none", name="tests")
    app = create_app(engine=away, settings=settings)
    browser = app.test_client()
    browser.set_cookie("snoozer_session", "any")
    for path in ("/", "/mailbox", "/sign-in/abc"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert "The database cannot be reached" in answer.text
        assert answer.headers["Retry-After"]
    assert browser.get("/sign-in", headers={"Cookie": ""}).status_code in {200, 503}
    away.dispose()


def test_a_form_that_cannot_be_saved_is_in_the_answer_without_files_and_passwords(settings: Settings) -> None:
    away = make_engine("postgresql+psycopg://user@127.0.0.1:1/none", name="tests")
    app = create_app(engine=away, settings=settings)
    app.config["WTF_CSRF_ENABLED"] = False
    browser = app.test_client()
    browser.set_cookie("snoozer_session", "any")
    typed = {"note": 'say "no"\nbefore <noon>', "act": "snooze"}
    answer = browser.post("/add?from=here", data=typed)
    assert (answer.status_code, 'action="/add?from=here"' in answer.text) == (503, True)
    assert 'value="say &#34;no&#34;\nbefore &lt;noon&gt;"' in answer.text
    for secret in ({"password": "a secret"}, {"message": (BytesIO(b"a secret"), "a.eml")}):
        answer = browser.post("/add", data=typed | secret)
        assert (answer.status_code, 'name="note"' in answer.text, "secret" in answer.text) == (503, False, False)
    away.dispose()


def test_a_missing_setting_is_one_sentence_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    for name in ("DATABASE_URL", "SECRET_KEY", "SMTP_URL", "MAIL_FROM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as left:
        from_environment()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("snoozer: No database")
    assert error.count("\n") == 1


def test_the_theme_is_remembered(client: FlaskClient) -> None:
    assert 'data-theme="auto"' in client.get("/sign-in").text
    assert client.post("/settings/theme", data={"theme": "dark", "here": "//evil.example"}).location == "/"
    assert 'data-theme="dark"' in client.get("/sign-in").text
