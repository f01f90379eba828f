"""A push by the protocol of its ledger: marked before it leaves, sent once, and given up where that is better."""

import socket
from datetime import timedelta
from email.utils import format_datetime
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import notifications, push
from snoozer.db.notifications import Outcome
from snoozer.mail import links
from snoozer.notify.http_sender import MAX_PAUSE
from snoozer.notify.push_channel import PushSender
from snoozer.notify.send_loop import drain, send
from tests.db.pushes import comes_back, devices, sooner, the_sender
from tests.factories import People, Person, now, the_row
from tests.push_service import KEYS, Answer, PushService, Subscription, claims_of, ledger, states, subscribe

BOB = "bob@snoozer.example"


@pytest.fixture
def sender(engine: Engine) -> PushSender:
    return the_sender(engine)


def test_a_push_is_sent_once_and_only_its_browser_can_read_it(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    id = comes_back(engine, subject="Secret plans")
    drain(sender)
    drain(sender)
    [pushed], [read] = service.pushed, service.of(phone)
    assert read["title"] == "A message is back"
    assert read["body"] == ""
    assert read["open"] == f"/push/open/{id}"
    assert [one["title"] for one in read["buttons"]] == ["Done", "+1 h", "Tomorrow"]
    assert b"Secret" not in pushed.body
    assert pushed.headers["content-encoding"] == "aes128gcm"
    assert 14_000 < int(pushed.headers["ttl"]) <= 14_400
    claims = claims_of(pushed.headers["authorization"])
    assert claims["aud"] == phone.url.rpartition("/")[0]
    assert claims["sub"] == "mailto:ops@snoozer.example"
    assert states(engine) == ["sent"]
    assert devices(engine)[0].sent_at is not None


def test_each_button_has_a_token_that_does_one_thing_with_this_occurrence(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    id = comes_back(engine)
    drain(sender)
    [read] = service.of(phone)
    found = [links.verify(one["token"], keys=KEYS) for one in read["buttons"]]
    assert [(link.action, link.phrase) for link in found] == [
        ("done", None),
        ("again", "in 1 hour"),
        ("again", "tomorrow"),
    ]
    assert {(link.snooze_id, link.scheduled_for) for link in found} == {(id, the_row(engine, id).remind_at)}


def test_the_subject_is_shown_where_it_was_chosen_and_in_one_line(
    engine: Engine, service: PushService, ann: Person, sender: PushSender
) -> None:
    phone = service.subscription()
    subscribe(engine, phone, account_id=ann.id, subject=True)
    comes_back(engine, subject="Plans\r\nfor  \u202espring " + "x" * 500)
    drain(sender)
    [read] = service.of(phone)
    assert read["body"].startswith("Plans for spring x")
    assert len(read["body"]) == 151


def test_a_push_is_in_the_language_of_its_person(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))
    comes_back(engine)
    drain(sender)
    assert service.of(phone)[0]["title"] == "Eine Nachricht ist zurück"


@pytest.mark.parametrize("status", [500, 503, 429])
def test_what_a_busy_push_service_refuses_is_sent_later_and_once(
    status: int, engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    service.answers["/phone"] = [Answer(status), Answer(status)]
    comes_back(engine)
    drain(sender)
    [waiting] = ledger(engine)
    assert (waiting.state, waiting.attempts, waiting.status) == ("reserved", 1, status)
    assert waiting.try_at > now()
    drain(sender)
    assert len(service.pushed) == 1, "it waits"
    for _ in range(3):
        sooner(engine)
        drain(sender)
    assert len(service.pushed) == 3
    assert states(engine) == ["sent"]
    assert devices(engine)[0].failures == 0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        (lambda: format_datetime(now() + timedelta(seconds=300), usegmt=True), 299),
        ("soon", 0),
        ("9" * 40, 1800),
    ],
)
def test_the_push_service_says_when_it_is_asked_again(
    header: Any,
    seconds: int,
    engine: Engine,
    service: PushService,
    phone: Subscription,
    sender: PushSender,
) -> None:
    value = header() if callable(header) else header
    service.answers["/phone"] = [Answer(503, {"Retry-After": value})]
    comes_back(engine)
    drain(sender)
    [waiting] = ledger(engine)
    left = waiting.try_at - waiting.marked_at
    assert timedelta(seconds=seconds - 2) < left <= max(timedelta(seconds=seconds + 30), MAX_PAUSE)


@pytest.mark.parametrize("status", [404, 410])
def test_a_device_that_is_gone_is_removed_with_all_that_waits_for_it(
    status: int, engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    service.answers["/phone"] = [Answer(status)]
    comes_back(engine)
    comes_back(engine)
    drain(sender)
    assert len(service.pushed) == 1
    assert devices(engine) == []
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "gone"), ("failed", "gone")]
    comes_back(engine)
    assert len(ledger(engine)) == 2


@pytest.mark.parametrize("status", [400, 403, 413, 301])
def test_what_is_refused_for_good_is_not_tried_again_and_its_device_shows_it(
    status: int, engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    service.answers["/phone"] = [Answer(status, {"Location": "http://127.0.0.1:1/"})]
    comes_back(engine)
    drain(sender)
    sooner(engine)
    drain(sender)
    assert (states(engine), len(service.pushed)) == (["failed"], 1)
    assert devices(engine)[0].problem is not None


def test_a_push_without_an_answer_is_uncertain_and_not_repeated(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    """A second notification is worth less than none."""
    ends = Event()

    def silence() -> Answer:
        ends.wait(30)
        return Answer()

    service.answers["/phone"] = [silence]
    comes_back(engine)
    sender = the_sender(engine, seconds=0.3)
    drain(sender)
    sooner(engine)
    drain(sender)
    ends.set()
    [row] = ledger(engine)
    assert (row.state, row.reason, len(service.pushed)) == ("uncertain", "slow", 1)
    assert devices(engine)[0].failures == 1


def test_a_late_answer_is_a_fact(engine: Engine, service: PushService, phone: Subscription, sender: PushSender) -> None:
    """Of a sender that was frozen: by then the sweep had given it up."""
    comes_back(engine)
    claimed = sender.claim()
    assert claimed is not None
    with engine.begin() as connection:
        assert notifications.mark(connection, claimed, lease=timedelta(seconds=-1))
    sender.sweep()
    assert states(engine) == ["uncertain"]
    with engine.begin() as connection:
        notifications.record(connection, claimed, Outcome(status=201))
    assert states(engine) == ["sent"]


def test_a_push_service_that_is_away_is_tried_again(engine: Engine, ann: Person, sender: PushSender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    subscribe(engine, Subscription(f"http://127.0.0.1:{port}/away"), account_id=ann.id)
    comes_back(engine)
    drain(sender)
    [row] = ledger(engine)
    assert (row.state, row.reason, row.marked_at) == ("reserved", "unreachable", None)


def test_an_address_inside_of_the_network_is_never_connected_to(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    comes_back(engine)
    drain(the_sender(engine, allow_private=False))
    [row] = ledger(engine)
    assert (row.state, service.pushed) == ("failed", [])
    assert row.reason in {"insecure", "port", "refused_address"}


def test_what_comes_too_late_is_not_pushed(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    comes_back(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE push_sends SET expires_at = now()"))
    drain(sender)
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "too late")]
    assert service.pushed == []


def test_a_lost_claim_sends_nothing(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    """Another sender has it since, and sends it once."""
    comes_back(engine)
    first = sender.claim()
    assert first is not None
    assert sender.claim() is None
    sooner(engine)
    second = sender.claim()
    assert second is not None
    sender.send(second)
    sender.send(first)
    assert (states(engine), len(service.pushed)) == (["sent"], 1)


def test_a_device_that_is_removed_before_the_mark_gets_nothing(
    engine: Engine, service: PushService, phone: Subscription, ann: Person, sender: PushSender
) -> None:
    comes_back(engine)
    claimed = sender.claim()
    assert claimed is not None
    with engine.begin() as connection:
        push.remove(connection, id=claimed.device_id, account_id=ann.id)
    sender.send(claimed)
    assert service.pushed == []


def test_a_device_that_another_person_took_over_before_the_mark_gets_nothing_of_the_first(
    engine: Engine, service: PushService, phone: Subscription, people: People, sender: PushSender
) -> None:
    comes_back(engine)
    claimed = sender.claim()
    assert claimed is not None
    assert subscribe(engine, phone, account_id=people.ann(BOB).id) == claimed.device_id
    sender.send(claimed)
    assert service.pushed == []


def test_nothing_is_pushed_for_a_closed_account(
    engine: Engine, service: PushService, phone: Subscription, ann: Person, sender: PushSender
) -> None:
    comes_back(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET disabled_at = now()"))
    assert sender.claim() is None
    sender.sweep()
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "removed")]


@pytest.mark.parametrize(
    ("step", "state"), [("push_claimed", "sent"), ("push_marked", "uncertain"), ("push_answered", "uncertain")]
)
def test_a_defect_of_ours_keeps_no_other_push_of_its_person_waiting(
    step: str, state: str, engine: Engine, service: PushService, phone: Subscription
) -> None:
    def fail(present: str, device: str) -> None:
        if present == step:
            raise RuntimeError

    comes_back(engine)
    comes_back(engine)
    failing = the_sender(engine, failpoint=fail)
    claimed = failing.claim()
    assert claimed is not None
    send(failing, claimed)
    assert [row.claimed_until for row in ledger(engine)] == [None, None]
    sooner(engine)
    drain(the_sender(engine))
    assert sorted(states(engine)) == sorted([state, "sent"])


def test_a_push_that_fails_here_again_and_again_is_given_up(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    def fail(step: str, device: str) -> None:
        raise RuntimeError

    comes_back(engine)
    failing = the_sender(engine, failpoint=fail)
    for _ in range(4):
        sooner(engine)
        drain(failing)
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "error")]


def test_a_process_that_is_to_end_gives_back_what_it_has_not_begun(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    stopping = Event()
    comes_back(engine)
    leaving = the_sender(engine, stopping=stopping)
    claimed = leaving.claim()
    assert claimed is not None
    stopping.set()
    leaving.send(claimed)
    drain(the_sender(engine))
    assert (states(engine), len(service.pushed)) == (["sent"], 1)


def test_the_many_messages_of_one_person_do_not_take_all_turns(
    engine: Engine, service: PushService, phone: Subscription, people: People, sender: PushSender
) -> None:
    """Ann's pushes are on their way to a service that is silent: Bob's is claimed next."""
    for _ in range(5):
        comes_back(engine)
    bob = people.ann(BOB)
    bobs = subscribe(engine, service.subscription("bob"), account_id=bob.id)
    comes_back(engine, user_email=BOB)
    first, second, third = (sender.claim() for _ in range(3))
    assert first is not None
    assert second is not None
    assert second.device_id == bobs
    assert third is None


def test_a_device_whose_service_is_away_waits_with_all_that_is_for_it(
    engine: Engine, service: PushService, phone: Subscription, sender: PushSender
) -> None:
    service.answers["/phone"] = [Answer(503)]
    for _ in range(3):
        comes_back(engine)
    drain(sender)
    assert len(service.pushed) == 1
    comes_back(engine)
    assert all(row.try_at > now() for row in ledger(engine))
