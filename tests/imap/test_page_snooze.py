"""A message that is snoozed on a page of Snoozer's: the process moves it, and brings it back at its time."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.entering import SnoozeTarget, enter, snooze_target
from snoozer.mailboxes.read.mailbox import MailboxError, Row
from snoozer.snoozes import input
from tests.acting import cancel, snooze
from tests.factories import a_snooze, an_original, now
from tests.imap.conftest import BOTH
from tests.imap.reading import reading
from tests.imap.watched import Place, returned

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)


@pytest.fixture
def mailbox(place: Place) -> Iterator[ConnectedMailbox]:
    with reading(place) as mailbox:
        yield mailbox


def snoozed(place: Place, target: SnoozeTarget, *, days: float = 1) -> int:
    """What a route does in its transaction."""
    at = input.reminder_time_at(now() + timedelta(days=days), now=now(), zone="UTC")
    with place.engine.begin() as connection:
        id, _ = snooze(connection, user_email=place.person.email, reminder_time=at, **vars(target.message))
        assert enter(connection, target, snooze_id=id)
    return id


def only_row(mailbox: ConnectedMailbox, folder: str | None = None) -> Row:
    [row] = mailbox.page(folder).rows
    return row


def snoozed_folder(mailbox: ConnectedMailbox) -> str:
    return next(each.key for each in mailbox.folders() if each.role == "snoozed")


@on_both
def test_a_message_snoozed_on_a_page_is_moved_and_comes_back_unread(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original(subject="Offer", message_id="<offer@mail.example>"), flags=r"(\Seen \Flagged)")
    [(original, date, flags)] = place.program.messages("INBOX")
    id = snoozed(place, snooze_target(mailbox, only_row(mailbox).key))
    assert mailbox.page(None).rows == []
    moving = only_row(mailbox, snoozed_folder(mailbox))
    assert (moving.moving, moving.snooze_id, moving.subject) == (True, id, "Offer")
    assert mailbox.message(moving.key).row.moving
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages(place.snoozed) == [(original, date, flags)]
    asleep = only_row(mailbox, snoozed_folder(mailbox))
    assert (asleep.moving, asleep.snooze_id, asleep.message_id) == (False, id, "<offer@mail.example>")
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX"))
    assert place.program.messages("INBOX") == returned([(original, date, flags)])
    place.eventually(lambda: place.rows("SELECT 1 FROM reminder_sends WHERE channel = 'mailbox'"))
    back = only_row(mailbox)
    assert back.unread
    assert back.returned_at is not None
    mailbox.mark(back.key, read=True)
    assert only_row(mailbox).returned_at is None


@on_one
def test_a_watched_mailbox_is_moved_at_once(place: Place, mailbox: ConnectedMailbox) -> None:
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    place.program.create(place.folder("Projects"))
    place.program.deliver(an_original(), folder=place.folder("Projects"))
    key = next(each.key for each in mailbox.folders() if each.name == "Projects")
    snoozed(place, snooze_target(mailbox, only_row(mailbox, key).key))
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count(place.folder("Projects")) == 1)


@on_both
def test_a_message_that_came_back_and_was_filed_is_followed(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original(message_id="<again@mail.example>"))
    place.start()
    snoozed(place, snooze_target(mailbox, only_row(mailbox).key))
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE wanted = 'home'"))
    archived = mailbox.archive(only_row(mailbox).key)
    target = snooze_target(mailbox, archived)
    assert target.message.message_id == "<again@mail.example>"
    snoozed(place, target)
    place.eventually(lambda: place.asleep() == 1 and place.program.count(place.snoozed) == 1)
    assert place.rows("SELECT count(*) FROM messages") == [(1,)]


@on_both
def test_a_second_copy_and_a_message_without_id_are_snoozes_of_their_own(
    place: Place, mailbox: ConnectedMailbox
) -> None:
    original = an_original(message_id="<twice@mail.example>")
    for each in (original, original, original.replace(b"Message-ID", b"X-Was")):
        place.program.deliver(each)
    keys = [row.key for row in mailbox.page(None).rows]
    ids = {snoozed(place, snooze_target(mailbox, key)) for key in keys}
    assert len(ids) == 3
    assert {row.snooze_id for row in mailbox.page(snoozed_folder(mailbox)).rows} == ids
    assert ids == {snoozed(place, snooze_target(mailbox, key), days=2) for key in keys}
    place.start()
    place.eventually(lambda: place.asleep() == 3)
    assert place.program.count(place.snoozed) == 3
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 3)
    # Cyrus shows the copies of a MOVE before the originals are gone.
    place.eventually(lambda: place.program.count(place.snoozed) == 0)


@on_one
def test_another_time_for_a_message_that_is_asleep_moves_nothing(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original(message_id="<later@mail.example>"))
    place.start()
    id = snoozed(place, snooze_target(mailbox, only_row(mailbox).key))
    place.eventually(lambda: place.asleep() == 1)
    target = snooze_target(mailbox, only_row(mailbox, snoozed_folder(mailbox)).key)
    assert snoozed(place, target, days=3) == id
    assert place.rows("SELECT place, home, wanted FROM messages") == [("snoozed", "INBOX", "snoozed")]
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)


@on_one
def test_a_cancelled_snooze_leaves_the_message_where_it_is(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original(message_id="<kept@mail.example>"))
    id = snoozed(place, snooze_target(mailbox, only_row(mailbox).key))
    with place.engine.begin() as connection:
        assert cancel(connection, id, email=place.person.email)
    row = only_row(mailbox)
    assert (row.snooze_id, row.moving, row.returned_at) == (None, False, None)


@on_both
def test_a_move_that_has_begun_is_found_out_before_the_message_is_moved(
    place: Place, mailbox: ConnectedMailbox
) -> None:
    place.program.deliver(an_original())
    target = snooze_target(mailbox, only_row(mailbox).key)
    snoozed(place, target)
    place.program.move("INBOX", place.snoozed)
    place.run(
        "UPDATE messages SET moving_to = 'snoozed', target_uidvalidity = 1, target_uidnext = 1, "  # noqa: S608
        f"target_folder = '{place.snoozed}'"
    )
    snoozed(place, target, days=2)
    assert place.rows("SELECT place, folder, moving_to FROM messages") == [("home", "INBOX", "snoozed")]
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert [place.program.count(name) for name in ("INBOX", place.snoozed)] == [0, 1]


@on_one
def test_nothing_is_entered_where_the_snooze_fails(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original())
    target = snooze_target(mailbox, only_row(mailbox).key)
    id = a_snooze(place.engine, message_id=target.message.message_id)
    place.run("UPDATE mailboxes SET state = 'leaving'")
    with place.engine.begin() as connection:
        assert not enter(connection, target, snooze_id=id)
    assert place.rows("SELECT 1 FROM messages") == []
    place.run("UPDATE mailboxes SET state = 'active'")
    with pytest.raises(ZeroDivisionError), place.engine.begin() as connection:
        assert enter(connection, target, snooze_id=id)
        raise ZeroDivisionError
    assert place.rows("SELECT 1 FROM messages") == []


@on_one
def test_a_message_that_is_gone_is_no_target(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(an_original())
    key = only_row(mailbox).key
    place.program.mark_deleted("INBOX")
    with pytest.raises(MailboxError) as raised:
        snooze_target(mailbox, key)
    assert raised.value.code == "gone"
