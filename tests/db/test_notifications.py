"""The protocol of notifications: what a sender says of a claim that it lost changes nothing, in any channel."""

from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import notifications
from snoozer.db.notifications import Claimed, Outcome, Retry
from tests import webhook_receiver
from tests.db import pushes
from tests.factories import HOUR, Person, a_snooze, now
from tests.push_service import Subscription, ledger, subscribe

CHANNELS = ("push", "webhooks")
RETRY = Retry(delay=HOUR, pause=HOUR, retry_for=3 * HOUR)
REFUSALS = (Outcome(reason="slow"), Outcome(reason="error", ends=True), Outcome(reason="gone", status=410, gone=True))


@pytest.fixture
def targets(engine: Engine, ann: Person) -> None:
    """A device and an endpoint, and a notification for each."""
    subscribe(engine, Subscription("http://127.0.0.1:9/phone"), account_id=ann.id)
    webhook_receiver.an_endpoint(engine, account_id=ann.id, events=("created",))
    pushes.comes_back(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM webhook_deliveries"))
    a_snooze(engine, remind_at=now() + HOUR)


def claim(engine: Engine, channel: str) -> Claimed:
    sender: Any = (pushes if channel == "push" else webhook_receiver).the_sender(engine)
    claimed: Claimed | None = sender.claim()
    assert claimed is not None
    return claimed


def rows(engine: Engine, channel: str) -> list[Any]:
    return ledger(engine) if channel == "push" else webhook_receiver.deliveries(engine)


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_a_sender_says_of_a_claim_that_another_has_changes_nothing(
    channel: str, engine: Engine, targets: None
) -> None:
    first = claim(engine, channel)
    pushes.sooner(engine)
    webhook_receiver.later(engine)
    second = claim(engine, channel)
    assert (first.id, first.target) == (second.id, second.target)
    before = rows(engine, channel)
    with engine.begin() as connection:
        for outcome in REFUSALS:
            assert notifications.release(connection, first, outcome, RETRY) is None
        notifications.give_back(connection, first)
    assert rows(engine, channel) == before
    assert before[0].claim_token == second.claim_token


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_is_given_back_is_claimed_at_once_and_no_try_is_counted(
    channel: str, engine: Engine, targets: None
) -> None:
    first = claim(engine, channel)
    with engine.begin() as connection:
        notifications.give_back(connection, first)
    assert claim(engine, channel).attempts == first.attempts == 0


@pytest.mark.parametrize("channel", CHANNELS)
def test_an_accepted_notification_is_a_fact_for_any_holder_of_the_claim(
    channel: str, engine: Engine, targets: None
) -> None:
    first = claim(engine, channel)
    with engine.begin() as connection:
        assert channel == "webhooks" or notifications.mark(connection, first)
        assert notifications.release(connection, first, Outcome(reason="error"), RETRY)
        notifications.record(connection, first, Outcome(status=201))
        assert not notifications.release(connection, first, Outcome(reason="error"), RETRY)
    assert [(row.state, row.status, row.reason) for row in rows(engine, channel)] == [
        ("sent" if channel == "push" else "delivered", 201, None)
    ]


@pytest.mark.parametrize("outcome", [one for one in REFUSALS if one.status is None])
def test_a_marked_push_without_an_answer_is_uncertain_whatever_its_sender_thinks(
    outcome: Outcome, engine: Engine, targets: None
) -> None:
    claimed = claim(engine, "push")
    with engine.begin() as connection:
        assert notifications.mark(connection, claimed)
        assert notifications.release(connection, claimed, outcome, RETRY)
    [row], [device] = ledger(engine), pushes.devices(engine)
    assert (row.state, row.reason, row.claim_token) == ("uncertain", outcome.reason, None)
    assert (device.problem, device.failures) == (None, 1)
