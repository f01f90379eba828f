"""Which events webhooks have: each in the transaction of its fact, from any writer, and to whom it is for."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Sighting
from snoozer.mail.links import Link
from snoozer.people import accounts
from snoozer.queue.promise import EnqueueOptions, ReminderTime
from snoozer.snoozes import reminder_links
from snoozer.snoozes.acts import Annotate, Pause
from tests.acting import cancel, done, snooze, undo
from tests.db.operations import operate
from tests.db.pushes import comes_back, reminder_is_sent
from tests.db.transitions import a_held_mail, authorise, claim, finalize, record, release, schedule_next_one, sendable
from tests.factories import ANN, HOUR, People, Person, a_mailbox, a_snooze, now, the_row
from tests.next_try import SECOND, set_next_try
from tests.webhook_receiver import an_endpoint, deliveries, entered

BOB = "bob@snoozer.example"
DAILY = {"rule": "FREQ=DAILY", "start": "2026-01-01T09:00:00"}


@pytest.fixture
def hook(engine: Engine, ann: Person) -> int:
    return an_endpoint(engine, account_id=ann.id).id


def change(engine: Engine, statement: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement), values)


def is_over(engine: Engine) -> None:
    """The reminder of the one snooze that is due is sent, and it is finished."""
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert authorise(engine, entry)
    record(engine, entry)
    assert finalize(engine, held)


def is_done_by_its_link(engine: Engine, id: int) -> None:
    with engine.begin() as connection:
        link = Link(snooze_id=id, scheduled_for=the_row(engine, id).scheduled_for)
        occurrence = reminder_links.find(connection, link=link, acting=True)
        assert occurrence is not None
        assert reminder_links.done(connection, occurrence=occurrence, route="test")


def sighting(message_id: str) -> Sighting:
    return Sighting(
        user_email=ANN,
        message_id=message_id,
        header_id=message_id,
        fingerprint="0" * 64,
        size=1,
        internal_date=now(),
        home="INBOX",
        place="home",
        folder="INBOX",
        uidvalidity=1,
        uid=10,
    )


def lies_in_the_inbox(engine: Engine, id: int, *, mailbox: int) -> None:
    """The message of a snooze is entered as one of a connected mailbox that is home."""
    with engine.begin() as connection:
        seen = sighting(the_row(engine, id).message_id)
        assert mailbox_store.notice(connection, seen, mailbox_id=mailbox, fence=0, wanted="home")
        connection.execute(text("UPDATE messages SET wanted = 'home', returns_at = NULL, snooze_id = NULL"))


def change_place(connection: Connection, message_id: str) -> None:
    """The process that watches the mailbox has moved it aside."""
    found = connection.execute(text("SELECT id FROM messages WHERE message_id = :id"), {"id": message_id})
    mailbox_store.settle(connection, {found.scalar_one(): 70}, place="aside", folder="Archive", uidvalidity=7, fence=0)


def is_archived(engine: Engine, id: int, *, mailbox: int, act: str) -> None:
    message_id = the_row(engine, id).message_id
    with engine.begin() as connection:
        if act == "one":
            mailbox_store.follow(connection, ("INBOX", 1, 10), ("Archive", 7, 70), mailbox_id=mailbox, place="aside")
        else:
            seen = sighting(message_id)
            mailbox_store.relocate(connection, [seen], mailbox_id=mailbox, wanted="aside", aside="Archive")
            change_place(connection, message_id)


def test_a_raw_insert_and_what_becomes_of_it_is_entered_in_order(engine: Engine, hook: int) -> None:
    change(
        engine,
        "INSERT INTO email_snoozes (user_email, message_id, remind_at, subject, reference) "
        "VALUES ('Ann@Snoozer.example', '<1@x>', now() - interval '1 min', 'Secret', 'deal-7')",
    )
    [held] = claim(engine)
    assert release(engine, held) == "released"
    set_next_try(engine, 0 * SECOND)
    reminder_is_sent(engine)
    assert entered(engine) == ["created", "due", "sent"]
    for row in deliveries(engine):
        assert (row.endpoint_id, row.snooze_id, row.reference, row.subject) == (hook, held.id, "deal-7", None)
        assert row.scheduled_for == held.scheduled_for
        assert (row.state, row.repeats) == ("waiting", False)


def test_the_events_of_a_transaction_that_is_rolled_back_never_were(engine: Engine, hook: int) -> None:
    with engine.connect() as connection:
        connection.execute(
            text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:ann, '<1@x>', now())"),
            {"ann": ANN},
        )
        connection.rollback()
    assert entered(engine) == []


def test_what_its_owner_changes_is_edited_and_what_workers_write_is_not(engine: Engine, hook: int) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        done(connection, id, Annotate(note="Call"))
    assert entered(engine) == ["created", "edited"]
    with engine.begin() as connection:
        done(connection, id, Annotate(note="Call"))
        connection.execute(text("UPDATE email_snoozes SET priority = 3, attempts = 2, max_attempts = 9"))
    assert entered(engine) == ["created", "edited"], "nothing of theirs is another"
    at = ReminderTime(remind_at=now() + 2 * HOUR)
    with engine.begin() as connection:
        options = EnqueueOptions(reference="deal-8")
        row = the_row(engine, id)
        snooze(connection, message_id=row.message_id, reminder_time=at, options=options)
    assert entered(engine)[2:] == ["edited"]
    assert deliveries(engine)[2].reference == "deal-8"
    for statement in ("pause", "resume"):
        with engine.begin() as connection:
            if statement == "pause":
                assert done(connection, id, Pause())
            else:
                connection.execute(text("UPDATE email_snoozes SET inactive = FALSE"))
    assert entered(engine)[3:] == ["edited", "edited"]


def test_what_is_cancelled_stuck_and_back_again_is_entered(engine: Engine, hook: int) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        cancel(connection, id)
    with engine.begin() as connection:
        undo(connection, id)
    change(engine, "UPDATE email_snoozes SET remind_at = now() - interval '1 s'")
    [held] = claim(engine)
    assert release(engine, held, permanent=True) == "retired"
    assert entered(engine) == ["created", "cancelled", "edited", "edited", "due", "stuck"]
    with engine.begin() as connection:
        operate(connection, "dismiss", [id])
    assert entered(engine)[6:] == ["cancelled"]


def test_what_repeats_is_due_and_sent_each_time_and_not_edited_by_that(engine: Engine, hook: int) -> None:
    held, send = a_held_mail(engine, recurrence=DAILY)
    authorise(engine, send)
    record(engine, send)
    with engine.begin() as connection:
        assert schedule_next_one(connection, held, now() - timedelta(seconds=1))
    [again] = claim(engine)
    assert entered(engine) == ["created", "due", "sent", "due"]
    rows = deliveries(engine)
    assert {row.repeats for row in rows} == {True}
    assert rows[1].scheduled_for != rows[3].scheduled_for == again.scheduled_for
    assert not finalize(engine, held)


def test_a_message_that_is_back_is_returned_and_then_done_once(engine: Engine, hook: int) -> None:
    id = comes_back(engine)
    is_over(engine)
    row = the_row(engine, id)
    is_done_by_its_link(engine, id)
    assert entered(engine) == ["created", "returned", "due", "sent", "done"]
    with engine.begin() as connection:
        mailbox_store.move(connection, user_email=ANN, message_id=row.message_id, folder="done")
    assert entered(engine).count("done") == 1


def test_a_reminder_of_a_message_that_is_elsewhere_is_done_by_its_link(engine: Engine, hook: int) -> None:
    id = a_snooze(engine)
    is_over(engine)
    is_done_by_its_link(engine, id)
    assert entered(engine) == ["created", "due", "sent", "done"]


@pytest.mark.parametrize("act", ["one", "many"])
def test_a_message_of_a_connected_mailbox_is_done_once_it_is_in_the_archive(
    act: str, engine: Engine, hook: int, ann: Person
) -> None:
    """A page moves one message itself; many are moved by the process that watches the mailbox."""
    id = a_snooze(engine)
    mailbox = a_mailbox(engine, account_id=ann.id)
    lies_in_the_inbox(engine, id, mailbox=mailbox)
    is_over(engine)
    before = entered(engine)
    is_archived(engine, id, mailbox=mailbox, act=act)
    assert entered(engine) == [*before, "done"]
    assert deliveries(engine)[-1].snooze_id == id
    with engine.begin() as connection:
        mailbox_store.follow(connection, ("Archive", 7, 70), ("INBOX", 1, 11), mailbox_id=mailbox, place="home")
    assert entered(engine) == [*before, "done"], "it is in the inbox again"


def test_what_was_done_by_its_link_is_not_done_again_by_its_archive(engine: Engine, hook: int, ann: Person) -> None:
    id = a_snooze(engine)
    mailbox = a_mailbox(engine, account_id=ann.id)
    lies_in_the_inbox(engine, id, mailbox=mailbox)
    is_over(engine)
    is_done_by_its_link(engine, id)
    is_archived(engine, id, mailbox=mailbox, act="one")
    assert entered(engine).count("done") == 1


def test_what_was_never_snoozed_is_archived_without_a_word(engine: Engine, hook: int, ann: Person) -> None:
    mailbox = a_mailbox(engine, account_id=ann.id)
    seen = sighting("<never@x>")
    with engine.begin() as connection:
        mailbox_store.relocate(connection, [seen], mailbox_id=mailbox, wanted="aside", aside="Archive")
        change_place(connection, seen.message_id)
    assert entered(engine) == []


def test_events_are_for_endpoints_that_chose_them_and_for_no_other_person(
    engine: Engine, ann: Person, people: People
) -> None:
    few = an_endpoint(engine, account_id=ann.id, url="https://hooks.example/few", events=("due",)).id
    shown = an_endpoint(engine, account_id=ann.id, url="https://hooks.example/all", subject=True).id
    an_endpoint(engine, account_id=people.ann(BOB).id)
    a_snooze(engine, subject="Plans")
    claim(engine)
    found = [(row.endpoint_id, row.event, row.subject) for row in deliveries(engine)]
    assert sorted(found, key=str) == sorted(
        [(shown, "created", "Plans"), (few, "due", None), (shown, "due", "Plans")], key=str
    )


def test_nothing_is_entered_for_what_is_off_or_closed(engine: Engine, ann: Person, people: People) -> None:
    off = an_endpoint(engine, account_id=ann.id).id
    change(
        engine, "UPDATE webhook_endpoints SET is_on = FALSE, off_reason = 'gone', off_at = now() WHERE id = :id", id=off
    )
    an_endpoint(engine, account_id=people.ann(BOB).id)
    with engine.begin() as connection:
        accounts.close(connection, email=BOB)
    a_snooze(engine)
    a_snooze(engine, user_email=BOB)
    assert entered(engine) == []


def test_a_producer_with_no_other_right_is_seen_too(engine: Engine, hook: int) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE ROLE hook_producer"))
        connection.execute(text("GRANT INSERT ON email_snoozes TO hook_producer"))
        connection.execute(text("GRANT USAGE ON email_snoozes_id_seq TO hook_producer"))
    try:
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL ROLE hook_producer"))
            connection.execute(
                text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:ann, '<1@x>', now())"),
                {"ann": ANN},
            )
        assert entered(engine) == ["created"]
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP OWNED BY hook_producer"))
            connection.execute(text("DROP ROLE hook_producer"))
