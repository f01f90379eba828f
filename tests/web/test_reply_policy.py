"""What a reply does to a snooze: chosen by form, phrase and API, kept on edits, and shown on its page."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mailboxes import inbox
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, an_original, now, the_row
from tests.web.page_forms import shown_reading

SNOOZES = "/api/v1/snoozes"
ASKED = "<question@mail.example>"


def submit(browser: FlaskClient, path: str, phrase: str, **fields: str) -> str:
    """Reads the phrase, then snoozes; returns the page that follows."""
    posted = {"phrase": phrase} | fields
    seen = shown_reading(browser.post(path, data=posted | {"act": "read"}))
    answer = browser.post(path, data=posted | seen | {"act": "snooze"}, follow_redirects=True)
    assert answer.status_code == 200
    return answer.text


def policy_of(engine: Engine, id: int = 1) -> tuple[str | None, str | None]:
    row = the_row(engine, id)
    return row.reply_policy, row.reply_scope


@pytest.mark.parametrize(
    ("phrase", "fields", "saved", "flash"),
    [
        ("tomorrow 8am", {}, (None, None), "08:00."),
        ("tomorrow 8am", {"reply_policy": "keep"}, ("keep", "message"), "08:00."),
        ("3d if no reply", {}, ("cancel_on_reply", None), ", unless a reply comes."),
        ("3d if no reply", {"reply_policy": "keep"}, ("cancel_on_reply", "message"), ", unless a reply comes."),
        ("3d if no reply", {"reply_policy": "until_reply"}, ("until_reply", "message"), ", or until a reply comes."),
        ("until they reply, or in 3 days", {}, ("until_reply", None), ", or until a reply comes."),
        (
            "in 3 days",
            {"reply_policy": "cancel_on_reply", "reply_scope": "thread"},
            ("cancel_on_reply", "thread"),
            ", unless a reply comes.",
        ),
        ("in 3 days", {"reply_policy": "sometimes"}, (None, None), "."),
    ],
)
def test_the_form_and_the_phrase_say_what_a_reply_does(
    ann: FlaskClient,
    engine: Engine,
    phrase: str,
    fields: dict[str, str],
    saved: tuple[str | None, str | None],
    flash: str,
) -> None:
    id = a_kept_message(engine)
    page = submit(ann, f"/mailbox/{id}/snooze", phrase, **fields)
    assert policy_of(engine) == saved
    assert flash in page


def test_a_phrase_that_only_waits_for_a_reply_is_refused_with_phrases_that_work(
    ann: FlaskClient, engine: Engine
) -> None:
    id = a_kept_message(engine)
    page = ann.post(f"/mailbox/{id}/snooze", data={"phrase": "until they reply", "act": "read"})
    assert page.status_code == 422
    assert "a reply that may never come. When should it come back without one?" in page.text
    assert 'value="until they reply, or in 3 days"' in page.text


def test_the_form_opens_with_what_was_chosen_and_a_new_time_without_it_keeps_that(
    ann: FlaskClient, engine: Engine
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR, reply_policy="until_reply", reply_scope="thread")
    page = ann.get(f"/snoozes/{id}").text
    assert '<option value="until_reply" selected>' in page
    assert '<option value="thread" selected>' in page
    assert "It comes back at once. Replies to other messages of its thread count, too." in page
    assert 'data-reply="until_reply thread"' in ann.get("/").text
    submit(ann, f"/snoozes/{id}/time", "in 5 days")
    ann.post(f"/snoozes/{id}/note", data={"note": "Call"})
    assert policy_of(engine, id) == ("until_reply", "thread")
    submit(ann, f"/snoozes/{id}/time", "in 5 days", reply_policy="keep")
    assert policy_of(engine, id) == ("keep", "message")


def test_the_page_says_that_a_reply_ended_it_and_not_from_whom(ann: FlaskClient, engine: Engine) -> None:
    kept = a_kept_message(engine, message_id=ASKED)
    submit(ann, f"/mailbox/{kept}/snooze", "3d if no reply")
    reply = an_original(subject="Re: Secret").replace(b"From:", f"In-Reply-To: {ASKED}\r\nFrom:".encode())
    with engine.begin() as connection:
        inbox.store(connection, user_email=ANN, original=reply)
    page = ann.get("/snoozes/1").text
    assert page.count("Cancelled: a reply came today ") == 2
    assert "You cancelled it" not in page
    assert "Secret" not in page
    undone = ann.post("/snoozes/1/undo", follow_redirects=True).text
    assert "Asleep again until" in undone
    ann.post("/snoozes/1/cancel")
    assert "You cancelled it" in ann.get("/snoozes/1").text


def test_the_api_takes_answers_and_keeps_the_policy(client: FlaskClient, people: People, engine: Engine) -> None:
    headers = people.ann().bearer

    def call(method: str, path: str, **body: Any) -> tuple[str, str]:
        answer = client.open(path, method=method, json=body or None, headers=headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.get_json()["reply_policy"], answer.get_json()["reply_scope"]

    one, new = f"{SNOOZES}/1", {"message_id": ASKED, "when": "tomorrow"}
    assert call("POST", SNOOZES, **new) == ("keep", "message")
    assert call("POST", SNOOZES, **new, reply_policy="until_reply") == ("until_reply", "message")
    assert call("PATCH", one, when="in 3 days") == ("until_reply", "message")
    assert call("PATCH", one, reply_scope="thread") == ("until_reply", "thread")
    assert call("PATCH", one, reply_policy="cancel_on_reply", note="n") == ("cancel_on_reply", "thread")
    assert call("PATCH", one, when="4d if no reply", reply_policy="keep") == ("keep", "thread")
    assert call("PATCH", one, when="3d if no reply") == ("cancel_on_reply", "thread")
    assert call("GET", one) == ("cancel_on_reply", "thread")


@pytest.mark.parametrize(
    "body",
    [
        {"reply_policy": "sometimes"},
        {"reply_scope": "all"},
        {"reply_policy": None},
        {"reply_policy": "keep", "zone": "UTC"},
    ],
)
def test_the_api_refuses_what_is_no_policy_or_no_change(
    client: FlaskClient, people: People, engine: Engine, body: dict[str, Any]
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    assert client.patch(f"{SNOOZES}/{id}", json=body, headers=people.ann().bearer).status_code == 422
    assert policy_of(engine, id) == (None, None)
