"""Pages say of each reminder what its one mail was, and none is called late or lost because of it."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from tests.db.days import turn
from tests.db.digests import accept, change, deferred, gathered, silent, wake
from tests.factories import People
from tests.web.cases import visible_text


@pytest.fixture
def ann(app: Flask, people: People) -> FlaskClient:
    """Ann's browser; her zone is that of `deferred`."""
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann(zone="UTC").session)
    return client


def words(browser: FlaskClient, path: str) -> str:
    return " ".join(visible_text(browser.get(path).text).split())


def test_each_says_that_it_came_in_one_mail(ann: FlaskClient, engine: Engine) -> None:
    ids = deferred(engine, 4)
    accept(engine, [gathered(engine)])
    wake(engine)
    assert turn(engine) == []
    for id in ids:
        page = words(ann, f"/snoozes/{id}")
        assert "The reminder went out at the end of your quiet hours. It is one of 4 reminders in one mail." in page
        assert "at the end of your quiet hours. It is one of 4 reminders in one mail." in page.partition("Details")[2]
    assert "Came back" in words(ann, f"/snoozes/{ids[2]}")


def test_what_waits_for_its_mail_is_due_and_not_on_its_way_back(ann: FlaskClient, engine: Engine) -> None:
    ids = deferred(engine, 4)
    # Looked at and given back for a moment, and then a member.
    assert turn(engine) == []
    for path in ("/", f"/snoozes/{ids[1]}"):
        page = words(ann, path)
        assert not re.search(r"\bLate\b", page)
        assert "on its way back" not in page
    assert "It is one of 4 reminders in one mail." in words(ann, f"/snoozes/{ids[1]}")


def test_while_the_answer_for_that_mail_is_missing_each_says_so(ann: FlaskClient, engine: Engine) -> None:
    ids = deferred(engine, 4)
    silent(engine, gathered(engine))
    change(engine, "UPDATE email_snoozes SET deferred_until = now() - INTERVAL '5 minutes'")
    for table in ("email_snoozes", "reminder_sends", "digests", "digest_members"):
        change(engine, f"UPDATE {table} SET scheduled_for = scheduled_for - INTERVAL '6 minutes'")  # noqa: S608
    page = words(ann, f"/snoozes/{ids[1]}")
    assert "It is one of 4 reminders in one mail, which the mail server has not confirmed yet." in page
    assert "Perhaps. The mail server was given all of it" in page


def test_operators_learn_which_mail_it_was(operator: FlaskClient, engine: Engine) -> None:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    path = f"/admin/cases/{ids[1]}"
    assert f"It is listed in the digest of snooze {ids[0]}" in words(operator, path)
    accept(engine, [delivery])
    wake(engine)
    assert turn(engine) == []
    assert f"It was listed in the digest of snooze {ids[0]}, which the mail server took" in words(operator, path)
