"""Sent mail of a trial shows a person's own mail in each of its views, whatever it contains."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db import mailbox_store
from tests.factories import ANN, an_original


def saved(engine: Engine, original: bytes, *, rcpt_to: str = ANN) -> int:
    with engine.begin() as connection:
        return mailbox_store.save_captured(connection, mail_from="s@x", rcpt_to=rcpt_to, original=original)


def shown(browser: FlaskClient, engine: Engine, original: bytes, *, view: str = "text") -> str:
    """The page of a mail that was kept."""
    id = saved(engine, original)
    assert browser.get("/sink").status_code == 200
    page = browser.get(f"/sink/{id}?view={view}")
    assert page.status_code == 200
    return page.text


def test_the_sink_shows_only_ones_own_mail_and_links_only_to_this_site(ann: FlaskClient, engine: Engine) -> None:
    body = "http://snoozer.example/r/abc and https://evil.example/ and http://snoozer.example.evil/ <script>x</script>"
    mine = saved(engine, an_original(subject="Mine", body=body))
    other = saved(engine, an_original(subject="Bobs"), rcpt_to="bob@x")
    assert "Mine" in ann.get("/sink").text
    assert "Bobs" not in ann.get("/sink").text
    for path in ("", "/html", "/original", "?view=source"):
        assert ann.get(f"/sink/{other}{path}").status_code == 404
    page = ann.get(f"/sink/{mine}").text
    assert '<a href="http://snoozer.example/r/abc">' in page
    assert 'href="https://evil' not in page
    assert 'href="http://snoozer.example.evil' not in page
    assert "<script>x" not in page


@pytest.mark.parametrize(
    "field",
    [
        b"To: a <b@c",
        b"From: a@[",
        b"Message-ID: <[x]@",
        b"Date: Fri, 99 Foo 99999 99:99:99 +9999",
        b"Subject: =?utf-8?b?////?= \xff\x00",
        b"To: " + b"<" * 5_000,
        b"In-Reply-To:",
        b"From",
    ],
)
def test_an_unreadable_header_breaks_no_page(ann: FlaskClient, engine: Engine, field: bytes) -> None:
    assert "Come in" in shown(ann, engine, b"X-First: 1\r\n" + field + b"\r\n\r\nCome in\r\n")


def test_headers_are_shown_decoded_and_unfolded(ann: FlaskClient, engine: Engine) -> None:
    original = b"From: =?utf-8?q?B=C3=B6b?= <bob@x>\r\nTo: ann@x,\r\n olga@x\r\nSubject: a\r\nDate: today\r\n\r\nHi\r\n"
    page = shown(ann, engine, original, view="source")
    facts = re.findall(r'<dt>([^<]+)</dt><dd class="mono">([^<]*)</dd>', page)
    assert facts == [("From", "Böb &lt;bob@x&gt;"), ("To", "ann@x, olga@x"), ("Subject", "a"), ("Date", "today")]


def test_no_mail_of_the_corpus_breaks_a_page(ann: FlaskClient, engine: Engine, messages: dict[str, bytes]) -> None:
    for original in messages.values():
        shown(ann, engine, original)
        shown(ann, engine, original, view="source")


REMINDER = b"""From: s@x\r\nTo: ann@x\r\nSubject: Back\r\nMIME-Version: 1.0\r
Content-Type: text/html; charset=utf-8\r\n\r\n<p onclick="x()">Ready, <a href="https://a.example/">go</a><script>y()</script>"""


def test_a_mail_with_html_is_shown_as_a_mail_program_does_and_runs_nothing(ann: FlaskClient, engine: Engine) -> None:
    id = saved(engine, REMINDER)
    page = ann.get(f"/sink/{id}")
    assert f'<iframe class="message-frame" src="/sink/{id}/html"' in page.text
    assert "frame-src 'self'" in page.headers["Content-Security-Policy"]
    frame = ann.get(f"/sink/{id}/html")
    assert "Ready" in frame.text
    assert "onclick" not in frame.text
    assert "y()" not in frame.text
    assert frame.headers["Content-Security-Policy"].startswith("sandbox")
    source = ann.get(f"/sink/{id}?view=source").text
    assert "Content-Type: text/html" in source
    assert "&lt;script&gt;y()" in source
    assert ann.get(f"/sink/{id}/original").data == REMINDER


def test_a_view_that_is_not_there_is_not_found(ann: FlaskClient, engine: Engine) -> None:
    id = saved(engine, an_original(body="only text"))
    assert "only text" in ann.get(f"/sink/{id}").text
    for path in ("?view=html", "?view=x", "/html"):
        assert ann.get(f"/sink/{id}{path}").status_code == 404
