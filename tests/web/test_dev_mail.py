"""The mail sink shows one's own mail, whatever stands in it."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db import mailbox_store
from tests.factories import ANN, an_original


def shown(browser: FlaskClient, engine: Engine, original: bytes) -> str:
    """The page of a mail that came in."""
    with engine.begin() as connection:
        id = mailbox_store.save_captured(connection, mail_from="s@x", rcpt_to=ANN, original=original)
    assert browser.get("/sink").status_code == 200
    page = browser.get(f"/sink/{id}")
    assert page.status_code == 200
    return page.text


def test_the_sink_shows_only_ones_own_mail_and_links_only_to_this_site(ann: FlaskClient, engine: Engine) -> None:
    body = "http://snoozer.example/r/abc and https://evil.example/ and http://snoozer.example.evil/ <script>x</script>"
    with engine.begin() as connection:
        mine = mailbox_store.save_captured(
            connection, mail_from="s@x", rcpt_to=ANN, original=an_original(subject="Mine", body=body)
        )
        other = mailbox_store.save_captured(
            connection, mail_from="s@x", rcpt_to="bob@x", original=an_original(subject="Bobs")
        )
    assert "Mine" in ann.get("/sink").text
    assert "Bobs" not in ann.get("/sink").text
    assert ann.get(f"/sink/{other}").status_code == 404
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
def test_a_header_that_nobody_can_read_breaks_no_page(ann: FlaskClient, engine: Engine, field: bytes) -> None:
    assert "Come in" in shown(ann, engine, b"X-First: 1\r\n" + field + b"\r\n\r\nCome in\r\n")


def test_headers_are_shown_as_a_person_reads_them(ann: FlaskClient, engine: Engine) -> None:
    original = b"From: =?utf-8?q?B=C3=B6b?= <bob@x>\r\nTo: ann@x,\r\n olga@x\r\nSubject: a\r\nDate: today\r\n\r\nHi\r\n"
    page = shown(ann, engine, original)
    facts = re.findall(r'<dt>([^<]+)</dt><dd class="mono">([^<]*)</dd>', page)
    assert facts == [("From", "Böb &lt;bob@x&gt;"), ("To", "ann@x, olga@x"), ("Subject", "a"), ("Date", "today")]


def test_no_mail_of_the_corpus_breaks_a_page(ann: FlaskClient, engine: Engine, messages: dict[str, bytes]) -> None:
    for original in messages.values():
        shown(ann, engine, original)
