"""`/api/v1/when` returns the JSON of `snoozer when --json`."""

from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.factories import People, Person

NOW = "2026-03-05T10:00:00"


def when(client: FlaskClient, person: Person, **query: str) -> TestResponse:
    return client.get(f"/api/v1/when?{urlencode(query)}", headers=person.bearer)


def test_a_phrase_is_read_in_the_persons_zone(client: FlaskClient, people: People) -> None:
    answer = when(client, people.ann(), phrase="tomorrow 8am", now=NOW)
    assert answer.status_code == 200
    assert answer.get_json() == {
        "kind": "instant",
        "at": "2026-03-06T08:00:00+01:00",
        "flags": [],
        "alternative": None,
        "recurrence": None,
        "condition": None,
        "reading": "Friday 6 March, 08:00 (in 22 hours), Europe/Berlin.",
    }


def test_zone_locale_and_now_can_be_given(client: FlaskClient, people: People) -> None:
    ann = people.ann()
    there = when(client, ann, phrase="4/5", zone="america/new_york", locale="en-US", now="2026-03-05T15:00:00Z")
    assert there.get_json()["at"] == "2026-04-05T08:00:00-04:00"
    assert when(client, ann, phrase="4/5", now=NOW).get_json()["at"] == "2026-05-04T08:00:00+02:00"


@pytest.mark.parametrize("field", ["zone", "locale"])
def test_an_unknown_zone_or_locale_is_refused_as_the_command_does(
    client: FlaskClient, people: People, field: str
) -> None:
    answer = when(client, people.ann(), phrase="tomorrow", **{field: "nowhere"})
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert (problem["code"], problem["error"], problem["suggestions"]) == ("invalid_fields", f"unknown_{field}", [])
    assert problem["message"] == problem["detail"] == problem["errors"][0]["detail"]


def test_what_repeats_is_read_with_its_first_time(client: FlaskClient, people: People) -> None:
    answer = when(client, people.ann(), phrase="every monday 9am", now=NOW).get_json()
    assert (answer["kind"], answer["at"]) == ("recurring", "2026-03-09T09:00:00+01:00")


def test_a_refused_phrase_has_the_members_of_a_problem_and_of_the_command(client: FlaskClient, people: People) -> None:
    answer = when(client, people.ann(), phrase="tomorow", now=NOW)
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert problem["code"] == problem["error"] == "unrecognised"
    assert problem["detail"] == problem["message"]
    assert problem["suggestions"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "phrase"),
        ({"phrase": "tomorrow", "zone": "CEST"}, "zone"),
        ({"phrase": "tomorrow", "locale": "x"}, "locale"),
        ({"phrase": "tomorrow", "locale": "xx_YY"}, "locale"),
        ({"phrase": "tomorrow", "now": "noon"}, "now"),
        ({"phrase": "tomorrow", "lang": "de"}, "lang"),
    ],
)
def test_a_wrong_parameter_is_named(client: FlaskClient, people: People, query: dict[str, str], field: str) -> None:
    answer = when(client, people.ann(), **query)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.get_json()["errors"]] == [field]


@pytest.mark.parametrize("phrase", ["", " ", "\x00", "\u202e", "x" * 5000, "1e999 days", "in 99999999999 years"])
def test_hostile_phrases_are_refused(client: FlaskClient, people: People, phrase: str) -> None:
    assert when(client, people.ann(), phrase=phrase, now=NOW).status_code == 422


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
@pytest.mark.parametrize("offset", ["", "Z", "+14:00", "-12:00"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_the_ends_of_the_calendar_cause_no_server_error(
    client: FlaskClient, people: People, now: str, offset: str, zone: str
) -> None:
    ann = people.ann()
    for phrase in ("tomorrow", "may 1", "3/4", "february", "32 january", "monday in january"):
        assert when(client, ann, phrase=phrase, now=now + offset, zone=zone).status_code in {200, 422}
    body = {"message_id": "m", "remind_at": now + offset, "zone": zone}
    assert client.post("/api/v1/snoozes", json=body, headers=ann.bearer).status_code == 422
