"""Where a person wants a message back and no reminder: none is sent once the message is back, and one is where it is
not."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, insert, text

from snoozer.db import mailbox_store
from snoozer.db.models import MailboxMessage
from snoozer.delivery.claiming import Delivery, DeliveryConfig, claim_mails, no_failpoint
from snoozer.delivery.settling import Ending, settle
from snoozer.queue import queue
from snoozer.queue.reminder import DeliveryOutcome, UncertainPolicy
from tests.db.invariants import look
from tests.db.links import DAILY
from tests.db.transitions import authorise, refuse_one
from tests.factories import ANN, HOUR, People, a_mailbox, a_snooze, now, the_events, the_row
from tests.next_try import SECOND, set_next_try

MESSAGE = "<offer@mail.example>"
CONFIG = DeliveryConfig(
    worker="w", domain="x.example", lease=HOUR, uncertainty=UncertainPolicy(hold=HOUR), first_delay=HOUR, deadline=60
)


@pytest.fixture
def account_id(people: People) -> int:
    return people.ann().id


def asleep(
    engine: Engine, account_id: int, *, mailbox: dict[str, Any] | None = None, remind_at: Any = None, **columns: Any
) -> int:
    """A snooze that is due, and its message in the folder of what is snoozed; returns the snooze's id."""
    id = a_mailbox(engine, account_id=account_id, **{"brings_back": "return", **(mailbox or {})})
    snooze_id = a_snooze(engine, message_id=MESSAGE, remind_at=remind_at or now() - SECOND, **columns)
    values = {
        "mailbox_id": id,
        "user_email": ANN,
        "message_id": MESSAGE,
        "fingerprint": "0",
        "size": 1,
        "internal_date": now(),
        "home": "INBOX",
        "place": "snoozed",
        "wanted": "snoozed",
        "folder": "Snoozed",
        "uidvalidity": 1,
        "uid": 1,
    }
    with engine.begin() as connection:
        connection.execute(insert(MailboxMessage).values(**values))
    return snooze_id


def bring_back(engine: Engine) -> None:
    with engine.begin() as connection:
        [id] = connection.execute(text("SELECT id FROM messages")).scalars()
        mailbox_store.settle(connection, {id: 7}, place="home", folder="INBOX", uidvalidity=1, fence=0)


def take(engine: Engine) -> Delivery:
    """What a worker claims."""
    claim = partial(queue.claim, worker=CONFIG.worker, batch_size=9, lease=HOUR)
    [delivery] = claim_mails(engine, config=CONFIG, claim=claim, failpoint=no_failpoint)
    return delivery


def settled(engine: Engine, delivery: Delivery) -> DeliveryOutcome | None:
    """How a delivery without a send ends."""
    assert delivery.send is None
    with engine.begin() as connection:
        [outcome] = settle(connection, [Ending(claim=delivery.claim, outcome=None)], config=CONFIG)
    return outcome


def test_a_reminder_waits_for_its_message_and_is_not_sent_once_that_is_back(engine: Engine, account_id: int) -> None:
    id = asleep(engine, account_id)
    promise = the_row(engine, id).remind_at
    assert settled(engine, take(engine)) is DeliveryOutcome.UNCLAIMED
    row = the_row(engine, id)
    assert (row.attempts, row.last_error, row.claimed_at, row.outcome) == (0, None, None, None)
    assert row.scheduled_for == promise
    assert timedelta() < row.remind_at - promise < timedelta(minutes=1)
    bring_back(engine)
    make_due(engine)
    assert settled(engine, take(engine)) is DeliveryOutcome.RETURNED
    row = the_row(engine, id)
    assert (row.outcome, row.attempts, row.last_error) == ("sent", 0, None)
    assert ledger(engine) == [("mailbox", "sent", "alone")]
    assert the_events(engine, id) == ["returned"]
    assert "finished_has_its_send" not in look(engine)


def test_what_repeats_goes_on_without_a_reminder(engine: Engine, account_id: int) -> None:
    id = asleep(engine, account_id, recurrence=DAILY)
    promise = the_row(engine, id).remind_at
    bring_back(engine)
    assert settled(engine, take(engine)) is DeliveryOutcome.RETURNED
    row = the_row(engine, id)
    assert row.outcome is None
    assert row.remind_at > promise + HOUR
    assert ledger(engine) == [("mailbox", "sent", "alone")]


@pytest.mark.parametrize(
    ("change", "minutes"),
    [
        ("UPDATE mailboxes SET state = 'paused', problem = 'login', problem_since = now()", 0),
        ("UPDATE mailboxes SET problem = 'gone', problem_since = now()", 0),
        ("UPDATE mailboxes SET brings_back = 'both'", 0),
        ("DELETE FROM messages", 0),
        ("DELETE FROM mailboxes", 0),
        (
            "INSERT INTO server_starts VALUES (pg_postmaster_start_time(), now() - INTERVAL '1 day') "
            "ON CONFLICT (started_at) DO UPDATE SET met_at = EXCLUDED.met_at",
            16,
        ),
    ],
    ids=["paused", "away", "both", "taken out", "disconnected", "after fifteen minutes"],
)
def test_a_message_that_does_not_come_back_is_reminded_of(
    engine: Engine, account_id: int, change: str, minutes: int
) -> None:
    id = asleep(engine, account_id, remind_at=now() - timedelta(minutes=minutes, seconds=1))
    with engine.begin() as connection:
        connection.execute(text(change))
    delivery = take(engine)
    assert delivery.send is not None
    assert delivery.claim.id == id


def test_a_reminder_that_has_begun_is_sent(engine: Engine, account_id: int) -> None:
    """The server may have it, so it is not forgotten because the message came back meanwhile."""
    asleep(engine, account_id, mailbox={"problem": "gone", "problem_since": now()})
    begun = take(engine)
    assert begun.send is not None
    assert authorise(engine, begun.send)
    with engine.begin() as connection:
        refuse_one(connection, begun.send, reply="The final dot was never sent")
        queue.unclaim(connection, held=[(begun.claim.id, begun.claim.claim_token)])
        connection.execute(text("UPDATE mailboxes SET problem = NULL, problem_since = NULL"))
    bring_back(engine)
    assert take(engine).send is not None


def make_due(engine: Engine) -> None:
    set_next_try(engine, 0 * SECOND)


def ledger(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT channel, state, resolution FROM reminder_sends"))]
