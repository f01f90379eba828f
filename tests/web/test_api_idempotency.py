"""A repeated request is done once."""

import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.db import webhooks
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import HOUR, People, Person, a_snooze, asked_for, now
from tests.web.reminders import a_sent_reminder

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


def test_a_key_for_another_path_is_refused(client: FlaskClient, people: People, engine: Engine) -> None:
    """Nothing would be done, and the answer be of another snooze: acts have no body that tells them apart."""
    headers = {**people.ann().bearer, "Idempotency-Key": "k1"}
    ids = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(2)]
    paths = [f"{SNOOZES}/{ids[0]}/pause", f"{SNOOZES}/{ids[1]}/pause", f"{SNOOZES}/{ids[0]}/resume"]
    assert [client.post(path, headers=headers).status_code for path in paths] == [200, 422, 422]


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


Case = Callable[[FlaskClient, Engine, Person], tuple[str, dict[str, Any]]]
HOOK = {"url": "https://hooks.example/", "events": ["due"]}
_TABLES = ("email_snoozes", "snooze_events", "bulk_acts", "webhook_endpoints", "webhook_deliveries")


def _act(name: str, phrase: str = "every day 9am", **columns: Any) -> Case:
    return lambda client, engine, ann: (f"snoozes/{asked_for(engine, phrase, **columns)}/{name}", {})


def _done(client: FlaskClient, engine: Engine, ann: Person) -> tuple[str, dict[str, Any]]:
    return f"snoozes/{a_sent_reminder(engine)}/done", {}


def _undo(client: FlaskClient, engine: Engine, ann: Person) -> tuple[str, dict[str, Any]]:
    id = a_snooze(engine, remind_at=now() + HOUR)
    client.delete(f"{SNOOZES}/{id}", headers=ann.bearer)
    return f"snoozes/{id}/undo", {}


def _undo_many(client: FlaskClient, engine: Engine, ann: Person) -> tuple[str, dict[str, Any]]:
    body = {"act": "cancel", "ids": [a_snooze(engine, remind_at=now() + HOUR)]}
    undo = client.post(f"{SNOOZES}/bulk", json=body, headers=ann.bearer).get_json()["undo"]
    return f"bulk/{undo}/undo", {}


def _webhook(name: str) -> Case:
    def made(client: FlaskClient, engine: Engine, ann: Person) -> tuple[str, dict[str, Any]]:
        body = {**HOOK, "url": f"https://hooks.example/{name}"}
        id = client.post("/api/v1/webhooks", json=body, headers=ann.bearer).get_json()["id"]
        if name != "resend":
            return f"webhooks/{id}/{name}", {}
        with engine.begin() as connection:
            delivery = webhooks.enter_test(connection, id=id, account_id=ann.id)
            connection.execute(text("UPDATE webhook_deliveries SET state = 'failed', finished_at = now()"))
        return f"webhooks/deliveries/{delivery}/resend", {}

    return made


# What each POST of the API is sent, after what it takes was made.
CASES: dict[str, Case] = {
    "api.create": lambda client, engine, ann: ("snoozes", {"subject": "Plants", "when": "in 3 days"}),
    "api.change_many": lambda client, engine, ann: (
        "snoozes/bulk",
        {"act": "create", "snoozes": [{"subject": "Plants", "when": "in 3 days"}]},
    ),
    "api.undo_many": _undo_many,
    "api.wake": _act("wake"),
    "api.done": _done,
    "api.skip": _act("skip"),
    "api.pause": _act("pause"),
    "api.resume": _act("resume", inactive=True),
    "api.set_end": _act("end"),
    "api.undo": _undo,
    "api.create_webhook": lambda client, engine, ann: (
        "webhooks",
        {"url": "https://hooks.example/", "events": ["due"]},
    ),
    "api.rotate_secret": _webhook("rotate"),
    "api.test_webhook": _webhook("test"),
    "api.resend_delivery": _webhook("resend"),
}


def test_each_post_has_a_case_and_says_that_it_takes_a_key(app: Flask) -> None:
    document = app.test_client().get("/api/v1/openapi.json").get_json()
    posts = {
        rule.endpoint: re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/api/v1"))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/v1") and "POST" in (rule.methods or ())
    }
    assert set(posts) == set(CASES)
    for path in posts.values():
        names = [parameter["name"] for parameter in document["paths"][path]["post"]["parameters"]]
        assert "Idempotency-Key" in names, path


def everything(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        rows = [f"SELECT string_agg(t::text, ',' ORDER BY t::text) FROM {table} AS t" for table in _TABLES]  # noqa: S608
        return [connection.execute(text(statement)).scalar_one() for statement in rows]


def test_each_post_is_done_once_and_answered_alike(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    for endpoint, case in CASES.items():
        path, body = case(client, engine, ann)
        headers = {**ann.bearer, "Idempotency-Key": endpoint}
        first = client.post(f"/api/v1/{path}", json=body, headers=headers)
        assert first.status_code in {200, 201}, (endpoint, first.text)
        before = everything(engine)
        second = client.post(f"/api/v1/{path}", json=body, headers=headers)
        assert (second.status_code, second.data) == (first.status_code, first.data), endpoint
        assert second.headers.get("Idempotency-Replayed") == "true", endpoint
        assert everything(engine) == before, endpoint


def test_a_secret_is_not_given_again_once_what_it_is_of_was_removed(client: FlaskClient, people: People) -> None:
    """By each POST that answers with one."""
    headers = people.ann().bearer
    made = client.post("/api/v1/webhooks", json=HOOK, headers={**headers, "Idempotency-Key": "made"})
    webhook = f"/api/v1/webhooks/{made.get_json()['id']}"

    def rotate() -> TestResponse:
        return client.post(f"{webhook}/rotate", json={}, headers={**headers, "Idempotency-Key": "rotated"})

    def create() -> TestResponse:
        return client.post("/api/v1/webhooks", json=HOOK, headers={**headers, "Idempotency-Key": "made"})

    rotated = rotate()
    assert [each().data for each in (create, rotate)] == [made.data, rotated.data]
    assert client.delete(webhook, headers=headers).status_code == 200
    for again in (create(), rotate()):
        assert (again.status_code, again.get_json()["code"]) == (409, "answer_lost")
        assert "whsec_" not in again.text


def test_an_answer_with_a_secret_is_stored_encrypted_and_what_is_repeated_is_no_event(
    engine: Engine, settings: Settings, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="snoozer.security")
    ann, body = people.ann(), HOOK
    headers = {**ann.bearer, "Idempotency-Key": "k"}
    site = create_app(engine=engine, settings=settings)
    made = site.test_client().post("/api/v1/webhooks", json=body, headers=headers)
    assert made.get_json()["secret"].startswith("whsec_")
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT body FROM idempotency_keys")).scalar_one()
    assert "whsec_" not in stored
    assert "hooks.example" not in stored
    again = site.test_client().post("/api/v1/webhooks", json=body, headers=headers)
    assert again.data == made.data
    assert [record.getMessage().split()[0] for record in caplog.records].count("webhook_added") == 1
    others = settings.model_copy(update={"secret_key": [SecretStr("another-key-of-enough-length")]})
    lost = create_app(engine=engine, settings=others).test_client().post("/api/v1/webhooks", json=body, headers=headers)
    assert (lost.status_code, lost.get_json()["code"]) == (409, "answer_lost")
