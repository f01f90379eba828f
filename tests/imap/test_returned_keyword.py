"""A message that is back carries `$new` (RFC 9979) until it is snoozed again, on servers that keep keywords."""

import re

import pytest

from snoozer.mailboxes.imap.messages import RETURNED
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Wake
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import Place, returned

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"
KEEPS_ALL = rb"\[PERMANENTFLAGS \(.*\)\]"


def flags(place: Place, folder: str) -> list[frozenset[str]]:
    return [flags for _, _, flags in place.program.messages(folder)]


def come_back(place: Place) -> None:
    place.make_due()
    place.eventually(lambda: not place.rows(RETURNING))


@on_both
@pytest.mark.parametrize("way", ["named", "by hand"])
def test_it_is_set_at_the_return_and_removed_when_snoozed_again(place: Place, way: str) -> None:
    place.program.deliver(an_original(), flags=r"(\Seen \Answered note)")
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    put_into = place.folder("Snooze", "Tomorrow") if way == "named" else place.snoozed
    for seen in (frozenset({r"\Seen"}), frozenset[str]()):
        place.program.move("INBOX", put_into)
        place.eventually(lambda: place.asleep() == 1)
        place.eventually(lambda: flags(place, place.snoozed) != [])
        assert flags(place, place.snoozed) == [{r"\Answered", "note"} | seen]
        come_back(place)
        assert flags(place, "INBOX") == [{r"\Answered", "note", RETURNED}]


@on_both
@pytest.mark.parametrize("repeats", [False, True])
def test_it_is_set_when_the_message_is_brought_back_by_hand(place: Place, repeats: bool) -> None:
    into = place.folder("Snooze", "Every monday 9am" if repeats else "In 3 days")
    place.program.create(into)
    place.program.deliver(an_original(), flags=r"(\Seen)")
    place.start()
    place.program.move("INBOX", into)
    place.eventually(lambda: place.asleep() == 1)
    [(id,)] = place.rows("SELECT id FROM email_snoozes")
    with place.engine.begin() as connection:
        [woken] = acts.act(connection, [id], Wake(), By(place.person.email, "web"))
    assert woken.left is None
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert flags(place, "INBOX") == [{RETURNED}]
    place.eventually(lambda: place.rows("SELECT 1 FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'"))


@on_both
def test_a_message_taken_out_before_its_time_gets_none(place: Place) -> None:
    place.program.deliver(an_original())
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.run("UPDATE messages SET wanted = 'home', returns_at = NULL, snooze_id = NULL")
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert flags(place, "INBOX") == [frozenset()]


@pytest.mark.dovecot
@pytest.mark.parametrize(
    ("kept", "refusal", "is_asked"),
    [
        (rb"[PERMANENTFLAGS (\\Seen \\Deleted)]", b"", False),
        (rb"[PERMANENTFLAGS (\\Seen \\Deleted \\*)]", b"{tag} NO [LIMIT] Too many keywords.\r\n", True),
        (b"[X-NOTHING]", b"{tag} BAD Keywords are not known here.\r\n", True),
    ],
    ids=["not kept", "refused", "not reported, and refused"],
)
def test_a_server_without_keywords_returns_the_message_all_the_same(
    place: Place, dovecot_server: MailServer, kept: bytes, refusal: bytes, is_asked: bool
) -> None:
    place.program.deliver(an_original(), flags=r"(\Seen \Flagged)")
    before = place.program.messages("INBOX")

    def on_command(line: bytes) -> bytes | None:
        return refusal if RETURNED.encode() in line else None

    with Proxy(
        dovecot_server.port, on_command=on_command, on_reply=lambda line: re.sub(KEEPS_ALL, kept, line)
    ) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 1)
        assert place.program.messages("Snoozed") == before
        come_back(place)
        assert any(RETURNED.encode() in line for line in proxy.commands) is is_asked
    [(original, date, marked)] = returned(before)
    assert place.program.messages("INBOX") == [(original, date, marked - {RETURNED})]
