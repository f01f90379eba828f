"""A change is made to the state that its client saw, or not at all; what a client has already is not sent again."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from tests.factories import HOUR, People, a_snooze, now, the_events, the_row


def test_a_change_that_names_the_present_state_is_made_and_one_that_names_another_is_not(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann, path = people.ann(), f"/api/v1/snoozes/{a_snooze(engine, remind_at=now() + HOUR)}"
    seen = client.get(path, headers=ann.bearer)
    assert seen.headers["ETag"] == seen.get_json()["etag"]
    first = client.patch(path, json={"note": "a"}, headers={**ann.bearer, "If-Match": seen.headers["ETag"]})
    assert first.status_code == 200
    assert first.headers["ETag"] != seen.headers["ETag"]
    lost = client.patch(path, json={"note": "b"}, headers={**ann.bearer, "If-Match": seen.headers["ETag"]})
    assert (lost.status_code, lost.get_json()["code"]) == (412, "changed")
    assert lost.headers["ETag"] == first.headers["ETag"]
    again = client.patch(path, json={"note": "b"}, headers={**ann.bearer, "If-Match": f'"x", {lost.headers["ETag"]}'})
    assert again.get_json()["note"] == "b"


@pytest.mark.parametrize("given", ['"other"', "", 'W/"{etag}"', "nonsense"])
def test_what_names_another_state_or_none_does_nothing(
    client: FlaskClient, people: People, engine: Engine, given: str
) -> None:
    ann, id = people.ann(), a_snooze(engine, remind_at=now() + HOUR)
    etag = client.get(f"/api/v1/snoozes/{id}", headers=ann.bearer).headers["ETag"].strip('"')
    headers = {**ann.bearer, "If-Match": given.replace("{etag}", etag)}
    assert client.delete(f"/api/v1/snoozes/{id}", headers=headers).status_code == 412
    assert client.post(f"/api/v1/snoozes/{id}/pause", headers=headers).status_code == 412
    assert the_events(engine, id) == []


def test_any_state_is_named_by_an_asterisk_and_none_of_what_is_not_there(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    headers = {**people.ann().bearer, "If-Match": "*"}
    path = f"/api/v1/snoozes/{a_snooze(engine, remind_at=now() + HOUR)}"
    assert client.patch(path, json={"note": "a"}, headers=headers).status_code == 200
    assert client.patch("/api/v1/snoozes/99999", json={"note": "a"}, headers=headers).status_code == 404


def test_of_many_at_once_one_wins(app: Flask, people: People, engine: Engine) -> None:
    ann, id = people.ann(), a_snooze(engine, remind_at=now() + HOUR)
    etag = app.test_client().get(f"/api/v1/snoozes/{id}", headers=ann.bearer).headers["ETag"]
    start = Barrier(8)

    def go(number: int) -> TestResponse:
        client = app.test_client()
        start.wait()
        headers = {**ann.bearer, "If-Match": etag}
        return client.patch(f"/api/v1/snoozes/{id}", json={"note": str(number)}, headers=headers)

    with ThreadPoolExecutor(8) as executor:
        answers = list(executor.map(go, range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + 7 * [412]
    [won] = [number for number, answer in enumerate(answers) if answer.status_code == 200]
    assert the_row(engine, id).note == str(won)
    assert the_events(engine, id) == ["noted"]


def test_an_answer_that_the_client_has_is_empty(client: FlaskClient, people: People, engine: Engine) -> None:
    ann, id = people.ann(), a_snooze(engine, remind_at=now() + HOUR)
    for path in (f"/snoozes/{id}", "/snoozes", "/openapi.json"):
        etag = client.get(f"/api/v1{path}", headers=ann.bearer).headers["ETag"]
        same = client.get(f"/api/v1{path}", headers={**ann.bearer, "If-None-Match": etag})
        assert (same.status_code, same.data, same.headers["ETag"]) == (304, b"", etag)
    client.patch(f"/api/v1/snoozes/{id}", json={"note": "a"}, headers=ann.bearer)
    changed = client.get(f"/api/v1/snoozes/{id}", headers={**ann.bearer, "If-None-Match": etag})
    assert changed.status_code == 200


def test_a_repeated_request_gets_its_answer_although_the_state_that_it_named_is_gone(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann, id = people.ann(), a_snooze(engine, remind_at=now() + HOUR)
    etag = client.get(f"/api/v1/snoozes/{id}", headers=ann.bearer).headers["ETag"]
    headers = {**ann.bearer, "If-Match": etag, "Idempotency-Key": "k"}
    first, second = (client.post(f"/api/v1/snoozes/{id}/pause", headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.data == second.data
    assert the_events(engine, id) == ["paused"]
