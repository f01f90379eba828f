"""Heads and originals are read without a trace, and a message is known again wherever it went."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from snoozer.mailboxes.imap import Connection, Head
from snoozer.mailboxes.imap.messages import uid_set
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, a_message
from tests.imap.proxy import Proxy
from tests.imap.scripted_server import ScriptedImap

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
PLUS_FIVE = timezone(timedelta(hours=5))


def the_heads(connection: Connection, folder: str = "INBOX") -> list[Head]:
    connection.select(folder)
    return connection.heads(connection.uids())


@both
def test_a_head_is_what_was_sent(mailbox: Mailbox) -> None:
    original = a_message(
        1,
        subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=",
        References="<a@example.org>\r\n <b@example.org>",
        In_Reply_To="<b@example.org>",
    )
    date = datetime(2026, 3, 6, 8, 30, tzinfo=PLUS_FIVE)
    with mailbox.open() as connection:
        uid = connection.append("INBOX", original, flags=[r"\Flagged", "$work"], date=date)
        [head] = the_heads(connection)
    assert head.uid == uid == 1
    assert head.message_id == "<1@example.org>"
    assert head.subject == b"=?utf-8?q?Gr=C3=BC=C3=9Fe?="
    assert head.sender == b"Ben <ben@example.org>"
    assert head.references == b"<a@example.org> <b@example.org>"
    assert head.in_reply_to == b"<b@example.org>"
    assert head.size == len(original)
    assert head.internaldate == date
    assert head.internaldate.utcoffset() == timedelta(0)
    assert {r"\Flagged", "$work"} <= head.flags
    assert not head.deleted


@both
def test_looking_marks_nothing_as_read(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)])
    with mailbox.open() as connection:
        [head] = the_heads(connection)
        assert connection.fetch_original(1) == a_message(1)
        assert connection.find(head.fingerprint, "INBOX") == [1]
        assert r"\Seen" not in the_heads(connection)[0].flags


@both
def test_a_flag_is_set_and_cleared_and_no_other_is_touched(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)], flags=r"(\Flagged $work)")
    with mailbox.open() as connection:
        before = the_heads(connection)[0].flags - {r"\Recent"}
        connection.add_flag([1], r"\Seen")
        assert the_heads(connection)[0].flags - {r"\Recent"} == before | {r"\Seen"}
        connection.remove_flag([1], r"\Seen")
        assert the_heads(connection)[0].flags - {r"\Recent"} == before


@both
def test_what_is_not_there_is_left_out(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    with mailbox.open() as connection:
        connection.select("INBOX")
        assert [head.uid for head in connection.heads([2, 77, 1])] == [1, 2]
        assert connection.heads([]) == []
        assert connection.existing([2, 77]) == {2}
        assert connection.fetch_original(77) is None
        assert connection.uids(above=2) == [2]
        assert connection.uids(above=3) == []


@both
def test_a_strange_header_is_read_as_it_is(mailbox: Mailbox) -> None:
    strange = [
        b"Subject: \xe4\xf6\xfc raw bytes\r\nMessage-ID:\r\n <folded@example.org>\r\n\r\nx\r\n",
        b"subject: two\r\nSubject: twice\r\nMessage-ID: no brackets\r\n\r\nx\r\n",
        b"X: y\r\n\r\nno head at all\r\n",
        b"Subject: " + b"long " * 30_000 + b"\r\n\r\nx\r\n",
    ]
    with mailbox.open() as connection:
        for original in strange:
            connection.append("INBOX", original)
        first, second, third, fourth = the_heads(connection)
        assert (first.subject, first.message_id) == (b"\xe4\xf6\xfc raw bytes", "<folded@example.org>")
        assert (second.subject, second.message_id) == (b"two", None)
        assert (third.subject, third.message_id, third.sender) == (None, None, None)
        assert (fourth.subject or b"").startswith(b"long long")
        for head, original in zip((first, second, third, fourth), strange, strict=True):
            assert connection.fetch_original(head.uid) == original
            assert connection.find(head.fingerprint, "INBOX") == [head.uid]


@both
def test_an_id_that_is_a_part_of_another_is_not_confused_with_it(mailbox: Mailbox) -> None:
    ids = ["<1@example.org>", "<11@example.org>", "<1@example.org.uk>", "<x<1@example.org>"]
    mailbox.fill("INBOX", [a_message(number, message_id=each) for number, each in enumerate(ids, start=1)])
    with mailbox.open() as connection:
        heads = the_heads(connection)
        assert connection.find(heads[1].fingerprint, "INBOX") == [2]
        assert connection.find(heads[2].fingerprint, "INBOX") == [3]
        assert connection.find(heads[0].fingerprint, "INBOX") == [1]


@both
def test_without_an_id_the_chosen_fields_decide(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(number, message_id=None) for number in range(1, 4)])
    with mailbox.open() as connection:
        target = connection.create_folders([]).snoozed
        known = the_heads(connection)[1].fingerprint
        assert connection.find(known, "INBOX") == [2]
        assert connection.find(known, target) == []


@both
def test_what_outlook_appends_anew_is_known_although_its_date_differs(mailbox: Mailbox) -> None:
    for message_id in ("", None):
        with mailbox.open() as connection:
            target = connection.create_folders([]).snoozed
            original = a_message(str(message_id), message_id=message_id)
            long_ago = datetime(2026, 1, 5, tzinfo=UTC)
            connection.append("INBOX", original, date=long_ago)
            known = the_heads(connection)[-1].fingerprint
            before = connection.statuses([target])[target]
            connection.append(target, original.replace(b"hello", b"hello "), date=long_ago + timedelta(days=30))
            assert connection.find(known, target, above=before.uidnext) == [before.uidnext]


@both
def test_hits_below_the_noted_uid_and_deleted_ones_do_not_count(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(1), a_message(2)])
    with mailbox.open() as connection:
        known = the_heads(connection)[0].fingerprint
        assert connection.find(known, "INBOX") == [1, 2]
        assert connection.find(known, "INBOX", above=2) == [2]
        assert connection.find(known, "INBOX", above=3) == []
        assert connection.find(known, "INBOX", above=77) == []
        connection.select("INBOX")
        connection.add_flag([2], r"\Deleted")
        assert connection.find(known, "INBOX") == [1]


@both
@pytest.mark.parametrize("refusal", [b"NO [UNAVAILABLE] not for this header", b"* SEARCH\r\n{tag} OK nothing"])
def test_a_server_that_does_not_search_headers_is_looked_through(mailbox: Mailbox, refusal: bytes) -> None:
    def refuse(command: bytes) -> bytes | None:
        reply = refusal if refusal.startswith(b"*") else b"{tag} " + refusal
        return reply + b"\r\n" if b"SEARCH" in command and b"HEADER" in command else None

    mailbox.fill("INBOX", [a_message(number) for number in range(1, 4)])
    with Proxy(mailbox.server.port, on_command=refuse) as proxy, mailbox.open(port=proxy.port) as connection:
        known = the_heads(connection)[2].fingerprint
        assert connection.find(known, "INBOX", above=2) == [3]
        if not refusal.startswith(b"*"):
            assert connection.find(known, "INBOX") == [3]


@both
@pytest.mark.parametrize("without", [(), ("LITERAL+",), ("UIDPLUS",)], ids=str)
def test_an_appended_message_is_there_byte_for_byte(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    original = a_message(1, body="\r\n.\r\n" + "ü" * 70_000)
    with mailbox.open(without=without) as connection:
        uid = connection.append("INBOX", original)
        assert uid == (None if without == ("UIDPLUS",) else 1)
        connection.select("INBOX")
        assert connection.fetch_original(1) == original


def test_flags_that_change_meanwhile_are_not_taken_for_another_message() -> None:
    head = "Subject: x\r\n\r\n"
    fetched = (
        f"* 1 FETCH (UID 5 RFC822.SIZE 9 FLAGS () BODY[HEADER.FIELDS (SUBJECT)]<0> {{{len(head)}}}\r\n{head})\r\n"
        "* 5 FETCH (FLAGS (\\Deleted))\r\n"
        "* 2 EXPUNGE\r\n"
        "* 1 FETCH (FLAGS (\\Seen) UID 6)\r\n"
        "{tag} OK done\r\n"
    )
    with ScriptedImap({"UID FETCH": fetched}) as server, server.open() as connection:
        connection.select("INBOX")
        [found] = connection.heads([5, 6])
        assert (found.uid, found.flags, found.subject) == (5, frozenset(), b"x")


@pytest.mark.parametrize(
    ("uids", "expected"), [([1], b"1"), ([1, 2, 3], b"1:3"), ([1, 3, 4, 9], b"1,3:4,9"), ([], b"")]
)
def test_a_set_is_as_short_as_it_can_be(uids: list[int], expected: bytes) -> None:
    assert uid_set(uids) == expected


@both
def test_a_message_that_the_server_cannot_show_hides_no_other(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(number) for number in range(1, 8)])

    def refuse(command: bytes) -> bytes | None:
        found = re.search(rb"UID FETCH (\d+)(?::(\d+))? .*BODY", command)
        if found and int(found[1]) <= 5 <= int(found[2] or found[1]):
            return b"{tag} NO this message cannot be converted\r\n"
        return None

    with Proxy(mailbox.server.port, on_command=refuse) as proxy, mailbox.open(port=proxy.port) as connection:
        assert [head.uid for head in the_heads(connection)] == [1, 2, 3, 4, 6, 7]
