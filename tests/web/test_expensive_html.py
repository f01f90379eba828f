"""HTML of strangers costs CPU: it is bounded in length and in how much of it is made safe at once, and made once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Semaphore

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mail import html_sanitizer
from snoozer.web.mailboxes.mail import safe_html, untrusted_content
from snoozer.web.mailboxes.mail.safe_html import SafeHtml
from tests.conftest import HANG_SECONDS
from tests.factories import ANN, People, a_kept_message

BOB, CAROL = "bob@snoozer.example", "carol@snoozer.example"


def html_mail(page: str) -> bytes:
    return b"From: x@mail.example\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page.encode()


class Sanitizer:
    """The real one, which can be held up; it counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.began = Semaphore(0)
        self.may_go_on = Event()
        self.may_go_on.set()

    def __call__(self, html: str, *, pictures: dict[str, str]) -> str:
        self.calls += 1
        self.began.release()
        assert self.may_go_on.wait(HANG_SECONDS)
        return html_sanitizer.sanitize(html, pictures=pictures)

    @contextmanager
    def held_up(self) -> Iterator[None]:
        self.may_go_on.clear()
        try:
            yield
        finally:
            self.may_go_on.set()


@pytest.fixture
def sanitizer(monkeypatch: pytest.MonkeyPatch) -> Sanitizer:
    sanitizer = Sanitizer()
    monkeypatch.setattr(safe_html, "sanitize", sanitizer)
    monkeypatch.setattr(untrusted_content, "SAFE_HTML", SafeHtml())
    return sanitizer


def test_two_are_made_safe_at_once_and_one_of_a_person(
    app: Flask, engine: Engine, people: People, sanitizer: Sanitizer
) -> None:
    browsers, paths = {}, {}
    for email in (ANN, BOB, CAROL):
        browsers[email] = app.test_client()
        browsers[email].set_cookie("snoozer_session", people.ann(email).session)
        for number in range(2):
            id = a_kept_message(engine, user_email=email, original=html_mail(f"<p>{email} {number}"))
            paths[email, number] = f"/mailbox/{id}/html"
    with ThreadPoolExecutor(2) as pool, sanitizer.held_up():
        running = [pool.submit(browsers[email].get, paths[email, 0]) for email in (ANN, BOB)]
        for _ in running:
            assert sanitizer.began.acquire(timeout=HANG_SECONDS)
        for email, number in ((CAROL, 0), (ANN, 1)):
            other = app.test_client()
            other.set_cookie("snoozer_session", people.ann(email).session)
            refused = other.get(paths[email, number])
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
            assert "in a few seconds" in refused.text
            # Only HTML is.
            assert other.get(paths[email, number].removesuffix("/html")).status_code == 200
        sanitizer.may_go_on.set()
        assert [each.result().status_code for each in running] == [200, 200]
    assert browsers[CAROL].get(paths[CAROL, 0]).status_code == 200
    assert browsers[ANN].get(paths[ANN, 1]).status_code == 200


def test_an_open_message_is_made_safe_once_and_each_version_by_itself(
    ann: FlaskClient, engine: Engine, sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/mailbox/{a_kept_message(engine, original=html_mail(f'<p>page {n}'))}/html" for n in range(3)]
    for number, path in [*enumerate(paths), *enumerate(paths)]:
        assert f"page {number}" in ann.get(path).text
    assert sanitizer.calls == 3
    monkeypatch.setattr(safe_html, "MAX_KEPT_CHARACTERS", 0)
    assert "page 0" in ann.get(f"/mailbox/{a_kept_message(engine, original=html_mail('<p>page 0!'))}/html").text
    ann.get(paths[0])
    assert sanitizer.calls == 5


def test_html_that_is_too_long_is_shown_as_text(ann: FlaskClient, engine: Engine, sanitizer: Sanitizer) -> None:
    fits, too_long = ("<b>hello</b>" + "x" * (html_sanitizer.MAX_HTML - length) for length in (12, 11))
    kept = [a_kept_message(engine, original=html_mail(page)) for page in (fits, too_long)]
    assert [ann.get(f"/mailbox/{id}/html").status_code for id in kept] == [200, 404]
    shown = [ann.get(f"/mailbox/{id}?view=html").text for id in kept]
    assert ["<iframe" in page for page in shown] == [True, False]
    assert "hello" in shown[1]
    assert sanitizer.calls == 1
