"""Deleting the account: by who just showed who they are, shown on every page and by mail, and taken back for a day."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.delivery.chores import erasing
from snoozer.mail.notices import compose_notice
from snoozer.translations import current_language
from snoozer.web.people.personal_data import deletion
from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, now

BOB = "bob@snoozer.example"


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The mails that would be sent."""
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(
        deletion,
        "send_in_background",
        lambda template, words, **values: sent.append({**words, **values, "language": current_language()}),
    )
    return sent


def pending(engine: Engine) -> list[bool]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT deliver FROM account_deletions ORDER BY account_id")).scalars())


def test_the_page_says_what_goes_and_what_stays(ann: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    a_kept_message(engine)
    a_mailbox(engine)
    page = ann.get("/settings/data/delete").text
    for words in ("still to come back (1)", "keeps for you: 1 message", "your mailbox", "those are theirs"):
        assert words in page
    assert "/settings/data/delete" in ann.get("/settings/data").text


@pytest.mark.parametrize("choice", ["deliver", "cancel"])
def test_every_page_says_so_until_it_is_taken_back(
    ann: FlaskClient, engine: Engine, notices: list[dict[str, object]], choice: str
) -> None:
    for _ in range(2):
        assert ann.post("/settings/data/delete", data={"pending": choice}).status_code == 303
    assert pending(engine) == [choice == "deliver"]
    assert [notice["to"] for notice in notices] == [ANN]
    for path in ("/", "/mailbox", "/settings", "/settings/data/delete"):
        page = ann.get(path).text
        assert "Your account is about to be deleted" in page
        assert ("delivered first" if choice == "deliver" else "cancelled.") in page
    assert "Your account stays." in ann.post("/settings/data/delete/keep", follow_redirects=True).text
    assert pending(engine) == []
    assert "about to be deleted" not in ann.get("/").text


def test_who_signed_in_long_ago_signs_in_again_first(
    ann: FlaskClient, engine: Engine, notices: list[dict[str, object]]
) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = now() - INTERVAL '11 minutes'"))
    assert "sign in again" in ann.get("/settings/data/delete").text
    answer = ann.post("/settings/data/delete", data={"pending": "cancel"}, follow_redirects=True)
    assert "Sign in again first. Nothing was changed." in answer.text
    assert (pending(engine), notices) == ([], [])
    answer = ann.post("/settings/data/delete/again")
    assert answer.headers["Location"] == "/sign-in?next=/settings/data/delete"
    assert ann.get("/settings/data/delete").status_code == 303


def test_the_last_admin_cannot_leave_and_one_of_two_can(
    app: Flask, people: People, engine: Engine, notices: list[dict[str, object]]
) -> None:
    browsers = [app.test_client() for _ in range(2)]
    for browser, email in zip(browsers, (ANN, BOB), strict=True):
        browser.set_cookie("snoozer_session", people.ann(email, role="admin").session)
    refused = "You are the last admin of this Snoozer."
    answers = [browser.post("/settings/data/delete", follow_redirects=True).text for browser in browsers]
    assert [refused in answer for answer in answers] == [False, True]
    assert ([notice["to"] for notice in notices], len(pending(engine))) == ([ANN], 1)
    browsers[0].post("/settings/data/delete/keep")
    assert refused not in browsers[1].post("/settings/data/delete", follow_redirects=True).text


def test_another_choice_is_refused(ann: FlaskClient, engine: Engine) -> None:
    assert ann.post("/settings/data/delete", data={"pending": "now"}).status_code == 400
    assert pending(engine) == []


def test_it_is_the_persons_own_account(
    ann: FlaskClient, app: Flask, people: People, engine: Engine, notices: list[dict[str, object]]
) -> None:
    ann.post("/settings/data/delete")
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann(BOB).session)
    assert "about to be deleted" not in bob.get("/").text
    bob.post("/settings/data/delete/keep")
    assert pending(engine) == [True]


def test_the_notice_says_when_and_how_to_keep_the_account() -> None:
    message = compose_notice(
        "deletion",
        {"due": "tomorrow, 09:00", "link": "http://snoozer.example/settings/data/delete"},
        to=ANN,
        mail_from="Snoozer <snoozer@snoozer.example>",
        instance="snoozer.example",
        now=now(),
        message_id="<x@snoozer.example>",
    ).decode()
    assert re.search(r"^Subject: Your Snoozer account is about to be deleted\r$", message, re.M)
    assert message.count("http://snoozer.example/settings/data/delete") == 2
    assert message.count("tomorrow, 09:00") == 2


def test_the_waiting_day_changes_nothing_else_and_any_browser_of_the_person_keeps_the_account(
    ann: FlaskClient, app: Flask, people: People, engine: Engine, notices: list[dict[str, object]]
) -> None:
    ann.post("/settings/data/delete", data={"pending": "cancel"})
    again = people.ann()
    assert app.test_client().get("/api/v1/snoozes", headers=again.bearer).status_code == 200
    other = app.test_client()
    other.set_cookie("snoozer_session", again.session)
    assert "about to be deleted" in other.get("/").text
    other.post("/settings/data/delete/keep")
    assert pending(engine) == []
    assert "about to be deleted" not in ann.get("/").text


def test_the_notice_is_in_the_language_of_its_person(
    ann: FlaskClient, engine: Engine, notices: list[dict[str, object]]
) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))
    ann.post("/settings/data/delete")
    assert [notice["language"] for notice in notices] == ["de"]
    assert "Dein Konto wird bald gelöscht" in ann.get("/").text


def test_an_operators_pages_stand_where_a_person_was_erased(
    app: Flask, people: People, ann: FlaskClient, engine: Engine
) -> None:
    """A case of one who is gone, and one on which an operator acted who is gone."""
    operator = app.test_client()
    operator.set_cookie("snoozer_session", people.operator().session)
    gone = a_snooze(engine, inactive=True, outcome="retired", finished_at=now())
    acted = a_snooze(engine, user_email=BOB, inactive=True, outcome="retired", finished_at=now())
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO snooze_events (snooze_id, kind, actor, route) VALUES (:id, 'dismissed', :who, 'web')"),
            {"id": acted, "who": "operator:987654"},
        )
        connection.execute(
            text("INSERT INTO account_deletions SELECT id, now(), now(), FALSE FROM accounts WHERE email = :ann"),
            {"ann": ANN},
        )
    erasing.erase_accounts(engine, settle=timedelta(0))
    erasing.erase_accounts(engine, settle=timedelta(0))
    assert operator.get(f"/admin/cases/{gone}").status_code == 404
    assert operator.get(f"/admin/cases/{acted}").status_code == 200
    assert operator.get("/admin").status_code == 200
    assert ann.get("/").status_code == 303
