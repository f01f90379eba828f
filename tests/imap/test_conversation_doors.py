"""A conversation leaves whole through every door of a connected mailbox, unless a message is chosen alone."""

from collections.abc import Iterator

import pytest

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.web import create_app
from tests.factories import HOUR, an_original, now
from tests.imap.conftest import BOTH
from tests.imap.conversations import (
    RETURNED,
    a_message,
    a_time,
    as_returned,
    back,
    deliver,
    id_of,
    put_away,
    row_of,
    snoozed,
    started,
)
from tests.imap.flags import KEYWORD, NOTED, choose
from tests.imap.reading import reading
from tests.imap.watched import Place

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)

SNOOZES = "SELECT message_id FROM email_snoozes ORDER BY id"


@pytest.fixture
def mailbox(place: Place) -> Iterator[ConnectedMailbox]:
    with reading(place) as mailbox:
        yield mailbox


def insert(place: Place, id: str) -> None:
    place.run(
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
        f"VALUES ('{place.person.email}', '{id}', now() + INTERVAL '1 day')"
    )


def ask(place: Place, **fields: object) -> None:
    """A request of a program to the API."""
    client = create_app(engine=place.engine, settings=place.settings).test_client()
    body = {"remind_at": (now() + 24 * HOUR).isoformat(), **fields}
    answer = client.post("/api/v1/snoozes", json=body, headers=place.person.bearer)
    assert answer.status_code == 201, answer.text


@on_both
@pytest.mark.parametrize("door", ["row", "api"])
def test_a_program_snoozes_the_conversation(place: Place, door: str) -> None:
    """Newer messages stay, with an id or without."""
    started(place)
    deliver(place, "Plan", 5)
    odd = f"References: {id_of('Plan', 0)}\r\nSubject: Re: Plan\r\n\r\nText\r\n".encode()
    place.program.deliver(odd)
    deliver(place, "Other", 1)
    before = place.program.messages("INBOX")
    if door == "row":
        insert(place, id_of("Plan", 3))
    else:
        ask(place, message_id=id_of("Plan", 3), mailbox=place.mailbox_id)
    put_away(place, 4)
    assert place.program.messages(place.snoozed) == before[:4]
    assert place.rows(SNOOZES) == [(id_of("Plan", 3),)]
    place.make_due()
    back(place)
    assert place.program.messages("INBOX") == [*before[4:], *as_returned(before[:4])]
    assert len(place.rows(RETURNED)) == 1


@on_one
def test_a_program_snoozes_one_message_alone(place: Place) -> None:
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    ask(place, message_id=id_of("Plan", 2), conversation=False)
    put_away(place, 1)
    assert place.program.messages("INBOX") == before[:2]


@on_both
def test_a_star_snoozes_the_conversation(place: Place) -> None:
    deliver(place, "Plan", 4)
    choose(place, KEYWORD)
    place.start()
    place.eventually(lambda: place.rows(NOTED))
    before = place.program.messages("INBOX")
    place.program.flag(KEYWORD, uids="3")
    put_away(place, 3)
    assert place.program.messages(place.snoozed) == before[:3]
    assert place.rows(SNOOZES) == [(id_of("Plan", 2),)]


@on_both
def test_a_folder_snoozes_what_was_moved_into_it(place: Place) -> None:
    """The person chose these messages with a mail program, which shows conversations in its own way."""
    deliver(place, "Plan", 3)
    started(place)
    before = place.program.messages("INBOX")
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids="3")
    put_away(place, 1)
    assert place.program.messages("INBOX") == before[:2]


@on_both
def test_an_older_message_keeps_the_snooze_that_it_has(place: Place, mailbox: ConnectedMailbox) -> None:
    """It leaves with the conversation, and returns at its own time."""
    deliver(place, "Plan", 3)
    insert(place, id_of("Plan", 0))
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key, time=a_time(days=5))
    started(place)
    put_away(place, 3)
    [own, *others] = [row.snooze_id for row in place.rows("SELECT snooze_id FROM messages ORDER BY uid")]
    assert own != id
    assert others == [id, id]
    place.run(f"UPDATE email_snoozes SET remind_at = now() WHERE id <> {id}")  # noqa: S608
    sent = "SELECT message_id FROM reminder_sends WHERE channel = 'mailbox'"
    place.eventually(lambda: place.rows(sent) == [(id_of("Plan", 0),)])
    assert (place.program.count("INBOX"), place.program.count(place.snoozed)) == (1, 2)


@on_both
def test_messages_far_apart_in_the_folder_are_one_conversation(place: Place, mailbox: ConnectedMailbox) -> None:
    place.program.deliver(a_message("Plan", 0))
    for number in range(1_100):
        place.program.deliver(an_original(subject=f"Other {number}", message_id=f"<{number}@other.example>"))
    for number in (1, 2):
        place.program.deliver(a_message("Plan", number))
    snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    started(place)
    put_away(place, 3)
    assert place.program.count("INBOX") == 1_100
