"""A request that is repeated is done once."""

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


def test_the_same_request_twice_acts_once_and_is_answered_alike(
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


def test_a_key_is_not_lent_to_another_request(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    post(client, ann, "k1", subject="Plants", when="in 3 days")
    other = post(client, ann, "k1", subject="Plants", when="in 4 days")
    assert other.status_code == 422
    assert other.get_json()["code"] == "idempotency_key_reused"
    assert rows(engine) == 1


def test_two_people_may_think_of_the_same_key(client: FlaskClient, people: People, engine: Engine) -> None:
    for person in (people.ann(), people.ann(email="eve@snoozer.example")):
        assert post(client, person, "k1", subject="Plants", when="in 3 days").status_code == 201
    assert rows(engine) == 2


def test_a_refusal_uses_no_key_up(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    assert post(client, ann, "k1", subject="Plants", when="gibberish").status_code == 422
    assert post(client, ann, "k1", subject="Plants", when="tomorrow").status_code == 201
    assert rows(engine) == 1


def test_a_key_nobody_can_type_is_refused(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    for key in ("", "x" * 256, "sch\u00f6n", "a\tb"):
        answer = post(client, ann, key, subject="Plants", when="tomorrow")
        assert (answer.status_code, answer.get_json()["code"]) == (422, "bad_idempotency_key")
    assert rows(engine) == 0


def test_of_many_at_the_same_moment_one_acts_and_all_hear_its_answer(
    app: Flask, people: People, engine: Engine
) -> None:
    ann = people.ann()

    def go(_: int) -> TestResponse:
        return post(app.test_client(), ann, "k1", subject="Plants", when="in 3 days")

    with ThreadPoolExecutor(6) as hands:
        answers = list(hands.map(go, range(6)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.get_json()["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
    assert rows(engine) == 1
