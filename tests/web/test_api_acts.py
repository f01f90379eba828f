"""What the page of a snooze does, a program does: back now, done, skip, pause, resume, an end, and Undo."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from tests.factories import HOUR, People, Person, a_snooze, asked_for, now, the_events, the_row
from tests.web.reminders import a_sent_reminder


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


def act(client: FlaskClient, person: Person, id: int, name: str, **body: Any) -> TestResponse:
    given: dict[str, Any] = {"json": body} if body else {}
    return client.post(f"/api/v1/snoozes/{id}/{name}", headers=person.bearer, **given)


def test_paused_resumed_and_both_undone(client: FlaskClient, ann: Person, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    paused = act(client, ann, id, "pause").get_json()
    assert paused["state"] == "paused"
    assert act(client, ann, id, "pause").get_json()["code"] == "paused"
    resumed = act(client, ann, id, "resume").get_json()
    assert resumed["state"] == "asleep"
    assert act(client, ann, id, "undo", event=resumed["event"]).get_json()["state"] == "paused"
    again = act(client, ann, id, "undo", event=paused["event"])
    assert (again.status_code, again.get_json()["state"]) == (200, "asleep")
    assert the_events(engine, id) == ["paused", "resumed", "undone", "undone"]


def test_what_repeats_is_skipped_and_ended(client: FlaskClient, ann: Person, engine: Engine) -> None:
    id = asked_for(engine, "every day 9am")
    first = client.get(f"/api/v1/snoozes/{id}", headers=ann.bearer).get_json()["scheduled_for"]
    skipped = act(client, ann, id, "skip", scheduled_for=first).get_json()
    assert skipped["scheduled_for"] > first
    late = act(client, ann, id, "skip", scheduled_for=first)
    assert (late.status_code, late.get_json()["code"]) == (409, "changed")
    assert act(client, ann, id, "undo").get_json()["scheduled_for"] == first
    ended = act(client, ann, id, "end", times=2).get_json()
    assert ended["recurrence"]["times"] == 2
    assert act(client, ann, id, "end", times=2, until="2030-01-01").status_code == 422
    assert act(client, ann, a_snooze(engine, remind_at=now() + HOUR), "skip").get_json()["code"] == "single"


def test_one_time_of_what_repeats_is_moved_and_the_others_stay(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    """A PATCH could only end the repetition."""
    id = asked_for(engine, "every day 9am")
    path = f"/api/v1/snoozes/{id}"
    was = client.get(path, headers=ann.bearer).get_json()
    at = was["scheduled_for"].replace("T09:00", "T11:30")
    moved = client.patch(path, json={"remind_at": at, "occurrence": "once"}, headers=ann.bearer).get_json()
    assert (moved["scheduled_for"], moved.get("flags")) == (at, None)
    skipped = act(client, ann, id, "skip").get_json()
    assert "T09:00" in skipped["scheduled_for"]
    act(client, ann, id, "undo")
    undone = act(client, ann, id, "undo", event=moved["event"]).get_json()
    assert (undone["scheduled_for"], undone["recurrence"]) == (was["scheduled_for"], was["recurrence"])
    every = client.patch(path, json={"remind_at": at, "occurrence": "every"}, headers=ann.bearer).get_json()
    assert (every["scheduled_for"], every["recurrence"]["at"]) == (at, "11:30:00")
    nothing = client.patch(path, json={"occurrence": "once"}, headers=ann.bearer)
    assert (nothing.status_code, nothing.get_json()["code"]) == (422, "invalid_fields")


def test_what_came_back_is_done_once_and_what_did_not_come_cannot_be(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    asleep = act(client, ann, a_snooze(engine, remind_at=now() + HOUR), "done")
    assert (asleep.status_code, asleep.get_json()["code"]) == (409, "not_back")
    id = a_sent_reminder(engine)
    done = act(client, ann, id, "done")
    assert done.status_code == 200
    assert "may_arrive" not in done.get_json()
    assert act(client, ann, id, "done").get_json()["code"] == "done"
    assert act(client, ann, id, "undo", event=done.get_json()["event"]).status_code == 200
    assert act(client, ann, id, "done").status_code == 200


@pytest.mark.parametrize("name", ["wake", "done", "skip", "pause", "resume", "end", "undo"])
def test_each_act_takes_its_fields_only_and_finds_its_owners_snoozes_only(
    client: FlaskClient, ann: Person, people: People, engine: Engine, name: str
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    assert act(client, ann, id, name, nonsense=1).status_code == 422
    assert act(client, people.ann(email="eve@snoozer.example"), id, name).status_code == 404
    assert the_events(engine, id) == []
    assert the_row(engine, id).outcome is None
