"""What a person chose to get at the time of a snooze: the message back, a reminder, or both."""

from pathlib import Path

import pytest

from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.watched import Place, a_worker

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

OFFER = "<offer@mail.example>"
RETURNED = "SELECT resolution FROM reminder_sends WHERE channel = 'mailbox'"


@pytest.fixture
def place(place: Place) -> Place:
    place.program.deliver(an_original(message_id=OFFER), flags=r"(\Seen \Flagged)")
    return place


def choose(place: Place, brings_back: str) -> None:
    place.run(f"UPDATE mailboxes SET brings_back = '{brings_back}'")  # noqa: S608


def snooze(place: Place) -> None:
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))


@on_both
def test_with_a_reminder_only_the_message_is_archived_and_stays_as_it_is(place: Place) -> None:
    choose(place, "reminder")
    [before] = place.program.messages("INBOX")
    archive = place.folder("Archive")
    place.start()
    snooze(place)
    place.eventually(lambda: place.program.messages(archive) == [before])
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'home'"))
    place.make_due()
    place.run("UPDATE mailboxes SET synced_at = NULL")
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    assert place.program.messages(archive) == [before]
    assert not place.rows(RETURNED)
    assert not place.snooze_of(OFFER).inactive


@on_both
def test_what_was_archived_returns_where_that_is_chosen_and_it_is_snoozed_again(place: Place) -> None:
    choose(place, "reminder")
    archive = place.folder("Archive")
    place.start()
    snooze(place)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'home'"))
    place.stop()
    choose(place, "both")
    place.start()
    place.program.move(archive, place.folder("Snooze", "Next week"))
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1 and place.rows(RETURNED))


@pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
@pytest.mark.parametrize("brings_back", ["return", "both"])
def test_a_reminder_comes_in_the_thread_of_its_message_or_not_at_all(
    place: Place, tmp_path: Path, brings_back: str
) -> None:
    """With a worker: both, or the message alone."""
    choose(place, brings_back)
    with a_worker(place, tmp_path) as sink:
        place.start()
        snooze(place)
        place.eventually(lambda: place.asleep() == 1)
        place.make_due()
        place.eventually(lambda: place.snooze_of(OFFER).outcome == "sent")
        place.eventually(lambda: place.program.count("INBOX") == 1 and place.rows(RETURNED))
        reminders = [mail["in_reply_to"] for mail in sink.accepted()]
    if brings_back == "return":
        assert reminders == []
        assert place.rows(RETURNED) == [("alone",)]
    else:
        assert reminders == [OFFER]
