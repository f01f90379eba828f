"""One act on many snoozes: each is done or left with its reason."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine
from werkzeug.test import TestResponse

from snoozer.db import mailbox_store
from snoozer.queue import changes as db
from snoozer.snoozes import bulk as bulk_acts
from snoozer.snoozes.acts import By
from snoozer.snoozes.input import Message
from tests.db.bulk import cancelled, later, snoozed
from tests.factories import (
    ANN,
    HOUR,
    People,
    Person,
    a_kept_message,
    a_snooze,
    now,
    the_events,
    the_row,
    wait_until_a_session_waits,
)
from tests.web.problems import is_problem


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


def bulk(client: FlaskClient, person: Person, key: str | None = None, **body: Any) -> TestResponse:
    headers = person.bearer | ({"Idempotency-Key": key} if key else {})
    return client.post("/api/v1/snoozes/bulk", json=body, headers=headers)


def statuses(answer: TestResponse) -> list[int]:
    return [one["status"] for one in answer.get_json()["results"]]


def test_what_can_be_created_is_and_the_others_say_why_not(client: FlaskClient, ann: Person, engine: Engine) -> None:
    items = [
        {"message_id": "<b@x>", "when": "tomorrow 8am"},
        {"message_id": "<a@x>", "when": "gibberish"},
        {"message_id": "<a@x>", "when": "tomorrow 8am", "priority": -100},
        {"subject": "s", "when": "tomorrow", "nonsense": 1},
        5,
        {"message_id": "<b@x>", "when": "in 3 days"},
    ]
    answer = bulk(client, ann, "k", act="create", snoozes=items)
    assert statuses(answer) == [201, 422, 201, 422, 422, 200]
    results = answer.get_json()["results"]
    assert results[0]["id"] == results[5]["id"]
    assert results[1]["problem"]["suggestions"]
    assert results[2]["snooze"]["priority"] == -100
    assert bulk(client, ann, "k", act="create", snoozes=items).data == answer.data
    assert answer.get_json()["done"] == 3


def test_each_has_its_own_result(client: FlaskClient, people: People, ann: Person, engine: Engine) -> None:
    live = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(3)]
    over = a_snooze(engine, inactive=True, outcome="sent", finished_at=now(), scheduled_for=now() - HOUR)
    eves = a_snooze(engine, user_email=people.ann(email="eve@snoozer.example").email, remind_at=now() + HOUR)
    answer = bulk(client, ann, act="cancel", ids=[live[2], over, live[0], eves])
    assert statuses(answer) == [200, 409, 200, 404]
    results = answer.get_json()["results"]
    assert [one["id"] for one in results] == [live[2], over, live[0], eves]
    assert {results[index]["snooze"]["state"] for index in (0, 2)} == {"cancelled"}
    assert results[1]["problem"]["status"] == 409
    assert the_events(engine, live[1]) == the_events(engine, eves) == []


def test_an_act_on_many_is_undone(client: FlaskClient, ann: Person, engine: Engine) -> None:
    ids = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(2)]
    undo = bulk(client, ann, act="cancel", ids=ids).get_json()["undo"]
    answer = client.post(f"/api/v1/bulk/{undo}/undo", headers=ann.bearer)
    assert answer.get_json() == {"done": 2, "left": {}}
    assert {the_row(engine, id).outcome for id in ids} == {None}
    assert client.post(f"/api/v1/bulk/{undo}/undo", headers=ann.bearer).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"act": "explode", "ids": [1]},
        {"act": "cancel", "ids": []},
        {"act": "cancel", "ids": [1, 1]},
        {"act": "cancel", "ids": ["1"]},
        {"act": "cancel", "ids": list(range(1, 502))},
        {"act": "cancel", "ids": [1], "when": "tomorrow"},
        {"act": "reschedule", "ids": [1]},
        {"act": "create", "snoozes": {}},
        {"act": "create"},
    ],
)
def test_what_is_no_act_on_many_is_refused_whole(client: FlaskClient, ann: Person, body: dict[str, Any]) -> None:
    refused = bulk(client, ann, **body)
    assert (refused.status_code, refused.get_json()["code"]) == (422, "invalid_fields")


def test_as_many_as_there_may_be_at_once(client: FlaskClient, ann: Person) -> None:
    """Five hundred with subjects of a line did not fit into the body that was allowed. Most of them name a time that
    has passed, which costs this test less."""
    subject = "Re: " + "Quarterly figures " * 20
    items = [
        {
            "message_id": f"<{n}@mail.example>",
            "subject": subject,
            "remind_at": f"{2019 if n % 50 else 2031}-01-01T09:00",
        }
        for n in range(500)
    ]
    made = bulk(client, ann, act="create", snoozes=items)
    assert statuses(made) == [422 if n % 50 else 201 for n in range(500)]
    ids = [one["id"] for one in made.get_json()["results"] if "id" in one]
    ended = bulk(client, ann, act="cancel", ids=ids + list(range(10**9, 10**9 + 490)))
    assert statuses(ended) == [200] * 10 + [404] * 490


def test_more_than_a_body_may_have_is_a_problem(client: FlaskClient, ann: Person) -> None:
    items = [{"subject": "x" * 2_100, "when": "tomorrow"}] * 500
    refused = is_problem(bulk(client, ann, act="create", snoozes=items), 413, "too_large")
    assert refused["detail"] == "The body has more than 1048576 bytes."


A, B = "<a@x>", "<b@x>"


def _beside(
    engine: Engine,
    *,
    first: Callable[[Connection], object],
    then: Callable[[Connection], object],
    ask: Callable[[], TestResponse],
) -> TestResponse:
    """The answer of a request that comes while another transaction has done `first` and is to do `then`."""
    answers: list[TestResponse] = []
    asking = Thread(target=lambda: answers.append(ask()))
    with engine.begin() as other:
        first(other)
        asking.start()
        wait_until_a_session_waits(engine, who=asking)
        then(other)
    asking.join()
    return answers[0]


def test_many_are_created_beside_an_act_on_the_same_rows(client: FlaskClient, ann: Person, engine: Engine) -> None:
    """Created in the order of their names, and locked in that of their ids: each had what the other waited for."""
    ids = [a_snooze(engine, message_id=message_id, remind_at=now() + HOUR) for message_id in (B, A)]
    answer = _beside(
        engine,
        first=lambda other: db.lock_chosen(other, user_email=ANN, ids=ids[:1]),
        then=cancelled(ids),
        ask=lambda: bulk(
            client, ann, act="create", snoozes=[{"message_id": one, "when": "in 3 days"} for one in (A, B)]
        ),
    )
    assert statuses(answer) == [201, 201]
    assert [the_row(engine, id).outcome for id in ids] == ["cancelled"] * 2


def test_many_are_created_beside_the_page_that_snoozes_their_messages(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    for message_id in (B, A):
        a_kept_message(engine, message_id=message_id)
    answer = _beside(
        engine,
        first=lambda other: mailbox_store.lock_many(other, user_email=ANN, message_ids=[B]),
        then=snoozed([Message(message_id=A), Message(message_id=B)], later()),
        ask=lambda: bulk(
            client, ann, act="create", snoozes=[{"message_id": one, "when": "in 3 days"} for one in (A, B)]
        ),
    )
    assert statuses(answer) == [200, 200]


def test_many_are_paused_beside_the_page_that_is_done_with_their_messages(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    for message_id in (B, A):
        a_kept_message(engine, message_id=message_id)
    ids = [a_snooze(engine, message_id=message_id, remind_at=now() + HOUR) for message_id in (A, B)]
    answer = _beside(
        engine,
        first=lambda other: mailbox_store.lock_many(other, user_email=ANN, message_ids=[B]),
        then=lambda other: bulk_acts.done(other, [A, B], By(ANN, "web")),
        ask=lambda: bulk(client, ann, act="pause", ids=ids),
    )
    assert statuses(answer) == [200, 200]


def test_an_undo_beside_the_page_that_snoozes_the_messages_again(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    a_kept_message(engine, message_id=A)
    [id] = [a_snooze(engine, message_id=A, remind_at=now() + HOUR)]
    undo = bulk(client, ann, act="cancel", ids=[id]).get_json()["undo"]
    answer = _beside(
        engine,
        first=lambda other: mailbox_store.lock_many(other, user_email=ANN, message_ids=[A]),
        then=snoozed([Message(message_id=A)], later()),
        ask=lambda: client.post(f"/api/v1/bulk/{undo}/undo", headers=ann.bearer),
    )
    assert answer.get_json() == {"done": 0, "left": {"cancelled": 1}}


def test_one_is_created_beside_the_page_that_snoozes_its_message(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    """It had the place of the new snooze, and the page the message."""
    a_kept_message(engine, message_id=A)
    answer = _beside(
        engine,
        first=lambda other: mailbox_store.lock_many(other, user_email=ANN, message_ids=[A]),
        then=snoozed([Message(message_id=A)], later()),
        ask=lambda: client.post("/api/v1/snoozes", json={"message_id": A, "when": "in 3 days"}, headers=ann.bearer),
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("name", ["resume", "undo"])
def test_one_is_revived_beside_the_page_that_snoozes_its_message(
    client: FlaskClient, ann: Person, engine: Engine, name: str
) -> None:
    """The page finds what is paused, and locks it before its message; of what is over it locks the message alone."""
    a_kept_message(engine, message_id=A)
    id = a_snooze(engine, message_id=A, remind_at=now() + HOUR, inactive=name == "resume")
    if name == "undo":
        client.delete(f"/api/v1/snoozes/{id}", headers=ann.bearer)
    first: dict[str, Callable[[Connection], object]] = {
        "resume": lambda other: db.lock_chosen(other, user_email=ANN, ids=[id]),
        "undo": lambda other: mailbox_store.lock_many(other, user_email=ANN, message_ids=[A]),
    }
    answer = _beside(
        engine,
        first=first[name],
        then=snoozed([Message(message_id=A)], later()),
        ask=lambda: client.post(f"/api/v1/snoozes/{id}/{name}", headers=ann.bearer),
    )
    assert answer.status_code == 409
