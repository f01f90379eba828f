"""The page of a mailbox says what a folder or a star would mean, and changes nothing."""

import html
import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import a_mailbox

BACK = "A message that you move there goes back to the inbox, with a notice."


def meaning(ann: FlaskClient, id: int, name: str) -> str:
    answer = ann.get(f"/settings/mailboxes/{id}", query_string={"folder": name})
    assert answer.status_code == 200
    [found] = re.findall(r'<p [^>]*id="folder-means">(.*?)</p>', answer.text, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", found)).strip()


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("every monday 9am", "every monday 9am: Every Monday at 09:00: first "),
        ("Snooze/Tomorrow", "Snooze/Tomorrow: "),
        ("in 3 days", "in 3 days: "),
        ("3d if no reply", "3d if no reply: If no one replies by then: "),
    ],
)
def test_a_name_that_is_a_time_is_shown_with_it(ann: FlaskClient, engine: Engine, name: str, means: str) -> None:
    shown = meaning(ann, a_mailbox(engine), name)
    assert shown.startswith(means)
    assert BACK not in shown


@pytest.mark.parametrize(
    "name", ["when pigs fly", "Snooze", "<script>alert(1)</script>", "until they reply", "x" * 500]
)
def test_a_name_that_is_no_time_says_so(ann: FlaskClient, engine: Engine, name: str) -> None:
    assert meaning(ann, a_mailbox(engine), name).endswith(BACK)


def test_a_suggestion_is_a_link_that_shows_its_meaning(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine)
    page = ann.get(f"/settings/mailboxes/{id}", query_string={"folder": "until they reply"}).text
    [first, *_] = re.findall(r'<a class="button" href="([^"#]+)#dry-run">', page)
    assert "As soon as someone replies, or else: " in ann.get(html.unescape(first)).text


def test_nothing_is_asked_and_nothing_is_shown_without_a_name(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine)
    for query in ("", "?folder=", "?folder=%20%00"):
        assert "folder-means" not in ann.get(f"/settings/mailboxes/{id}{query}").text
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 0


def test_a_star_whose_time_is_not_a_time_any_more_means_tomorrow_and_says_so(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine, snooze_flag=r"\Flagged", snooze_flag_time="Next week")
    page = ann.get(f"/settings/mailboxes/{id}").text
    assert "Set now, it means Monday " in page
    with engine.begin() as connection:
        connection.execute(text("UPDATE mailboxes SET snooze_flag_time = 'When pigs fly'"))
    page = ann.get(f"/settings/mailboxes/{id}").text
    assert "When pigs fly is not a time now, so a star or keyword set now means tomorrow: " in page
