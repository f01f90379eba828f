"""A repeated request is done once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from tests.factories import People, Person

SNOOZES = "/api/v1/snoozes"


def post(client: FlaskClient, person: Person, key: str, **body: Any) -> TestResponse:
    return client.post(SNOOZES, json=body, headers={**person.bearer, "Idempotency-Key": key})


def rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one())


def test_the_same_request_twice_acts_once_and_returns_the_same_response(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    first = post(client, ann, "k1", subject="Plants", when="in 3 days")
    second = post(client, ann, "k1", when="in 3 days", subject="Plants")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.get_json() == second.get_json()
    assert second.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert rows(engine) == 1


def test_a_key_with_another_body_is_refused(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    post(client, ann, "k1", subject="Plants", when="in 3 days")
    other = post(client, ann, "k1", subject="Plants", when="in 4 days")
    assert other.status_code == 422
    assert other.get_json()["code"] == "idempotency_key_reused"
    assert rows(engine) == 1


def test_two_accounts_may_use_the_same_key(client: FlaskClient, people: People, engine: Engine) -> None:
    for person in (people.ann(), people.ann(email="eve@snoozer.example")):
        assert post(client, person, "k1", subject="Plants", when="in 3 days").status_code == 201
    assert rows(engine) == 2


def test_a_refusal_does_not_use_up_the_key(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    assert post(client, ann, "k1", subject="Plants", when="gibberish").status_code == 422
    assert post(client, ann, "k1", subject="Plants", when="tomorrow").status_code == 201
    assert rows(engine) == 1


def test_an_empty_long_or_unprintable_key_is_refused(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    for key in ("", "x" * 256, "sch\u00f6n", "a\tb"):
        response = post(client, ann, key, subject="Plants", when="tomorrow")
        assert (response.status_code, response.get_json()["code"]) == (422, "bad_idempotency_key")
    assert rows(engine) == 0


def test_of_concurrent_requests_one_acts_and_all_get_its_response(app: Flask, people: People, engine: Engine) -> None:
    ann = people.ann()

    def go(_: int) -> TestResponse:
        return post(app.test_client(), ann, "k1", subject="Plants", when="in 3 days")

    with ThreadPoolExecutor(50) as executor:
        responses = list(executor.map(go, range(50)))
    assert {response.status_code for response in responses} == {201}
    assert len({response.data for response in responses}) == 1
    assert len({response.headers["ETag"] for response in responses}) == 1
    assert sum("Idempotency-Replayed" not in response.headers for response in responses) == 1
    assert rows(engine) == 1
