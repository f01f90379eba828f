"""A webhook by the protocol of its ledger: signed, at least once, in order a snooze, and fair between endpoints."""

import base64
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import Engine, text
from standardwebhooks import WebhookVerificationError

from snoozer.db import notifications
from snoozer.db import webhooks as ledger
from snoozer.notify import webhooks
from snoozer.notify.send_loop import drain, send
from snoozer.notify.webhook_channel import WebhookSender
from snoozer.notify.webhooks import Added
from tests.factories import HOUR, Person, a_snooze, now
from tests.webhook_receiver import (
    KEYS,
    Answer,
    Receiver,
    an_endpoint,
    deliveries,
    edit,
    entered,
    later,
    the_endpoint,
    the_sender,
)

BOB = "bob@snoozer.example"


@pytest.fixture
def hook(engine: Engine, receiver: Receiver, ann: Person) -> Added:
    return an_endpoint(engine, account_id=ann.id, url=receiver.url())


@pytest.fixture
def sender(engine: Engine) -> WebhookSender:
    return the_sender(engine)


def test_a_delivery_is_a_signed_pointer_and_no_copy(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR, subject="Secret plans", reference="deal-7")
    drain(sender)
    drain(sender)
    [posted], [row] = receiver.posted, deliveries(engine)
    posted.verify(hook.secret)
    assert posted.id == f"msg_{row.number.hex}"
    assert posted.headers["content-type"] == "application/json"
    assert posted.content["type"] == "snooze.created"
    assert set(posted.content) == {"type", "timestamp", "data"}
    data = posted.content["data"]
    assert data["scheduled_for"] == data["remind_at"]
    assert data == {**data, "id": id, "kind": "once", "reference": "deal-7"}
    assert set(data) == {"id", "kind", "scheduled_for", "remind_at", "reference"}
    assert (row.state, row.status, row.attempts) == ("delivered", 200, 1)


def test_the_subject_is_sent_where_it_was_asked_for(
    engine: Engine, receiver: Receiver, ann: Person, sender: WebhookSender
) -> None:
    an_endpoint(engine, account_id=ann.id, url=receiver.url(), subject=True)
    a_snooze(engine, remind_at=now() + HOUR, subject="Plans \u202e")
    drain(sender)
    assert receiver.posted[0].content["data"]["subject"] == "Plans \u202e"


@pytest.mark.parametrize("status", [500, 429, 404, 302])
def test_what_is_not_taken_is_tried_again_with_the_same_id_and_body_and_redirects_are_not_followed(
    status: int, engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    elsewhere = receiver.url("elsewhere")
    receiver.answers["/hook"] = [Answer(status, b"no <b>\x00", {"Location": elsewhere})] * 2
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    [row] = deliveries(engine)
    assert (row.state, row.status, row.attempts, row.answer) == ("waiting", status, 1, "no <b>\ufffd")
    assert len(receiver.posted) == 1
    assert row.try_at > row.tried_at, "it waits"
    for _ in range(3):
        later(engine)
        drain(sender)
    assert len(receiver.posted) == 3
    assert {posted.path for posted in receiver.posted} == {"/hook"}
    assert len({(posted.id, posted.body) for posted in receiver.posted}) == 1
    assert deliveries(engine)[0].state == "delivered"
    assert the_endpoint(engine, hook.id).failures == 0


def test_a_receiver_says_when_it_is_asked_again(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(503, headers={"Retry-After": "7200"})]
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    [row] = deliveries(engine)
    assert row.try_at - row.tried_at > timedelta(hours=1.9)


def test_a_stalled_receiver_is_left_at_the_deadline_and_asked_again(
    engine: Engine, receiver: Receiver, hook: Added
) -> None:
    ends = Event()

    def silence() -> Answer:
        ends.wait(30)
        return Answer(hangs_up=True)

    receiver.answers["/hook"] = [silence]
    a_snooze(engine, remind_at=now() + HOUR)
    sender = the_sender(engine, seconds=0.3)
    drain(sender)
    ends.set()
    assert [(row.state, row.reason) for row in deliveries(engine)] == [("waiting", "slow")]
    later(engine)
    drain(the_sender(engine))
    assert [row.state for row in deliveries(engine)] == ["delivered"]
    assert len({posted.id for posted in receiver.posted}) == 1


def test_a_receiver_that_hangs_up_is_asked_again(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(hangs_up=True)]
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    assert [(row.state, row.reason) for row in deliveries(engine)] == [("waiting", "protocol")]
    later(engine)
    drain(sender)
    assert [row.state for row in deliveries(engine)] == ["delivered"]


def test_gone_switches_the_endpoint_off_at_once(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(410)]
    for _ in range(2):
        a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    endpoint = the_endpoint(engine, hook.id)
    assert (endpoint.is_on, endpoint.off_reason) == (False, "gone")
    assert [(row.state, row.reason) for row in deliveries(engine)] == [("failed", "gone"), ("failed", "off")]
    a_snooze(engine, remind_at=now() + HOUR)
    assert len(deliveries(engine)) == 2


def test_what_a_lost_worker_held_for_an_endpoint_that_is_off_does_not_wait_for_ever(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    for _ in range(2):
        a_snooze(engine, remind_at=now() + HOUR)
    assert sender.claim() is not None
    receiver.answers["/hook"] = [Answer(410)]
    drain(sender)
    assert [row.state for row in deliveries(engine)] == ["waiting", "failed"], "it may be on its way"
    later(engine)
    sender.sweep()
    assert [(row.state, row.reason) for row in deliveries(engine)] == [("failed", "off"), ("failed", "gone")]


def test_gone_switches_an_endpoint_off_that_took_something_since(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(500)]
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    later(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET delivered_at = now()"))
    receiver.answers["/hook"] = [Answer(410)]
    drain(sender)
    endpoint = the_endpoint(engine, hook.id)
    assert (endpoint.is_on, endpoint.off_reason) == (False, "gone")


def test_after_three_days_without_success_an_endpoint_is_off_and_its_owner_can_send_again(
    engine: Engine, receiver: Receiver, hook: Added, ann: Person, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(500)] * 3
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    later(engine, hours=71)
    drain(sender)
    assert the_endpoint(engine, hook.id).is_on
    later(engine, hours=2)
    drain(sender)
    endpoint, [row] = the_endpoint(engine, hook.id), deliveries(engine)
    assert (endpoint.is_on, endpoint.off_reason, row.state) == (False, "failing", "failed")
    with engine.begin() as connection:
        assert not ledger.resend(connection, id=row.id, account_id=ann.id), "it is off"
        assert not ledger.switch_on(connection, id=hook.id, account_id=ann.id + 1)
        assert ledger.switch_on(connection, id=hook.id, account_id=ann.id)
        assert not ledger.resend(connection, id=row.id, account_id=ann.id + 1)
        assert ledger.resend(connection, id=row.id, account_id=ann.id)
    drain(sender)
    assert [row.state for row in deliveries(engine)] == ["delivered"]
    assert len({posted.id for posted in receiver.posted}) == 1


def test_one_event_that_is_never_taken_switches_nothing_off(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    receiver.answers["/hook"] = [Answer(500)]
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    later(engine, hours=72)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET delivered_at = now()"))
    receiver.answers["/hook"] = [Answer(500)]
    drain(sender)
    assert the_endpoint(engine, hook.id).is_on
    assert [row.state for row in deliveries(engine)] == ["failed"]


def test_what_is_sent_of_a_snooze_waits_for_what_was_before_it_and_others_do_not(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    first = a_snooze(engine, remind_at=now() + HOUR)
    edit(engine, first, 2)
    receiver.answers["/hook"] = [Answer(500)]
    drain(sender)
    other = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET quiet_until = NULL"))
        connection.execute(text("UPDATE webhook_deliveries SET try_at = now() + INTERVAL '1 hour' WHERE attempts > 0"))
    drain(sender)
    assert [posted.content["data"]["id"] for posted in receiver.taken] == [other]
    later(engine)
    drain(sender)
    of_first = [posted for posted in receiver.taken if posted.content["data"]["id"] == first]
    assert [posted.content["type"] for posted in of_first] == ["snooze.created", "snooze.edited", "snooze.edited"]


def test_a_worker_that_is_lost_loses_nothing(
    engine: Engine, receiver: Receiver, hook: Added, sender: WebhookSender
) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    lost = sender.claim()
    assert lost is not None
    assert sender.claim() is None
    later(engine)
    drain(sender)
    assert [row.state for row in deliveries(engine)] == ["delivered"]
    send(sender, lost)
    assert len({posted.id for posted in receiver.posted}) == 1, "at least once, with one id"
    assert [row.state for row in deliveries(engine)] == ["delivered"]


def test_a_private_address_is_never_asked(engine: Engine, receiver: Receiver, hook: Added) -> None:
    """As a name that resolves to one later would be: what it was when it was added proves nothing."""
    a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET url = 'https://127.0.0.1/hook'"))
    drain(the_sender(engine, allow_private=False))
    assert [(row.state, row.reason) for row in deliveries(engine)] == [("waiting", "refused_address")]
    assert receiver.posted == []


def test_two_secrets_sign_while_one_rotates_and_the_new_one_alone_after_it(
    engine: Engine, receiver: Receiver, hook: Added, ann: Person, sender: WebhookSender
) -> None:
    with engine.begin() as connection:
        new = webhooks.rotate(connection, account_id=ann.id, id=hook.id, key_ring=KEYS)
        assert webhooks.rotate(connection, account_id=ann.id + 1, id=hook.id, key_ring=KEYS) is None
    assert new is not None
    assert new.startswith("whsec_")
    assert len(base64.b64decode(new.removeprefix("whsec_"))) == 32
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    receiver.posted[0].verify(new)
    receiver.posted[0].verify(hook.secret)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET previous_until = now() - interval '1 s'"))
    a_snooze(engine, remind_at=now() + HOUR)
    drain(sender)
    receiver.posted[1].verify(new)
    with pytest.raises(WebhookVerificationError):
        receiver.posted[1].verify(hook.secret)


def test_secrets_are_encrypted_renewed_with_a_newer_key_and_without_theirs_the_endpoint_is_off(
    engine: Engine, receiver: Receiver, hook: Added
) -> None:
    before = the_endpoint(engine, hook.id).secret
    assert hook.secret.encode() not in before
    a_snooze(engine, remind_at=now() + HOUR)
    drain(the_sender(engine, keys=("a-newer-key-of-enough-length", *KEYS)))
    receiver.posted[0].verify(hook.secret)
    assert the_endpoint(engine, hook.id).secret != before
    a_snooze(engine, remind_at=now() + HOUR)
    drain(the_sender(engine, keys=KEYS))
    endpoint = the_endpoint(engine, hook.id)
    assert (endpoint.is_on, endpoint.off_reason) == (False, "key")
    assert len(receiver.posted) == 1


def test_what_is_removed_gets_nothing_and_leaves_nothing(
    engine: Engine, receiver: Receiver, hook: Added, ann: Person, sender: WebhookSender
) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    claimed = sender.claim()
    assert claimed is not None
    with engine.begin() as connection:
        assert not ledger.remove(connection, id=hook.id, account_id=ann.id + 1)
        assert ledger.remove(connection, id=hook.id, account_id=ann.id)
    send(sender, claimed)
    assert deliveries(engine) == []


def test_a_test_event_comes_alone_and_waits_for_nothing(
    engine: Engine, receiver: Receiver, hook: Added, ann: Person, sender: WebhookSender
) -> None:
    with engine.begin() as connection:
        assert ledger.enter_test(connection, id=hook.id, account_id=ann.id) is not None
        assert ledger.enter_test(connection, id=hook.id, account_id=ann.id) is None
    drain(sender)
    assert receiver.posted[0].content["type"] == "webhook.test"
    assert receiver.posted[0].content["data"] == {}


def test_old_deliveries_are_pruned_and_orphans_at_once(engine: Engine, hook: Added) -> None:
    for _ in range(3):
        a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE webhook_deliveries SET occurred_at = now() - interval '31 days' WHERE id % 3 = 0")
        )
        connection.execute(text("UPDATE webhook_deliveries SET endpoint_id = 999 WHERE id % 3 = 1"))
        assert notifications.prune(connection, "webhooks", batch_size=100) == 2
    assert len(entered(engine)) == 1
