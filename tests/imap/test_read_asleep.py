"""Snoozed messages are marked as read while they sleep, if their owner chose so, and get their flag back."""

import pytest

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.messages import RETURNED
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.watched import Place

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"
CANCEL = "UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', finished_at = now()"
READ, UNREAD = frozenset({r"\Seen"}), frozenset[str]()


def choose(place: Place) -> None:
    place.run("UPDATE mailboxes SET reads_asleep = TRUE")


def flags(place: Place, folder: str) -> list[frozenset[str]]:
    return sorted((flags for _, _, flags in place.program.messages(folder)), key=sorted)


def put_away(place: Place, *given: str, by: str = "folder") -> None:
    for number, one in enumerate(given):
        place.program.deliver(an_original(message_id=f"<{number}@mail.example>"), flags=one)
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    if by == "folder":
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    else:
        for number in range(len(given)):
            place.run(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
                f"VALUES ('{place.person.email}', '<{number}@mail.example>', now() + INTERVAL '1 day')"
            )
    place.eventually(lambda: place.asleep() == len(given))


@on_both
@pytest.mark.parametrize("by", ["folder", "row"])
def test_it_is_read_while_asleep_and_unread_at_its_return(place: Place, by: str) -> None:
    choose(place)
    put_away(place, "", r"(\Seen \Flagged)", by=by)
    place.eventually(lambda: flags(place, place.snoozed) == [READ | {r"\Flagged"}, READ])
    place.make_due()
    place.eventually(lambda: not place.rows(RETURNING))
    assert flags(place, "INBOX") == [UNREAD | {RETURNED}, frozenset({RETURNED, r"\Flagged"})]
    assert place.rows("SELECT 1 FROM messages WHERE was_unread") == []


@on_both
@pytest.mark.parametrize("by", ["folder", "row"])
def test_a_message_whose_snooze_is_cancelled_has_its_old_flag(place: Place, by: str) -> None:
    choose(place)
    put_away(place, "", r"(\Seen)", by=by)
    place.eventually(lambda: flags(place, place.snoozed) == [READ, READ])
    place.run(CANCEL)
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert flags(place, "INBOX") == [UNREAD, READ]
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE was_unread") == [])


@on_both
def test_without_the_choice_no_flag_changes(place: Place) -> None:
    put_away(place, "", r"(\Seen)")
    place.eventually(lambda: flags(place, place.snoozed) == [UNREAD, READ])
    place.run(CANCEL)
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert flags(place, "INBOX") == [UNREAD, READ]


@on_both
def test_the_choice_is_taken_back_while_messages_sleep(place: Place) -> None:
    choose(place)
    put_away(place, "")
    place.eventually(lambda: flags(place, place.snoozed) == [READ])
    place.run("UPDATE mailboxes SET reads_asleep = FALSE")
    place.run(CANCEL)
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert flags(place, "INBOX") == [UNREAD]


@on_both
def test_a_disconnected_mailbox_gets_its_flags_back(place: Place) -> None:
    choose(place)
    put_away(place, "", r"(\Seen)")
    place.eventually(lambda: flags(place, place.snoozed) == [READ, READ])
    with place.engine.begin() as connection:
        assert registry.disconnect(connection, id=place.mailbox_id, account_id=place.person.id)
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert flags(place, "INBOX") == [UNREAD, READ]
