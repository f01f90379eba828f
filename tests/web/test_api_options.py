"""How a program says how a snooze repeats, and how workers treat it."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from snoozer.client import models
from tests.choices import VALUES
from tests.factories import HOUR, People, Person, a_snooze, now, the_row


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


def post(client: FlaskClient, person: Person, **body: Any) -> TestResponse:
    return client.post("/api/v1/snoozes", json={"subject": "Plants", **body}, headers=person.bearer)


def test_what_a_phrase_means_is_taken_as_a_recurrence_and_returned(client: FlaskClient, ann: Person) -> None:
    phrase = "every monday and thursday at 16:30"
    read = client.get("/api/v1/when", query_string={"phrase": phrase}, headers=ann.bearer).get_json()
    made = post(client, ann, recurrence=read["recurrence"]).get_json()
    typed = post(client, ann, when=phrase).get_json()
    assert made["recurrence"]["weekdays"] == [0, 3]
    assert {name: made[name] for name in ("recurrence", "scheduled_for", "repeats")} == {
        name: typed[name] for name in ("recurrence", "scheduled_for", "repeats")
    }
    assert post(client, ann, recurrence=made["recurrence"]).get_json()["recurrence"] == made["recurrence"]


def test_a_short_rule_begins_today(client: FlaskClient, ann: Person, engine: Engine) -> None:
    made = post(client, ann, recurrence={"unit": "day", "at": "09:00"}, zone="America/New_York").get_json()
    row = the_row(engine, made["id"])
    assert made["scheduled_for"][11:19] == "09:00:00"
    assert (row.zone, row.time_kind, row.recurrence["interval"]) == ("America/New_York", "wall", 1)


@pytest.mark.parametrize(
    "rule",
    [
        {"unit": "day"},
        {"unit": "hour", "at": "09:00"},
        {"unit": "week", "at": "09:00"},
        {"unit": "month", "at": "09:00"},
        {"unit": "week", "at": "09:00", "weekdays": [7]},
        {"unit": "day", "at": "9"},
        {"unit": "day", "at": "09:00", "interval": 0},
        {"unit": "day", "at": "09:00", "until": "2020-01-01"},
        {"unit": "day", "at": "09:00", "start": "1999-01-01", "times": 10_000},
        {"unit": "year", "at": "09:00", "day": 1, "interval": 1000, "month": 1, "start": "2027-01-01", "more": 1},
        {"unit": "day", "at": "09:00", "weekend_rule": "after", "rest": [0, 1, 2, 3, 4, 5, 6]},
        "every day",
        None,
    ],
)
def test_a_rule_that_never_comes_or_cannot_be_read_is_refused(client: FlaskClient, ann: Person, rule: Any) -> None:
    refused = post(client, ann, recurrence=rule)
    assert refused.status_code == 422
    assert "recurrence" in refused.get_json()["detail"]


def test_options_are_stored_and_shown_and_the_key_is_the_persons_own(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    options = {"priority": -200, "max_attempts": 2, "serialization_key": "nightly", "reference": "crm-7"}
    ids = []
    for person in (people.ann(), people.ann(email="eve@snoozer.example")):
        made = post(client, person, when="tomorrow", **options).get_json()
        assert {name: made[name] for name in options} == options
        ids.append(made["id"])
    rows = [the_row(engine, id) for id in ids]
    assert {row.max_attempts for row in rows} == {2}
    assert rows[0].serialization_key != rows[1].serialization_key


@pytest.mark.parametrize("name", VALUES)
def test_every_choice_is_taken_shown_changed_and_undone(client: FlaskClient, ann: Person, name: str) -> None:
    def call(method: str, path: str, **options: Any) -> Any:
        return client.open(f"/api/v1/snoozes{path}", method=method, headers=ann.bearer, **options).get_json()

    choice = {name: VALUES[name]}
    made = post(client, ann, when="tomorrow", **choice).get_json()
    many = {"act": "create", "snoozes": [{"subject": "Many", "when": "tomorrow", **choice}]}
    [one] = call("POST", "/bulk", json=many)["results"]
    plain = post(client, ann, when="tomorrow").get_json()
    path = f"/{plain['id']}"
    changed = call("PATCH", path, json=choice)
    for snooze in (made, one["snooze"], changed, call("GET", path)):
        assert snooze[name] == VALUES[name] != plain[name]
    assert changed["etag"] != plain["etag"]
    assert name in models.Snooze.model_fields
    assert call("POST", f"{path}/undo")[name] == plain[name]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("priority", value) for value in (100, 50, -50, -1001, -1100, True, "0", 1.5)),
        *(("max_attempts", value) for value in (0, 21, -1, True)),
        *(("serialization_key", value) for value in ("", "a\nb", "x" * 201, 5)),
    ],
)
def test_no_person_comes_before_others_or_tries_without_end(
    client: FlaskClient, ann: Person, field: str, value: object
) -> None:
    refused = post(client, ann, when="tomorrow", **{field: value})
    assert refused.status_code == 422
    assert [error["field"] for error in refused.get_json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("reply_policy", "reply_policy must be one of keep, cancel_on_reply, until_reply."),
        ("reply_scope", "reply_scope must be one of message, thread."),
    ],
)
def test_a_refusal_names_the_choices_of_the_field(client: FlaskClient, ann: Person, field: str, sentence: str) -> None:
    """It named the states of a snooze."""
    refused = post(client, ann, when="tomorrow", **{field: "sometimes"}).get_json()
    assert refused["errors"] == [{"field": field, "detail": sentence}]


def test_an_operators_program_may_come_first(client: FlaskClient, people: People) -> None:
    operator = people.operator()
    assert post(client, operator, when="tomorrow", priority=1000).get_json()["priority"] == 1000


def test_options_alone_change_nothing_about_the_promise(client: FlaskClient, ann: Person, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR, attempts=3, serialization_key="1:a")
    before = the_row(engine, id)
    path = f"/api/v1/snoozes/{id}"
    changed = client.patch(path, json={"priority": -100}, headers=ann.bearer).get_json()
    assert (changed["priority"], changed["serialization_key"]) == (-100, before.serialization_key.removeprefix("1:"))
    after = the_row(engine, id)
    assert (after.remind_at, after.attempts) == (before.remind_at, 3)
    assert client.patch(path, json={"serialization_key": None}, headers=ann.bearer).status_code == 200
    assert the_row(engine, id).serialization_key is None
