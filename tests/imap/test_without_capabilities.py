"""What a server cannot do changes nothing for a person: a message is snoozed and comes back, in exactly one copy."""

import pytest

from tests.factories import an_original
from tests.imap.watched import Place, returned

CAPABILITIES = ("UIDPLUS", "MOVE", "IDLE", "CONDSTORE", "SPECIAL-USE", "LITERAL+", "LIST-STATUS")
NUMBER = 3
RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"
SENT = "SELECT DISTINCT snooze_id FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'"


def masks(server: str, *lacking: tuple[str, ...]) -> list[object]:
    mark = getattr(pytest.mark, server)
    return [pytest.param(server, each, id=f"{server}-{'+'.join(each)}", marks=mark) for each in lacking]


@pytest.mark.parametrize(
    ("mail_server", "without"),
    [
        *masks("dovecot", *((capability,) for capability in CAPABILITIES), ("UIDPLUS", "MOVE"), CAPABILITIES),
        *masks("cyrus", ("MOVE",), ("UIDPLUS", "MOVE"), CAPABILITIES),
    ],
    indirect=["mail_server"],
)
def test_a_server_that_lacks_it_snoozes_and_returns_all_the_same(place: Place, without: tuple[str, ...]) -> None:
    for number in range(NUMBER):
        place.program.deliver(an_original(subject=f"{number}"), flags=r"(\Seen \Flagged note)")
    before, tomorrow = place.program.shown("INBOX"), place.folder("Snooze", "Tomorrow")
    place.start(without=without)
    place.program.move("INBOX", tomorrow)
    place.eventually(lambda: place.asleep() == NUMBER)
    assert [place.program.shown(folder) for folder in ("INBOX", tomorrow, place.snoozed)] == [[], [], before]
    place.make_due()
    place.eventually(lambda: not place.rows(RETURNING))
    unread = returned(before)
    assert [place.program.shown(folder) for folder in ("INBOX", tomorrow, place.snoozed)] == [unread, [], []]
    assert len(place.rows(SENT)) == NUMBER
    # Where nothing can be expunged alone, originals stay, marked.
    assert (place.program.count(tomorrow) > 0) is ({"UIDPLUS", "MOVE"} <= set(without))
