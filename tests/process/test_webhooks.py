"""Real workers post webhooks, and are killed at each step of it, to receivers that fail, hang up, redirect, stall and
are gone: each event arrives at least once, with one id, in order a snooze, signed; and nothing follows a redirect.

SNOOZER_STORM=1 makes it 5,000 events; else it is a sample.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from random import Random
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.runtime.failpoint import WEBHOOK_STEPS
from tests.factories import ANN, People
from tests.process.conftest import TIMEOUT, Field
from tests.webhook_receiver import Answer, Receiver, an_endpoint, the_endpoint

KILLED = -9
FULL = os.environ.get("SNOOZER_STORM") == "1"
# Events are a snooze's creation and its changes.
SNOOZES, CHANGES = (500, 9) if FULL else (10, 2)
FAULTS = 500 if FULL else 8
SECONDS = 600 if FULL else TIMEOUT


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def happen(engine: Engine) -> None:
    """Snoozes are made and changed, each change with an event of its own."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, reference) "
                "SELECT :ann, number || '@x', now() + interval '1 day', number FROM generate_series(1, :many) AS number"
            ),
            {"ann": ANN, "many": SNOOZES},
        )
    for number in range(CHANGES):
        with engine.begin() as connection:
            connection.execute(text("UPDATE email_snoozes SET note = :note"), {"note": f"note {number}"})


def faults(rng: Random, stalls: Event) -> list[Answer | Callable[[], Answer]]:
    """What a receiver does wrong, mixed with what it does right."""

    def stall() -> Answer:
        stalls.wait(TIMEOUT)
        return Answer(hangs_up=True)

    wrong: list[Answer | Callable[[], Answer]] = [
        Answer(500, b"no"),
        Answer(503, headers={"Retry-After": "1"}),
        Answer(hangs_up=True),
        Answer(302, headers={"Location": "/private"}),
        Answer(200),
    ]
    return [*([stall] if FULL else []), *(rng.choice(wrong) for _ in range(FAULTS))]


def sooner(engine: Engine) -> None:
    """As if the waits of what failed were over; what a worker holds stays held."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET quiet_until = NULL WHERE quiet_until > now()"))
        connection.execute(
            text("UPDATE webhook_deliveries SET try_at = now() WHERE try_at > now() AND claim_token IS NULL")
        )


def lapse(engine: Engine) -> None:
    """As if the leases of a killed worker were over."""
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE webhook_deliveries SET claimed_until = now() - interval '1 s' WHERE claim_token IS NOT NULL")
        )


def claims(engine: Engine, endpoint: int) -> int:
    with engine.connect() as connection:
        statement = text("SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = :id AND claim_token IS NOT NULL")
        return int(connection.execute(statement, {"id": endpoint}).scalar_one())


def states(engine: Engine, endpoint: int) -> set[str]:
    with engine.connect() as connection:
        statement = text("SELECT DISTINCT state FROM webhook_deliveries WHERE endpoint_id = :id")
        return set(connection.execute(statement, {"id": endpoint}).scalars())


@pytest.mark.chaos
def test_workers_that_are_killed_and_receivers_that_fail_lose_and_disorder_nothing(
    place: Field, receiver: Receiver, people: People
) -> None:
    place.settings = {"SNOOZER_ALLOW_PRIVATE_WEBHOOKS": "true", "SNOOZER_FAILPOINTS": "1"}
    engine, stalls = place.engine, Event()
    ann = people.ann()
    hook = an_endpoint(engine, account_id=ann.id, url=receiver.url())
    gone = an_endpoint(engine, account_id=ann.id, url=receiver.url("gone"))
    receiver.answers["/gone"] = [Answer(410)] * 100
    happen(engine)
    for step in WEBHOOK_STEPS:
        doomed = place.start("worker", SNOOZER_FAILPOINT=f"{step}:kill@{hook.id}")
        doomed.communicate(timeout=TIMEOUT)
        assert doomed.returncode == KILLED, step
        if step in {"webhook_claimed", "webhook_connected"}:
            assert claims(engine, hook.id) >= 1, "what it held is held until its lease is over"
            assert [one for one in receiver.posted if one.path == "/hook"] == [], "and no request has left"
        lapse(engine)
    receiver.answers["/hook"] = faults(Random(7), stalls)
    workers: list[Any] = [place.start("worker") for _ in range(2 if FULL else 1)]

    def is_over() -> bool:
        sooner(engine)
        return states(engine, hook.id) == {"delivered"} and states(engine, gone.id) == {"failed"}

    try:
        ends = time.monotonic() + SECONDS
        while not is_over():
            assert time.monotonic() < ends, "something was not delivered"
    finally:
        stalls.set()
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.communicate(timeout=TIMEOUT)

    with engine.connect() as connection:
        statement = text("SELECT snooze_id, number FROM webhook_deliveries WHERE endpoint_id = :id ORDER BY id")
        ledger = connection.execute(statement, {"id": hook.id}).all()
    posted, order = defaultdict(list), {f"msg_{row.number.hex}": place for place, row in enumerate(ledger)}
    mine = [one for one in receiver.posted if one.path == "/hook"]
    for one in mine:
        posted[one.content["data"]["id"]].append(order[one.id])
        if not FULL:
            one.verify(hook.secret)
    assert len(order) == SNOOZES * (CHANGES + 1)
    assert {one.id for one in receiver.taken if one.path == "/hook"} == set(order), "each at least once, with one id"
    assert all(places == sorted(places) for places in posted.values()), "in order a snooze, also what is repeated"
    assert len({(one.id, one.body) for one in mine}) == len(order), "the same each time"
    assert "/private" not in {one.path for one in receiver.posted}
    assert not the_endpoint(engine, gone.id).is_on
