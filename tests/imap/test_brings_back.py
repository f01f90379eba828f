"""What a person chose to get at the time of a snooze: the message back, a reminder, or both."""

from email.parser import BytesHeaderParser
from pathlib import Path

import pytest

from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import a_message
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


@pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
def test_a_reminder_names_the_whole_thread_by_the_ids_as_they_came(place: Place, tmp_path: Path) -> None:
    """Odd ids, the second of two messages of one id, and none of a message without an id."""
    choose(place, "both")
    before = "<first@mail.example> <second@mail.example>"
    written = [
        "<[0123456789-QWERTY=@mail.example]>",
        "<twice@mail.example>",
        "<twice@mail.example>",
        "bare@mail.example",
    ]
    for number, message_id in enumerate([*written, None]):
        fields = {} if message_id is None else {"References": before}
        place.program.deliver(a_message(number, message_id=message_id, **fields))
    with a_worker(place, tmp_path) as sink:
        place.start()
        snooze(place)
        place.eventually(lambda: place.asleep() == 6)
        for (id,) in place.rows("SELECT id FROM email_snoozes"):
            place.make_due(id=id)
        place.eventually(lambda: len(sink.accepted()) == 6)
        mails = [BytesHeaderParser().parsebytes(mail["head"].encode("latin-1")) for mail in sink.accepted()]
    found = sorted((str(mail["In-Reply-To"]), " ".join(str(mail["References"]).split())) for mail in mails)
    named = [message_id if message_id.startswith("<") else f"<{message_id}>" for message_id in written]
    expected = [(id, f"{before} {id}") for id in named]
    assert found == sorted([*expected, (OFFER, OFFER), ("None", "None")])
