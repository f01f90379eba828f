"""Buttons on notifications: one act each, on one occurrence, by POST, whether or not anybody is signed in."""

from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mail import links
from snoozer.mail.links import Link
from snoozer.settings import Settings
from tests.db.pushes import comes_back
from tests.factories import HOUR, People, a_snooze, now, the_events, the_row
from tests.web.reminders import a_sent_reminder


@pytest.fixture(autouse=True)
def account(people: People) -> None:
    people.ann()


def token(engine: Engine, settings: Settings, id: int, *, action: links.Action, phrase: str | None = None) -> str:
    row = the_row(engine, id)
    promise = row.scheduled_for or row.remind_at
    return links.sign(Link(snooze_id=id, scheduled_for=promise, action=action, phrase=phrase), keys=settings.keys)


def press(client: FlaskClient, token: str) -> tuple[int, str, str | None]:
    answer = client.post("/push/act", data={"token": token})
    answered = answer.get_json()
    return answer.status_code, answered["text"], answered.get("open")


def test_done_is_done_once_and_can_be_undone_where_it_leads(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = comes_back(engine, zone="Europe/Berlin")
    done = token(engine, settings, id, action="done")
    status, text, there = press(client, done)
    assert (status, text) == (200, "Done.")
    assert there is not None
    assert "Undo" in client.get(there).text
    assert press(client, done)[1] == "It was done already."
    assert the_events(engine, id) == ["done"]
    client.post(f"{there}/undo")
    assert the_events(engine, id) == ["done", "undone"]


@pytest.mark.parametrize(("phrase", "least", "most"), [("in 1 hour", 59, 61), ("tomorrow", 60, 33 * 60)])
def test_snoozed_again_until_what_the_button_says(
    phrase: str, least: int, most: int, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine)
    again = token(engine, settings, id, action="again", phrase=phrase)
    status, text, _ = press(client, again)
    assert status == 200
    assert text.startswith("Asleep until")
    live = the_row(engine, id + 1)
    assert timedelta(minutes=least) < live.remind_at - now() < timedelta(minutes=most)
    assert press(client, again)[1] == "It comes back by itself, and was left so."


def test_a_get_acts_on_nothing(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine)
    done = token(engine, settings, id, action="done")
    assert client.get(f"/push/act?token={done}").status_code == 405
    assert the_events(engine, id) == []


@pytest.mark.parametrize("spoilt", ["", "x", "x" * 5_000, "Zm9v"])
def test_what_is_no_token_acts_on_nothing(spoilt: str, client: FlaskClient) -> None:
    status, text, _ = press(client, spoilt)
    assert status == 404
    assert "not from here" in text


@pytest.mark.parametrize(("action", "phrase"), [("see", None), ("again", None), ("again", "in 10 years")])
def test_a_token_of_another_purpose_acts_on_nothing(
    action: links.Action, phrase: str | None, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine)
    assert press(client, token(engine, settings, id, action=action, phrase=phrase))[0] == 404
    assert the_events(engine, id) == []


def test_a_notification_of_a_promise_that_never_came_acts_on_nothing(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    assert press(client, token(engine, settings, id, action="done"))[0] == 410


def test_a_notification_of_last_month_explains_itself(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine, promised=now() - timedelta(days=31))
    status, text, _ = press(client, token(engine, settings, id, action="done"))
    assert status == 200
    assert "30 days" in text
    assert the_events(engine, id) == []


def test_a_click_opens_the_message_where_it_is(ann: FlaskClient, engine: Engine) -> None:
    id = comes_back(engine)
    assert ann.get(f"/push/open/{id}").headers["Location"] == "/mailbox/1"
    elsewhere = a_snooze(engine)
    assert ann.get(f"/push/open/{elsewhere}").headers["Location"] == f"/snoozes/{elsewhere}"


def test_a_click_on_a_device_that_is_signed_out_asks_to_sign_in_and_leads_there(
    client: FlaskClient, engine: Engine
) -> None:
    id = comes_back(engine)
    assert client.get(f"/push/open/{id}").headers["Location"] == f"/sign-in?next=/push/open/{id}"
