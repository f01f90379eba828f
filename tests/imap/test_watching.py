"""A message that any mail program moves into a folder that means a time is snoozed, and comes back where it was."""

import os
import signal
from datetime import datetime, time, timedelta

import pytest

from snoozer.mailboxes import registry
from snoozer.snoozes import input
from snoozer.timephrase.day_shape import DayShape
from tests.acting import cancel, reschedule, undo
from tests.db.days import choose
from tests.factories import an_original, now
from tests.imap.conftest import BOTH
from tests.imap.watched import Place, returned

# On both, what servers do each in their own way; on one, what our own code decides.
on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)

MANY = 500 if os.environ.get("SNOOZER_STORM") else 100
SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"


def a_message(place: Place, name: str, **parts: str) -> str:
    """Delivers a message to the inbox; returns its Message-ID."""
    message_id = f"<{name}@mail.example>"
    place.program.deliver(an_original(subject=name, message_id=message_id, **parts))
    return message_id


def an_asleep_message(place: Place, name: str) -> str:
    """A message that is watched and snoozed until tomorrow."""
    message_id = a_message(place, name)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    return message_id


@on_both
def test_a_message_moved_into_a_folder_comes_back_as_it_was(place: Place) -> None:
    place.program.deliver(an_original(subject="Offer", message_id="<offer@mail.example>"), flags=r"(\Seen \Flagged)")
    [(original, date, flags)] = place.program.messages("INBOX")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages(place.snoozed) == [(original, date, flags)]
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX"))
    assert place.program.messages("INBOX") == returned([(original, date, flags)])
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages WHERE returns_at IS NOT NULL"))
    assert place.rows("SELECT state FROM reminder_sends WHERE channel = 'mailbox'") == [("sent",)]
    assert [place.program.count(name) for name in (place.snoozed, place.folder("Snooze", "Tomorrow"))] == [0, 0]


@on_both
def test_hundreds_of_messages_moved_at_once_are_all_asleep(place: Place) -> None:
    for number in range(MANY):
        a_message(place, f"m{number}")
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == MANY)
    assert place.program.count(place.snoozed) == MANY
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(MANY,)]
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == MANY)
    assert place.program.count(place.snoozed) == 0


@on_both
def test_a_folder_whose_name_is_no_time_gives_back_its_messages_and_one_notice(place: Place) -> None:
    place.program.create(place.folder("Snooze", "when pigs fly"))
    for name in ("one", "two"):
        a_message(place, name)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "when pigs fly"))
    place.eventually(lambda: place.program.count("INBOX") == 3)
    a_message(place, "three")
    place.program.move("INBOX", place.folder("Snooze", "when pigs fly"), uids="1:*")
    place.eventually(lambda: place.program.count("INBOX") == 4)
    texts = [original for original, _, _ in place.program.messages("INBOX")]
    [notice] = [text for text in texts if b"when pigs fly" in text]
    assert b"These names are understood" in notice
    assert place.rows("SELECT 1 FROM email_snoozes") == []


@on_one
def test_a_folder_made_by_any_program_whose_name_is_a_phrase_works(place: Place) -> None:
    place.program.create(place.folder("Snooze", "in 3 days"))
    message_id = a_message(place, "later")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "in 3 days"))
    place.eventually(lambda: place.asleep() == 1)
    assert place.snooze_of(message_id).remind_at - now() > timedelta(hours=71)


@on_one
def test_a_folder_that_means_the_end_of_a_vacation_needs_one(place: Place) -> None:
    name = place.folder("Snooze", "when I am back")
    place.program.create(name)
    a_message(place, "early")
    place.start()
    place.program.move("INBOX", name)
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert any(b"No vacation is set" in original for original, _, _ in place.program.messages("INBOX"))
    back_on = (now() + timedelta(days=10)).date()
    choose(place.engine, DayShape(away_from=now().date(), back_on=back_on), email=place.person.email)
    place.program.move("INBOX", name, uids="1:*")
    place.eventually(lambda: place.asleep() == 2)
    walls = {row.wall_time for row in place.rows("SELECT wall_time FROM email_snoozes")}
    assert walls == {datetime.combine(back_on, time(9))}


@on_both
def test_a_message_that_its_owner_takes_out_is_no_longer_asleep(place: Place) -> None:
    message_id = an_asleep_message(place, "taken")
    before = place.program.messages(place.snoozed)
    place.program.move(place.snoozed, "INBOX")
    place.eventually(lambda: place.snooze_of(message_id).outcome == "cancelled")
    assert place.program.messages("INBOX") == before
    [event] = place.rows("SELECT detail->>'why' FROM snooze_events WHERE kind = 'cancelled'")
    assert event == ("moved",)


@on_both
def test_a_message_that_its_owner_puts_into_a_folder_of_theirs_is_no_longer_asleep(place: Place) -> None:
    place.program.create(place.folder("Projects"))
    message_id = an_asleep_message(place, "filed")
    place.program.move(place.snoozed, place.folder("Projects"))
    place.eventually(lambda: place.snooze_of(message_id).outcome == "cancelled")
    assert place.program.count(place.folder("Projects")) == 1


@on_both
def test_a_message_that_its_owner_deletes_is_sought_and_given_up(place: Place) -> None:
    message_id = an_asleep_message(place, "deleted")
    place.program.mark_deleted(place.snoozed)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'missing'"))
    assert not place.snooze_of(message_id).inactive
    place.run("UPDATE messages SET missing_since = missing_since - INTERVAL '11 minutes'")
    place.eventually(lambda: place.snooze_of(message_id).outcome == "cancelled")
    assert place.rows("SELECT detail->>'why' FROM snooze_events WHERE kind = 'cancelled'") == [("gone",)]


@on_one
def test_a_message_that_was_missed_and_is_there_again_comes_back(place: Place) -> None:
    """Under the UID that it had, as when a server did not show it for a moment."""
    message_id = an_asleep_message(place, "missed")
    promise = place.snooze_of(message_id).remind_at
    place.stop()
    place.run("UPDATE messages SET place = 'missing', missing_since = clock_timestamp()")
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert place.snooze_of(message_id).remind_at == promise
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)


@on_one
def test_a_message_that_is_missed_on_its_way_is_given_up_too(place: Place) -> None:
    message_id = an_asleep_message(place, "missed")
    place.stop()
    place.program.mark_deleted(place.snoozed)
    place.run(
        "UPDATE messages SET place = 'missing', missing_since = clock_timestamp() - INTERVAL '11 minutes', "  # noqa: S608
        f"folder = '{place.folder('Snooze', 'Tomorrow')}'"
    )
    place.start()
    place.eventually(lambda: place.snooze_of(message_id).outcome == "cancelled")
    assert place.rows("SELECT 1 FROM messages") == []


@on_one
def test_a_snoozed_message_that_is_moved_to_another_time_has_that_time(place: Place) -> None:
    message_id = an_asleep_message(place, "again")
    # On a Sunday next week begins tomorrow.
    place.run("UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 hour'")
    before = place.snooze_of(message_id)
    place.program.move(place.snoozed, place.folder("Snooze", "Next week"))
    place.eventually(lambda: place.snooze_of(message_id).remind_at > before.remind_at)
    place.eventually(lambda: place.asleep() == 1 and place.program.count(place.snoozed) == 1)
    assert place.snooze_of(message_id).id == before.id
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]


@on_one
def test_a_message_put_among_what_is_snoozed_by_hand_comes_back_tomorrow(place: Place) -> None:
    message_id = a_message(place, "by hand")
    place.start()
    place.program.move("INBOX", place.snoozed)
    place.eventually(lambda: place.asleep() == 1)
    assert place.snooze_of(message_id).remind_at > now()
    assert place.program.count(place.snoozed) == 1


@on_both
def test_a_cancelled_snooze_brings_its_message_back_as_it_was(place: Place) -> None:
    message_id = an_asleep_message(place, "cancelled")
    before = place.program.messages(place.snoozed)
    with place.engine.begin() as connection:
        snooze = place.snooze_of(message_id)
        assert cancel(connection, snooze.id, email=place.person.email)
    place.eventually(lambda: place.program.messages("INBOX") == before)
    with place.engine.begin() as connection:
        assert undo(connection, snooze.id, email=place.person.email)
    place.eventually(lambda: place.asleep() == 1 and place.program.messages(place.snoozed) == before)


@on_both
def test_two_copies_of_a_message_are_two_snoozes(place: Place) -> None:
    original = an_original(message_id="<twice@mail.example>")
    place.program.deliver(original)
    place.program.deliver(original)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 2)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert place.program.count(place.snoozed) == 0


@on_both
def test_a_folder_of_ours_that_is_deleted_is_made_again(place: Place) -> None:
    a_message(place, "first")
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    place.program.delete_folder(place.snoozed)
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1 and place.program.count(place.snoozed) == 1)


@on_one
def test_a_home_that_is_gone_is_replaced_by_the_inbox(place: Place) -> None:
    an_asleep_message(place, "homeless")
    place.run("UPDATE messages SET home = 'Gone'")
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)


@on_one
def test_two_processes_move_nothing_twice(place: Place) -> None:
    for number in range(20):
        a_message(place, f"both{number}")
    place.start()
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 20)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 20)
    assert place.program.count(place.snoozed) == 0


@on_one
def test_after_forty_five_days_everything_that_was_due_is_back_once(place: Place) -> None:
    for number in range(5):
        a_message(place, f"old{number}")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 5)
    place.stop()
    place.run(
        "UPDATE email_snoozes SET created_at = created_at - INTERVAL '50 days', "
        "remind_at = remind_at - INTERVAL '45 days', scheduled_for = NULL"
    )
    place.start()
    place.eventually(lambda: place.program.count("INBOX") == 5)
    assert place.program.count(place.snoozed) == 0


@on_both
def test_a_disconnected_mailbox_gets_everything_back_and_is_forgotten(place: Place) -> None:
    an_asleep_message(place, "leaving")
    with place.engine.begin() as connection:
        assert registry.disconnect(connection, id=place.mailbox_id, account_id=place.person.id)
    place.eventually(lambda: not place.rows("SELECT 1 FROM mailboxes"))
    assert place.program.count("INBOX") == 1
    assert place.rows("SELECT inactive FROM email_snoozes") == [(False,)]


@on_one
def test_a_snooze_that_is_cancelled_before_its_message_was_moved_leaves_it_in_no_folder_of_ours(place: Place) -> None:
    message_id = a_message(place, "at once")
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    assert place.process(failpoint="noticed:kill").wait(60) == -signal.SIGKILL
    place.forget_owner()
    with place.engine.begin() as connection:
        assert cancel(connection, place.snooze_of(message_id).id, email=place.person.email)
    place.start()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.program.count(place.folder("Snooze", "Tomorrow")) == 0


@on_one
def test_what_repeats_comes_back_each_time_and_stays(place: Place) -> None:
    """Its next time is promised once its reminder was sent, which may be before its message is back."""
    place.program.create(place.folder("Snooze", "every monday 9am"))
    message_id = a_message(place, "weekly")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "every monday 9am"))
    place.eventually(lambda: place.asleep() == 1)
    place.stop()
    place.make_due()
    place.run(  # A worker sends the reminder and promises the next one.
        "UPDATE email_snoozes SET remind_at = now() + INTERVAL '7 days', scheduled_for = NULL"
    )
    place.start()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    place.eventually(lambda: place.rows("SELECT 1 FROM reminder_sends WHERE channel = 'mailbox'"))
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE returns_at > now() AND wanted = 'home'"))
    assert place.program.count(place.snoozed) == 0
    place.program.mark_read("INBOX")
    place.program.flag("$new", off=True)
    place.make_due()
    place.eventually(lambda: place.program.messages("INBOX")[0][2] == {"$new"})
    assert not place.snooze_of(message_id).inactive


@on_one
def test_one_of_two_copies_that_is_taken_out_ends_its_own_snooze_only(place: Place) -> None:
    original = an_original(message_id="<twice@mail.example>")
    place.program.deliver(original)
    place.program.deliver(original)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 2)
    place.program.move(place.snoozed, "INBOX", uids=place.first_uid(place.snoozed))
    place.eventually(lambda: place.asleep() == 1)
    assert [place.program.count(name) for name in ("INBOX", place.snoozed)] == [1, 1]


@on_both
def test_a_message_with_an_id_longer_than_a_line_is_snoozed_as_any_other(place: Place) -> None:
    place.program.deliver(an_original(message_id="<" + "x" * 990 + "@mail.example>"))
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)


@on_one
def test_a_message_that_was_archived_meanwhile_and_is_snoozed_again_is_hidden_again(place: Place) -> None:
    place.program.create(place.folder("Projects"))
    message_id = an_asleep_message(place, "again")
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    place.program.move("INBOX", place.folder("Projects"))
    with place.engine.begin() as connection:
        at = input.reminder_time_at(now() + timedelta(days=1), now=now(), zone="UTC")
        assert reschedule(connection, place.snooze_of(message_id).id, at, email=place.person.email)
    place.eventually(lambda: place.asleep() == 1)
    assert not place.snooze_of(message_id).inactive
    assert place.program.count(place.folder("Projects")) == 0


@on_both
def test_a_message_that_is_marked_as_deleted_when_it_is_due_stays_deleted(place: Place) -> None:
    """Its owner's program has it for deleted: it does not rise again, and the reminder is sent."""
    message_id = an_asleep_message(place, "marked")
    place.program.mark_deleted(place.snoozed, expunge=False)
    place.make_due()
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages"))
    assert [place.program.count(name) for name in ("INBOX", place.snoozed)] == [0, 1]
    assert not place.snooze_of(message_id).inactive
    assert place.rows("SELECT kind, detail->>'why' FROM snooze_events WHERE kind = 'left'") == [("left", "gone")]


@on_one
def test_a_snoozed_message_that_is_moved_to_a_folder_whose_name_is_no_time_keeps_its_time(place: Place) -> None:
    message_id = an_asleep_message(place, "pigs")
    before = place.snooze_of(message_id)
    place.program.create(place.folder("Snooze", "when pigs fly"))
    place.program.move(place.snoozed, place.folder("Snooze", "when pigs fly"))
    place.eventually(lambda: place.program.count("INBOX") == 1 and place.program.count(place.snoozed) == 1)
    place.eventually(lambda: place.asleep() == 1)
    assert place.snooze_of(message_id) == before
