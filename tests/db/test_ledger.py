"""What the ledger promises: one send for one promise, marks before dots, facts that stay."""

from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from quopri import decodestring

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from snoozer.db import accounts
from snoozer.mail.compose import ReminderWriter
from snoozer.queue import ledger
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import UncertainPolicy
from tests.acting import cancel, reschedule
from tests.db.transitions import (
    HOLD,
    SHA,
    a_held_mail,
    authorise,
    claim,
    lapse,
    mark_uncertain_one,
    record,
    recover,
    recovered,
    refuse_one,
    release_one,
    sendable,
)
from tests.factories import ANN, a_kept_message, a_snooze, now, the_send

WRITER = ReminderWriter(
    mail_from="s@snoozer.example", base_url="https://snoozer.example", keys=["key"], instance="snoozer.example"
)
TWO_LOOKS = UncertainPolicy(hold=timedelta(0), lookups=2)


def test_retries_of_one_promise_share_one_entry_and_one_message_id(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    first = the_send(engine, held.id)
    with engine.begin() as connection:
        refuse_one(connection, send, reply="451 later", smtp_code=451)
        release_one(connection, held, error="451", attempts_used=1, delay=timedelta(seconds=-1))
    [again] = claim(engine)
    [entry] = sendable(engine, again)
    assert entry.reminder_message_id == send.reminder_message_id
    assert entry.dated == send.dated
    assert authorise(engine, entry)
    second = the_send(engine, held.id)
    assert (second.id, second.claim_token) == (first.id, again.claim_token)


def test_a_new_time_is_a_new_promise_with_a_new_message_id(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    with engine.begin() as connection:
        reschedule(connection, held.id, ReminderTime(remind_at=now() - timedelta(seconds=5)))
    [again] = claim(engine)
    [entry] = sendable(engine, again)
    assert entry.reminder_message_id != send.reminder_message_id


def test_a_reminder_whose_entry_was_lost_is_made_again_of_the_same_bytes(engine: Engine) -> None:
    """As after a failover to a replica that missed the last commits: its copies differed in Date."""
    promised = now() - timedelta(minutes=2)
    held, send = a_held_mail(engine, remind_at=promised, created_at=promised - timedelta(days=3), note="Ask.")
    assert authorise(engine, send)
    again = recovered(engine, held)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM reminder_sends"))
    [entry] = sendable(engine, again)
    assert entry.bytes_sha256 is None
    mail = WRITER.write(entry)
    assert mail == WRITER.write(send)
    assert f"\r\nDate: {format_datetime(promised)}\r\n".encode() in mail


def test_a_late_reminder_says_at_its_send_how_late_it_is_and_its_second_copy_says_the_same(engine: Engine) -> None:
    promised, hour = now() - timedelta(hours=5, seconds=30), timedelta(hours=1)
    held, send = a_held_mail(engine, remind_at=promised, created_at=promised - timedelta(days=3))
    assert (send.late_by, send.as_of) == (5 * hour, promised + 5 * hour)
    # The dot is authorised, and no answer comes; an hour passes.
    first = replace(send, late_by=4 * hour, as_of=promised + 4 * hour)
    mail = WRITER.write(first)
    assert b"This comes 4 hours late." in mail
    assert authorise(engine, first, sha=sha256(mail).hexdigest())
    again = recovered(engine, held)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = uncertain_at - INTERVAL '1 day'"))
    [copy] = sendable(engine, again)
    assert copy.bytes_sha256 is not None
    assert WRITER.write(copy) == mail
    # The server refuses it, so no copy left: the next mail says how late it is then.
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = NULL, state = 'sending'"))
        refuse_one(connection, replace(copy, claim_token=send.claim_token), reply="451 later", smtp_code=451)
    [entry] = sendable(engine, again)
    assert (entry.bytes_sha256, entry.late_by) == (None, 5 * hour)


@pytest.mark.parametrize(
    ("entered", "late_by"), [("10 days", timedelta(days=2)), ("1 hour", timedelta(hours=1)), ("4 minutes", None)]
)
def test_a_reminder_is_late_from_when_it_was_entered(engine: Engine, entered: str, late_by: timedelta | None) -> None:
    a_snooze(engine, remind_at=now() - timedelta(days=2))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE email_snoozes SET created_at = now() - INTERVAL '{entered}'"))  # noqa: S608
    [held] = claim(engine)
    [send] = sendable(engine, held)
    assert send.late_by == late_by
    assert send.as_of == send.dated + (late_by or timedelta())


def test_a_late_reminder_says_that_the_mail_server_was_away_if_that_is_known(engine: Engine) -> None:
    promised = now() - timedelta(days=3)
    held, send = a_held_mail(engine, remind_at=promised, created_at=promised - timedelta(days=3))
    assert b"This comes 3 days late." in WRITER.write(send)
    with engine.begin() as connection:
        release_one(connection, held, error="421 closing", attempts_used=0, delay=timedelta(seconds=-1))
    [again] = claim(engine)
    [late] = sendable(engine, again)
    assert late.delayed_by == "mail server"
    words = decodestring(WRITER.write(late)).decode()
    assert "This comes 3 days late, because our mail server could not be reached." in words
    assert authorise(engine, late)
    assert the_send(engine, held.id).delayed_by == "mail server"


def test_a_reminder_that_is_sent_again_stays_in_its_language(engine: Engine) -> None:
    """Its person chose another one between the first copy and the second, which must be the same mail."""
    with engine.begin() as connection:
        id = accounts.create(connection, email=ANN, role=None, zone="Europe/Berlin").id
        accounts.set_preferences(connection, id=id, zone="Europe/Berlin", locale="de_DE")
    held, send = a_held_mail(engine)
    assert send.locale == "de_DE"
    assert authorise(engine, send)
    again = recovered(engine, held)
    with engine.begin() as connection:
        accounts.set_preferences(connection, id=id, zone="Europe/Berlin", locale="en_US")
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = uncertain_at - INTERVAL '1 day'"))
    [entry] = sendable(engine, again)
    assert entry.resends == 1
    assert WRITER.write(entry) == WRITER.write(send)


@pytest.mark.parametrize(
    ("promised", "created", "dated"),
    [
        ("2026-03-06T07:00:00+00:00", "2026-03-01T00:00:00+00:00", "2026-03-06T07:00:00+00:00"),
        ("1970-01-01T00:00:00+00:00", "2026-03-06T07:00:00+00:00", "2026-03-06T07:00:00+00:00"),
        ("2026-03-06T07:00:00+00:00", "9998-06-01T00:00:00+00:00", "9998-06-01T00:00:00+00:00"),
    ],
)
def test_a_reminder_is_dated_when_it_was_promised_or_entered(
    engine: Engine, promised: str, created: str, dated: str
) -> None:
    """A mail of 1970 would lie at the bottom of its inbox, and count as spam."""
    a_snooze(engine, remind_at=datetime.fromisoformat(promised))
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET created_at = :created"), {"created": created})
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert entry.dated == datetime.fromisoformat(dated)
    assert WRITER.write(entry)


def test_what_was_sent_is_never_sent_again(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    record(engine, send)
    again = recovered(engine, held)
    assert sendable(engine, again) == []
    with engine.connect() as connection:
        known = ledger.lookup(connection, snooze_id=again.id, uncertainty=UncertainPolicy(hold=HOLD))
    assert known is not None
    assert known.state == "sent"


def test_sent_never_leaves(engine: Engine) -> None:
    _, send = a_held_mail(engine)
    authorise(engine, send)
    record(engine, send)
    with pytest.raises(IntegrityError, match="stays sent"), engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'failed', sent_at = NULL"))


def test_a_worker_lost_after_the_mark_leaves_an_uncertain_send(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    [found] = recover(engine)
    assert found.uncertain is True
    assert the_send(engine, held.id).uncertain_at is not None


def test_a_worker_lost_before_the_mark_leaves_nothing_uncertain(engine: Engine) -> None:
    held, _ = a_held_mail(engine)
    lapse(engine, [held.id])
    [found] = recover(engine)
    assert found.uncertain is False
    assert the_send(engine, held.id) is None


def test_an_uncertain_send_waits_out_its_hold_and_is_resent_twice_at_most(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    for _ in range(2):
        assert authorise(engine, send)
        held = recovered(engine, held)
        assert sendable(engine, held) == [], "still on hold"
        assert sendable(engine, held, hold=timedelta(0), for_operator=True) == []
        [entry] = sendable(engine, held, hold=timedelta(0))
        send = entry
    assert authorise(engine, send)
    lapse(engine, [held.id])
    [found] = recover(engine)
    assert found.retired is True
    assert the_send(engine, held.id).resends == 2


def test_a_reminder_found_in_the_mailbox_is_not_sent_again(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    again = recovered(engine, held)
    a_kept_message(engine, message_id=send.reminder_message_id)
    with engine.begin() as connection:
        assert ledger.verify(connection, uncertainty=TWO_LOOKS, batch_size=10) == [(held.id, True)]
    row = the_send(engine, held.id)
    assert (row.state, row.resolution, row.resolved_by) == ("sent", "verified", "mailbox")
    assert sendable(engine, again, hold=timedelta(0), lookups=2) == []


def test_a_reminder_is_missed_twice_before_it_is_sent_again(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    again = recovered(engine, held)
    a_kept_message(engine)
    a_kept_message(engine, message_id=send.reminder_message_id, user_email="bob@snoozer.example")
    for looks in (1, 2):
        assert sendable(engine, again, hold=timedelta(0), lookups=2) == []
        with engine.begin() as connection:
            assert ledger.verify(connection, uncertainty=TWO_LOOKS, batch_size=10) == [(held.id, False)]
        assert the_send(engine, held.id).looks == looks
    assert len(sendable(engine, again, hold=timedelta(0), lookups=2)) == 1


def test_lookups_during_the_hold_do_not_count(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    recovered(engine, held)
    patient = UncertainPolicy(hold=HOLD, lookups=2)
    with engine.begin() as connection:
        ledger.verify(connection, uncertainty=patient, batch_size=10)
        known = ledger.lookup(connection, snooze_id=held.id, uncertainty=patient)
    assert the_send(engine, held.id).looks == 0
    assert known is not None
    assert known.hold_left is not None
    assert known.hold_left > HOLD - timedelta(seconds=30)


def test_a_refusal_after_the_dot_frees_the_entry_for_a_retry(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    with engine.begin() as connection:
        assert refuse_one(connection, send, reply="greylisted", smtp_code=451)
    row = the_send(engine, held.id)
    assert (row.state, row.smtp_code, row.reply, row.bytes_sha256) == ("failed", 451, "greylisted", None)


def test_a_late_refusal_ends_the_uncertainty_and_the_next_copy_is_the_same(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    recovered(engine, held)
    with engine.begin() as connection:
        assert refuse_one(connection, send, reply="greylisted", smtp_code=451)
    row = the_send(engine, held.id)
    assert (row.state, row.resolution, row.resolved_by, row.bytes_sha256) == ("failed", "late refusal", "server", SHA)


def test_a_late_mark_uncertain_changes_nothing(engine: Engine) -> None:
    held, first = a_held_mail(engine)
    authorise(engine, first)
    [entry] = sendable(engine, recovered(engine, held), hold=timedelta(0))
    authorise(engine, entry)
    with engine.begin() as connection:
        assert not mark_uncertain_one(connection, first)
    assert the_send(engine, held.id).state == "sending"
    record(engine, entry)
    with engine.begin() as connection:
        assert not mark_uncertain_one(connection, entry)


def test_a_mark_of_a_cancelled_snooze_and_a_dead_worker_becomes_uncertain(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    with engine.begin() as connection:
        cancel(connection, held.id)
        assert ledger.expire_orphans(connection, deadline=timedelta(minutes=12), batch_size=10) == []
        assert ledger.expire_orphans(connection, deadline=timedelta(seconds=-1), batch_size=10) == [held.id]
        assert ledger.abandon(connection, hold=HOLD, batch_size=10) == []
        assert ledger.abandon(connection, hold=timedelta(seconds=-1), batch_size=10) == [held.id]
    row = the_send(engine, held.id)
    assert (row.state, row.resolution) == ("failed", "no longer wanted")


def test_a_send_with_a_reply_or_without_a_mark_is_no_orphan(engine: Engine) -> None:
    answered, send = a_held_mail(engine)
    authorise(engine, send)
    record(engine, send)
    unmarked, _ = a_held_mail(engine)
    with engine.begin() as connection:
        for held in (answered, unmarked):
            cancel(connection, held.id)
        assert ledger.expire_orphans(connection, deadline=timedelta(seconds=-1), batch_size=10) == []


def test_an_uncertain_send_that_is_still_wanted_is_not_abandoned(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    recovered(engine, held)
    with engine.begin() as connection:
        assert ledger.abandon(connection, hold=timedelta(seconds=-1), batch_size=10) == []


def test_an_open_ledger_insert_does_not_hide_its_snooze_from_recovery(engine: Engine) -> None:
    """FOR UPDATE SKIP LOCKED would skip a row whose ledger child is being written; NO KEY UPDATE does not."""
    id = a_snooze(engine)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR KEY SHARE"), {"id": id})
        assert [held.id for held in claim(engine)] == [id]
        connection.rollback()
