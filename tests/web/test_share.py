"""What another app shares fills in the Add page, and nothing else happens."""

import html
import re
from io import BytesIO

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.queue.limits import MAX_NOTE_LENGTH

TITLE, TEXT, URL = "Lease of the flat", "Page 3 has the dates", "https://flats.example/lease"


def share(browser: FlaskClient, **fields: object) -> str:
    answer = browser.post("/share", data=fields, content_type="multipart/form-data")
    assert answer.status_code in {200, 422}
    return answer.text


def filled_in(page: str) -> tuple[str, str]:
    subject = re.search(r'name="subject" value="([^"]*)"', page)
    note = re.search(r'<textarea[^>]*name="note"[^>]*>([^<]*)', page)
    assert subject, page
    assert note, page
    return html.unescape(subject[1]), html.unescape(note[1]).replace("\r", "").strip()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": TITLE, "text": TEXT, "url": URL}, (TITLE, f"{TEXT}\n{URL}")),
        ({"title": TITLE, "text": f"{TEXT} {URL}", "url": URL}, (TITLE, f"{TEXT} {URL}")),
        ({"text": f"{TEXT}\nand more"}, (TEXT, "and more")),
        ({"url": URL}, (URL, "")),
        ({"text": URL}, (URL, "")),
        ({"text": TEXT, "url": URL}, (TEXT, URL)),
        ({"title": " \n"}, ("", "")),
        ({"title": '"><script>', "text": "</textarea>"}, ('"><script>', "</textarea>")),
    ],
)
def test_what_is_shared_is_subject_and_note(
    ann: FlaskClient, fields: dict[str, str], expected: tuple[str, str]
) -> None:
    assert filled_in(share(ann, **fields)) == expected


def test_a_long_text_fits_into_a_note(ann: FlaskClient) -> None:
    _, note = filled_in(share(ann, title=TITLE, text="word " * MAX_NOTE_LENGTH))
    assert len(note) == MAX_NOTE_LENGTH
    assert note.endswith("…")


def test_nothing_is_saved_by_a_share(ann: FlaskClient, engine: Engine) -> None:
    share(ann, title=TITLE, text="tomorrow 9am", phrase="tomorrow 9am", act="snooze")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 0


def test_without_a_cookie_the_page_shares_once_more_by_itself_and_then_asks_to_sign_in(client: FlaskClient) -> None:
    """A browser that takes a share for a post of another site leaves the session's cookie out."""
    page = share(client, title=TITLE, text=TEXT)
    held = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page)}
    assert held == {"title": TITLE, "text": TEXT, "url": "", "held": "yes"}
    assert "/sign-in?next=/add" in share(client, **held)


def test_a_file_that_reaches_the_server_is_asked_for_again(ann: FlaskClient) -> None:
    page = share(ann, title=TITLE, message=(BytesIO(b"From: a@b.example\n\n"), "mail.eml"))
    assert "Choose the file here" in page


def test_a_share_that_is_too_large_is_refused_in_words(ann: FlaskClient) -> None:
    answer = ann.post("/share", data={"text": "x" * 100_000})
    assert answer.status_code == 413
    assert "To the Add page" in answer.text
