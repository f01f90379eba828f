"""Real workers push what is back, and are killed at each step of it: nothing is pushed twice after a mark."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from sqlalchemy import text

from snoozer.db import mailbox_store
from tests import services
from tests.factories import ANN, People, a_kept_message, a_snooze, now
from tests.process.conftest import TIMEOUT, Field, wait
from tests.push_service import Answer, PushService, Subscription, ledger, states, subscribe

KILLED = -9


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as service:
        yield service


@pytest.fixture
def phone(place: Field, service: PushService, people: People) -> Subscription:
    place.settings = {"SNOOZER_ALLOW_PRIVATE_PUSH_SERVICES": "true", "SNOOZER_FAILPOINTS": "1"}
    phone = service.subscription()
    subscribe(place.engine, phone, account_id=people.ann().id)
    return phone


def snoozed(place: Field, *, kept: bool = True) -> int:
    """A message that is back in a second."""
    message_id = f"<{now().timestamp()}@mail.example>"
    if kept:
        a_kept_message(place.engine, message_id=message_id)
    id = a_snooze(place.engine, message_id=message_id, remind_at=now() + timedelta(seconds=1))
    if kept:
        with place.engine.begin() as connection:
            mailbox_store.move(connection, user_email=ANN, message_id=message_id, folder="snoozed")
    return id


def end(*processes: Any) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.communicate(timeout=TIMEOUT)


def lapse(place: Field) -> None:
    """As if the minute of a claim were over."""
    with place.engine.begin() as connection:
        connection.execute(text("UPDATE push_sends SET claimed_until = claimed_until - INTERVAL '2 minutes'"))


def test_a_worker_pushes_what_returns_and_what_is_reminded_of_elsewhere(
    place: Field, service: PushService, phone: Subscription
) -> None:
    snoozed(place)
    snoozed(place, kept=False)
    workers = [place.start("worker"), place.start("worker")]
    try:
        wait(lambda: states(place.engine) == ["sent", "sent"])
    finally:
        end(*workers)
    assert [read["title"] for read in service.of(phone)] == ["A message is back"] * 2


def test_a_drain_pushes_too(place: Field, service: PushService, phone: Subscription) -> None:
    id = snoozed(place)
    wait(lambda: place.run("worker", "--drain").returncode == 0 and place.is_sent(id))
    assert len(service.of(phone)) == 1


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("step", "state", "pushed"),
    [
        ("push_claimed", "sent", 1),  # Nothing had left: another worker sends it.
        ("push_connected", "sent", 1),
        ("push_marked", "uncertain", 0),  # The mark may mean that it left.
        ("push_answered", "uncertain", 1),  # It left, and the answer was not written down.
        ("push_recorded", "sent", 1),
    ],
)
def test_a_worker_that_is_killed_pushes_nothing_twice(
    step: str, state: str, pushed: int, place: Field, service: PushService, phone: Subscription
) -> None:
    id = snoozed(place)
    doomed = place.start("worker", SNOOZER_FAILPOINT=f"{step}:kill")
    doomed.communicate(timeout=TIMEOUT)
    assert doomed.returncode == KILLED
    if state == "uncertain":
        assert states(place.engine) == ["sending"], "the mark is committed"
    lapse(place)
    survivors = [place.start("worker"), place.start("clock")]
    try:
        wait(lambda: states(place.engine) == [state])
        # What is pushed after it comes once, and nothing of the first with it.
        snoozed(place)
        wait(lambda: states(place.engine) == [state, "sent"])
        wait(lambda: place.is_sent(id))
    finally:
        end(*survivors)
    assert len(service.of(phone)) == pushed + 1


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("step", "state", "got"),
    [
        ("push_claimed", "sent", 1),
        ("push_connected", "sent", 1),
        ("push_marked", "uncertain", 0),
        ("push_answered", "uncertain", 1),
        ("push_recorded", "sent", 1),
    ],
)
def test_a_worker_that_is_killed_sends_a_service_nothing_twice(
    step: str, state: str, got: int, place: Field, people: People
) -> None:
    place.settings = {
        "SNOOZER_ALLOW_PRIVATE_PUSH_SERVICES": "true",
        "SNOOZER_CHANNELS": "ntfy",
        "SNOOZER_FAILPOINTS": "1",
    }
    with services.ntfy() as ntfy:
        url = f"{ntfy.url}/private-topic"
        services.add(place.engine, people.ann().id, "ntfy", url=url, token=services.TOKEN)
        snoozed(place)
        doomed = place.start("worker", SNOOZER_FAILPOINT=f"{step}:kill")
        _, errors = doomed.communicate(timeout=TIMEOUT)
        assert doomed.returncode == KILLED
        lapse(place)
        survivors = [place.start("worker"), place.start("clock")]
        try:
            wait(lambda: states(place.engine) == [state])
            snoozed(place)
            wait(lambda: states(place.engine) == [state, "sent"])
        finally:
            end(*survivors)
        assert len(ntfy.taken) == len(ntfy.asked) == got + 1
    assert services.TOKEN not in (errors or "")
    assert "private-topic" not in (errors or "")


def test_a_silent_push_service_delays_neither_returns_nor_mail(
    place: Field, service: PushService, phone: Subscription
) -> None:
    ends = Event()

    def silence() -> Answer:
        ends.wait(TIMEOUT)
        return Answer()

    service.answers["/phone"] = [silence] * 10
    ids = [snoozed(place) for _ in range(5)]
    worker = place.start("worker")
    try:
        wait(lambda: bool(service.pushed))
        wait(lambda: all(place.is_sent(id) for id in ids))
        assert "sent" not in states(place.engine)
        with place.engine.connect() as connection:
            away = connection.execute(text("SELECT count(*) FROM messages WHERE folder <> 'inbox'")).scalar_one()
        assert away == 0
    finally:
        ends.set()
        end(worker)


def test_a_worker_retries_what_is_refused_for_now_and_drops_a_device_that_is_gone(
    place: Field, service: PushService, phone: Subscription, people: People
) -> None:
    service.answers["/phone"] = [Answer(503), Answer(429, {"Retry-After": "1"}), Answer(201)]
    bobs = service.subscription("bob")
    subscribe(place.engine, bobs, account_id=people.ann("bob@snoozer.example").id)
    service.answers["/bob"] = [Answer(410)]
    snoozed(place)
    a_snooze(place.engine, user_email="bob@snoozer.example", remind_at=now())

    def is_over() -> bool:
        with place.engine.begin() as connection:
            connection.execute(text("UPDATE push_sends SET try_at = now() WHERE state = 'reserved'"))
            connection.execute(text("UPDATE push_devices SET quiet_until = NULL"))
        return sorted(states(place.engine)) == ["failed", "sent"]

    worker = place.start("worker")
    try:
        wait(is_over)
    finally:
        end(worker)
    assert len(service.of(phone)) == 3
    assert len(service.of(bobs)) == 1
    assert {row.status for row in ledger(place.engine)} == {201, 410}
    with place.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM push_devices")).scalar_one() == 1
