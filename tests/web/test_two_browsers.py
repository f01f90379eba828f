"""One person has the page of a snooze open in two browsers: the second save says what changed, and nothing is lost."""

import re
from html import unescape
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from tests.db.transitions import claim, release
from tests.factories import ANN, HOUR, People, a_kept_message, asked_for, now, the_row, wait_until_a_session_waits
from tests.web.page_forms import hidden_field, shown_reading

MESSAGE = "<m@mail.example>"
CHANGED = "It was changed meanwhile: "
TYPED = {
    "time": {"phrase": "in 10 days at 16:20", "act": "snooze"},
    "note": {"note": "Ring them"},
    "end": {"end": "7 times", "act": "end"},
}


@pytest.fixture
def other(app: Flask, people: People, ann: FlaskClient) -> FlaskClient:
    """Ann's other browser."""
    client = app.test_client()
    cookie = ann.get_cookie("snoozer_session")
    assert cookie is not None
    client.set_cookie("snoozer_session", cookie.value)
    return client


def weekly(engine: Engine, **columns: Any) -> int:
    return asked_for(engine, "every monday 9am", message_id=MESSAGE, **columns)


def page_of(browser: FlaskClient, id: int) -> dict[str, str]:
    """The version in the forms of the page."""
    return {"version": hidden_field(browser.get(f"/snoozes/{id}").text, "version")}


def post(browser: FlaskClient, id: int, name: str, **fields: str) -> TestResponse:
    return browser.post(f"/snoozes/{id}/{name}", data=fields)


def move(browser: FlaskClient, id: int, phrase: str, **fields: str) -> TestResponse:
    reading = post(browser, id, "time", phrase=phrase, act="read")
    return post(browser, id, "time", phrase=phrase, act="snooze", **(shown_reading(reading) | fields))


def refusal(answer: TestResponse) -> str:
    assert answer.status_code == 409
    found = re.search(r'<p class="error"[^>]* role="alert">.*?<span>(.*?)</span></p>', answer.text)
    assert found is not None
    return unescape(found.group(1))


def kept(answer: TestResponse, name: str) -> bool:
    typed = next(iter(TYPED[name].values()))
    return f'value="{typed}"' in answer.text or f">{typed}</textarea>" in answer.text


@pytest.mark.parametrize("name", TYPED)
def test_the_second_save_says_what_changed_keeps_what_was_typed_and_saves_when_repeated(
    ann: FlaskClient, other: FlaskClient, engine: Engine, name: str
) -> None:
    id = weekly(engine, note="Call them")
    shown = page_of(other, id)
    assert move(ann, id, "in 9 days at 15:10").status_code == 303
    before = the_row(engine, id)
    answer = post(other, id, name, **TYPED[name], **shown)
    assert re.match(rf"{CHANGED}its time is now [^;:]*15:10 \(it was [^;]*09:00\)\. What you typed", refusal(answer))
    assert kept(answer, name)
    assert the_row(engine, id) == before
    again = {"version": hidden_field(answer.text, "version")} | shown_reading(answer)
    assert post(other, id, name, **TYPED[name], **again).status_code == 303
    row = the_row(engine, id)
    assert {
        "time": row.remind_at != before.remind_at,
        "note": row.note == "Ring them",
        "end": (row.recurrence or {}).get("times") is not None,
    }[name]


def test_each_change_is_named(ann: FlaskClient, other: FlaskClient, engine: Engine) -> None:
    id = weekly(engine, note="Call them")
    shown = page_of(other, id)
    post(ann, id, "note", note="x" * 30 + " " + "y" * 100)
    post(ann, id, "end", end="5 times", act="end")
    post(ann, id, "pause")
    sentence = refusal(post(other, id, "note", note="Mine", **shown))
    changes = "it is paused; its note is now “" + "x" * 30 + " …”; it repeats now: every Monday at 09:00 5 times."
    assert sentence.startswith(CHANGED + changes)
    shown = page_of(other, id)
    post(ann, id, "note", note="")
    post(ann, id, "resume")
    sentence = refusal(post(other, id, "note", note="Mine", **shown))
    assert sentence.startswith(CHANGED + "it is active again; it has no note any more.")
    shown = page_of(other, id)
    move(ann, id, "in 3 days at 11:00", reply_policy="cancel_on_reply", scope="every")
    sentence = refusal(post(other, id, "note", note="Mine", **shown))
    assert sentence.count(";") == 2
    assert "; if a reply comes: it is cancelled with all that it repeats. What you typed" in sentence


def test_what_machines_do_is_no_change(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine, remind_at=now() - HOUR, note="Call them")
    shown = page_of(ann, id)
    [held] = claim(engine)
    assert page_of(ann, id) == shown
    assert post(ann, id, "note", note="Ring them", **shown).status_code == 303
    shown = page_of(ann, id)
    release(engine, held)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET deferred_until = now() + interval '1 hour', deferred_by = 'quiet'")
        )
    assert page_of(ann, id) == shown
    assert post(ann, id, "end", **TYPED["end"], **shown).status_code == 303


def test_a_program_s_change_counts_and_changes_the_etag(ann: FlaskClient, engine: Engine, people: People) -> None:
    id, bearer = weekly(engine), people.ann().bearer
    shown = page_of(ann, id)
    etag = ann.get(f"/api/v1/snoozes/{id}", headers=bearer).headers["ETag"]
    patched = ann.patch(f"/api/v1/snoozes/{id}", json={"note": "By a program"}, headers=bearer)
    assert patched.headers["ETag"] != etag
    assert "its note is now “By a program”" in refusal(post(ann, id, "end", **TYPED["end"], **shown))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 303),
        ({"version": ""}, 303),
        ({"version": "&&=%ff&{}"}, 303),
        ({"version": "promise"}, 409),
        ({"version": "promise=yesterday&note=%00"}, 409),
        ({"version": "promise=9999-12-31T23:59:59%2B00:00"}, 409),
    ],
)
def test_a_form_without_a_version_saves_and_one_that_was_edited_breaks_nothing(
    ann: FlaskClient, engine: Engine, fields: dict[str, str], status: int
) -> None:
    id = weekly(engine)
    answer = post(ann, id, "note", note="Mine", **fields)
    assert answer.status_code == status
    assert "(it was" not in answer.text


@pytest.mark.parametrize("name", ["note", "end"])
def test_what_was_typed_for_one_that_is_over_is_shown(
    ann: FlaskClient, other: FlaskClient, engine: Engine, name: str
) -> None:
    id = weekly(engine)
    shown = page_of(other, id)
    post(ann, id, "cancel")
    answer = post(other, id, name, **TYPED[name], **shown)
    assert refusal(answer).startswith(f"{CHANGED}it is over.")
    assert next(iter(TYPED[name].values())) in answer.text


def test_a_preset_comes_again_as_the_phrase_that_it_is(ann: FlaskClient, other: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    page = other.get(f"/snoozes/{id}").text
    found = re.search(r'name="preset" value="([^"]+)"', page)
    assert found is not None
    post(ann, id, "note", note="Mine")
    answer = post(other, id, "time", preset=unescape(found.group(1)), version=hidden_field(page, "version"))
    assert "its note is now “Mine”" in refusal(answer)
    assert "seen_at" in shown_reading(answer)
    phrase = unescape(found.group(1)).partition("|")[0]
    fields = shown_reading(answer) | {"version": hidden_field(answer.text, "version")}
    assert post(other, id, "time", phrase=phrase, act="snooze", **fields).status_code == 303


def test_two_saves_at_once_are_one(ann: FlaskClient, other: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    shown, answers = page_of(other, id), []
    with engine.begin() as connection:
        connection.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": id})
        second = Thread(target=lambda: answers.append(post(other, id, "note", note="Second", **shown)))
        second.start()
        wait_until_a_session_waits(engine)
        connection.execute(text("UPDATE email_snoozes SET note = 'First' WHERE id = :id"), {"id": id})
    second.join()
    assert "its note is now “First”" in refusal(answers[0])
    assert the_row(engine, id).note == "First"


def test_the_form_of_a_message_compares_with_its_live_snooze(
    ann: FlaskClient, other: FlaskClient, engine: Engine
) -> None:
    id, path = weekly(engine, note="Call them"), f"/mailbox/{a_kept_message(engine, message_id=MESSAGE)}/snooze"
    typed = {"phrase": "in 10 days at 16:20", "note": "Ring them"}
    opened = {"version": hidden_field(other.get(path).text, "version")}
    move(ann, id, "in 9 days at 15:10")
    before = the_row(engine, id)
    reading = other.post(path, data=typed | opened | {"act": "read"})
    assert hidden_field(reading.text, "version") == opened["version"]
    answer = other.post(path, data=typed | opened | {"act": "snooze"} | shown_reading(reading))
    assert "15:10 (it was" in refusal(answer)
    assert ">Ring them</textarea>" in answer.text
    assert the_row(engine, id) == before
    again = {"version": hidden_field(answer.text, "version"), "act": "snooze"} | shown_reading(answer)
    assert other.post(path, data=typed | again).status_code == 303
    assert the_row(engine, id).note == "Ring them"


def test_the_sentence_is_in_the_person_s_language(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine, note="Anrufen")
    shown = page_of(ann, id)
    move(ann, id, "in 9 days at 15:10")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE' WHERE email = :email"), {"email": ANN})
    sentence = refusal(post(ann, id, "note", note="Schreiben", **shown))
    assert re.match(r"Es wurde inzwischen geändert: die Zeit ist jetzt .* \(vorher .*\)\. Was du eingegeben", sentence)
