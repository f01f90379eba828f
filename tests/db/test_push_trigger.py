"""What is pushed: each message that is back, once to each device of its person, with the fact itself."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, insert, text

from snoozer.db import health_checks, notifications, push
from snoozer.db.models import Send
from snoozer.delivery.chores.chores import Retention, archive
from snoozer.delivery.chores.returns import return_due
from snoozer.mail.links import Link
from snoozer.people import accounts
from snoozer.queue import ledger
from snoozer.snoozes import reminder_links
from tests.db.pushes import comes_back, reminder_is_sent, without_trigger
from tests.db.transitions import a_held_mail, authorise, claim, mark_uncertain_one, sendable
from tests.factories import ANN, HOUR, People, Person, a_kept_message, a_snooze, now, the_row
from tests.push_service import Subscription, subscribe
from tests.push_service import ledger as pushes

BOB = "bob@snoozer.example"


@pytest.fixture
def device(engine: Engine, ann: Person) -> int:
    return subscribe(engine, Subscription("https://push.example/phone"), account_id=ann.id)


def test_a_message_that_returned_is_pushed_to_each_device_of_its_person(
    engine: Engine, ann: Person, device: int, people: People
) -> None:
    laptop = subscribe(engine, Subscription("https://push.example/laptop"), account_id=ann.id)
    subscribe(engine, Subscription("https://push.example/bob"), account_id=people.ann(BOB).id)
    id = comes_back(engine)
    assert [(row.device_id, row.snooze_id, row.state) for row in pushes(engine)] == [
        (device, id, "reserved"),
        (laptop, id, "reserved"),
    ]


def test_a_reminder_of_a_message_that_is_elsewhere_is_pushed_when_it_is_sent(engine: Engine, device: int) -> None:
    id = a_snooze(engine, user_email=ANN.upper())
    reminder_is_sent(engine)
    assert [(row.device_id, row.snooze_id) for row in pushes(engine)] == [(device, id)]


def test_the_return_and_its_reminder_are_one_push(engine: Engine, device: int) -> None:
    comes_back(engine)
    reminder_is_sent(engine)
    assert len(pushes(engine)) == 1


def test_a_reminder_that_is_sent_before_its_message_is_back_leaves_the_push_to_the_return(
    engine: Engine, device: int
) -> None:
    a_kept_message(engine, message_id="<early@mail.example>")
    id = a_snooze(engine, message_id="<early@mail.example>")
    reminder_is_sent(engine)
    assert pushes(engine) == []
    assert return_due(engine) == [id]
    assert len(pushes(engine)) == 1


def test_nothing_is_pushed_without_a_device_or_for_a_closed_account(engine: Engine, ann: Person) -> None:
    comes_back(engine)
    subscribe(engine, Subscription("https://push.example/phone"), account_id=ann.id)
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
    comes_back(engine)
    assert pushes(engine) == []


def test_what_is_recorded_or_imported_of_earlier_times_is_not_pushed(engine: Engine, device: int) -> None:
    """A history that is brought in is no message that is back now."""
    id = a_snooze(engine, inactive=True, outcome="sent", finished_at=now(), scheduled_for=now() - HOUR)
    row = the_row(engine, id)
    old = now() - 2 * HOUR
    entry = {
        "snooze_id": id,
        "user_email": ANN,
        "message_id": row.message_id,
        "scheduled_for": old,
        "channel": "mailbox",
        "bucket": row.bucket,
        "zone": "UTC",
        "state": "sent",
        "reserved_at": old,
        "sent_at": old,
        "resolution": "returned",
        "resolved_by": "import",
        "resolved_at": now(),
    }
    with engine.begin() as connection:
        connection.execute(insert(Send).values(**entry))
    assert pushes(engine) == []


def test_what_moves_to_the_archive_is_not_pushed_again(engine: Engine, device: int) -> None:
    id = comes_back(engine)
    reminder_is_sent(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE email_snoozes SET claimed_at = NULL, claimed_by = NULL, claim_token = NULL, "
                "lease_expires_at = NULL, inactive = TRUE, outcome = 'sent', finished_at = now() - INTERVAL '99 days'"
            )
        )
        connection.execute(text("DELETE FROM push_sends"))
    assert archive(engine, config=Retention(archive_after=timedelta(days=35), keep_months=24)) == 1
    assert pushes(engine) == []
    assert id


def test_a_reminder_that_its_person_has_answered_is_not_pushed(engine: Engine, device: int) -> None:
    """It was uncertain, and an act on its link says that it arrived."""
    held, send = a_held_mail(engine)
    authorise(engine, send)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        assert ledger.acknowledge(connection, snooze_id=held.id, scheduled_for=held.scheduled_for, by_mail=True)
    assert pushes(engine) == []


def test_the_buttons_act_before_the_reminder_is_sent(engine: Engine, device: int) -> None:
    """The message is back while the mail server is away: Done is for it, and no reminder comes later."""
    id = comes_back(engine, note="call first")
    link = Link(snooze_id=id, scheduled_for=the_row(engine, id).remind_at, action="done")
    with engine.begin() as connection:
        occurrence = reminder_links.find(connection, link=link, acting=True)
        assert occurrence is not None
        assert (occurrence.subject, occurrence.note, occurrence.status) == ("Quarterly figures", "call first", "open")
        assert reminder_links.done(connection, occurrence=occurrence, route="notification")
    assert the_row(engine, id).outcome == "cancelled"
    assert claim(engine) == []


def test_the_doctor_sees_a_trigger_that_is_switched_off(engine: Engine, device: int) -> None:
    for name in ("reminder_sends_push_return", "reminder_sends_push_reminder"):
        with without_trigger(engine, name), engine.connect() as connection:
            assert name in [one.name for one in health_checks.disabled_guards(connection)]


def test_the_trigger_works_in_a_schema_of_another_name(engine: Engine, device: int) -> None:
    """It must not look for its tables in `public`: an installation may have a schema of its own."""
    with engine.connect() as connection:
        source = connection.execute(
            text("SELECT prosrc FROM pg_proc WHERE proname = 'reminder_sends_push'")
        ).scalar_one()
    assert "public" not in source


def test_a_device_that_is_removed_gets_nothing_that_was_waiting(engine: Engine, ann: Person, device: int) -> None:
    comes_back(engine)
    with engine.begin() as connection:
        assert push.remove(connection, id=device, account_id=ann.id)
        assert not push.remove(connection, id=device, account_id=ann.id)
    assert [(row.state, row.reason) for row in pushes(engine)] == [("failed", "removed")]


def test_pushes_that_are_long_over_are_deleted(engine: Engine, device: int) -> None:
    comes_back(engine)
    comes_back(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE push_sends SET created_at = now() - INTERVAL '31 days'"))
        connection.execute(text("UPDATE push_sends SET state = 'sent', finished_at = now() WHERE id = 1"))
        assert notifications.prune(connection, "push", batch_size=100) == 1
    assert len(pushes(engine)) == 1


def test_reserving_a_reminder_pushes_nothing(engine: Engine, device: int) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    sendable(engine, held)
    assert pushes(engine) == []
