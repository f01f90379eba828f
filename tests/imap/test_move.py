"""A message that is moved is in one folder at the end, whatever the server can and cannot do."""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from snoozer.mailboxes.imap import Arrival, Connection, ImapError, Place
from snoozer.mailboxes.imap.move import copyuids
from snoozer.mailboxes.imap.session import Reply
from snoozer.runtime import failpoint
from snoozer.runtime.failpoint import FailpointReached
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, MailServer, a_message, place
from tests.imap.proxy import Proxy

OPTIONAL = ("UIDPLUS", "MOVE", "IDLE", "CONDSTORE", "SPECIAL-USE", "LITERAL+", "LIST-STATUS", "ID")
MASKS = [
    *((each,) for each in OPTIONAL),
    *combinations(("UIDPLUS", "MOVE", "LIST-STATUS"), 2),
    OPTIONAL,
]
both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
FLAGGED_AND_SEEN = r"(\Seen \Flagged $work)"


def snoozed(connection: Connection) -> str:
    return connection.create_folders([]).snoozed


def moved(connection: Connection, uids: list[int], source: str, target: str, **arguments: Any) -> dict[int, Arrival]:
    return connection.move(uids, source=place(connection, source), target=place(connection, target), **arguments)


def state(connection: Connection, folder: str, uid: int) -> tuple[Any, ...]:
    """Everything of a message that must survive a move."""
    connection.select(folder)
    [head] = connection.heads([uid])
    flags = {flag for flag in head.flags if flag != r"\Recent"}
    return connection.fetch_original(uid), head.internaldate, head.size, flags, head.fingerprint


@both
@pytest.mark.parametrize("without", [(), *MASKS], ids=lambda names: "+".join(names) or "nothing")
def test_there_and_back_changes_nothing_but_where_it_is(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2), a_message(3)], flags=FLAGGED_AND_SEEN)
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        before = state(connection, "INBOX", 2)
        [there] = moved(connection, [2], "INBOX", target).values()
        assert there.outcome == "moved"
        assert there.uid is not None
        assert state(connection, target, there.uid) == before
        assert mailbox.subjects("INBOX") == ["message 1", "message 3"]
        [back] = moved(connection, [there.uid], target, "INBOX").values()
        assert back == Arrival("moved", 4)
        assert state(connection, "INBOX", 4) == before
        assert mailbox.subjects("INBOX") == ["message 1", "message 3", "message 2"]
        assert mailbox.subjects(target) == []


@both
@pytest.mark.parametrize("without", [(), ("MOVE",), ("UIDPLUS",), ("MOVE", "UIDPLUS")], ids=str)
def test_what_another_program_marked_as_deleted_survives(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    mailbox.fill("INBOX", [a_message("marked")], flags=r"(\Deleted)")
    with mailbox.open(without=without) as connection:
        moved(connection, [1], "INBOX", snoozed(connection))
    assert "message marked" in mailbox.subjects("INBOX", with_deleted=True)
    assert mailbox.subjects("INBOX") == ["message 2"]


@both
def test_where_nothing_can_be_expunged_alone_the_original_stays_marked(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    with mailbox.open(without=("MOVE", "UIDPLUS")) as connection:
        target = snoozed(connection)
        [arrival] = moved(connection, [1], "INBOX", target).values()
        connection.select("INBOX")
        [head] = connection.heads([1])
        assert (arrival.outcome, head.deleted) == ("moved", True)
        assert connection.find(head.fingerprint, "INBOX") == []
        assert connection.find(head.fingerprint, target) == [arrival.uid]


@both
def test_a_message_that_has_gone_is_not_called_moved(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    with mailbox.open() as connection:
        target = snoozed(connection)
        connection.select("INBOX")
        known = {head.uid: head.fingerprint for head in connection.heads([1, 2])}
        other = mailbox.other_program()
        other.select("INBOX")
        other.uid("STORE", "1", "+FLAGS", r"(\Deleted)")
        other.expunge()
        other.logout()
        arrivals = moved(connection, [1, 2, 77], "INBOX", target, fingerprints=known)
        assert {uid: arrival.outcome for uid, arrival in arrivals.items()} == {1: "gone", 2: "moved", 77: "gone"}
        assert mailbox.subjects(target) == ["message 2"]


@both
def test_a_changed_uidvalidity_stops_a_move_before_it_begins(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)])
    with mailbox.open() as connection:
        target = place(connection, snoozed(connection))
        inbox = place(connection, "INBOX")
        for source, end in (
            (Place("INBOX", (inbox.uidvalidity or 0) + 1), target),
            (inbox, Place(target.name, (target.uidvalidity or 0) + 1)),
        ):
            with pytest.raises(ImapError) as error:
                connection.move([1], source=source, target=end)
            assert error.value.code == "uidvalidity"
        with pytest.raises(ImapError) as error:
            connection.delete([1], source=Place("INBOX", (inbox.uidvalidity or 0) + 1))
        assert error.value.code == "uidvalidity"
    assert mailbox.subjects("INBOX") == ["message 1"]


@both
def test_a_missing_target_is_named_before_anything_is_changed(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)])
    with mailbox.open() as connection:
        missing = snoozed(connection) + "x"
        with pytest.raises(ImapError) as error:
            connection.move([1], source=Place("INBOX", None), target=Place(missing, None))
        assert error.value.code == "no_folder"
        assert connection.alive
    assert mailbox.subjects("INBOX") == ["message 1"]


@both
@pytest.mark.parametrize(
    "refusal", [b"NO [CANNOT] not for this folder", b"BAD unknown command", b"NO [EXPUNGEISSUED] some are gone"]
)
def test_a_server_that_announces_move_and_refuses_it(mailbox: Mailbox, refusal: bytes) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])

    def refuse(command: bytes) -> bytes | None:
        return b"{tag} " + refusal + b"\r\n" if b" UID MOVE " in command else None

    with Proxy(mailbox.server.port, on_command=refuse) as proxy, mailbox.open(port=proxy.port) as connection:
        target = snoozed(connection)
        [arrival] = moved(connection, [1], "INBOX", target).values()
    where = mailbox.subjects("INBOX"), mailbox.subjects(target)
    if b"EXPUNGEISSUED" in refusal:
        assert (arrival.outcome, *where) == ("stayed", ["message 1", "message 2"], [])
    else:
        assert (arrival.outcome, *where) == ("moved", ["message 2"], ["message 1"])


@both
@pytest.mark.parametrize("way", ["no COPYUID", "COPYUID in the tagged reply"])
def test_a_move_is_proven_wherever_the_server_says_it(mailbox: Mailbox, way: str) -> None:
    mailbox.fill("INBOX", [a_message(number) for number in range(1, 6)])
    held: list[bytes] = []

    def change(line: bytes) -> bytes:
        code = re.search(rb"\[COPYUID [^\]]*\] ", line)
        if code is None:
            tagged = b" OK " in line and not line.startswith(b"*") and held
            return line.replace(b" OK ", b" OK " + held.pop(), 1) if tagged else line
        if way != "no COPYUID":
            held.append(code[0])
        return line.replace(code[0], b"")

    with Proxy(mailbox.server.port, on_reply=change) as proxy, mailbox.open(port=proxy.port) as connection:
        target = snoozed(connection)
        arrivals = moved(connection, [2, 4], "INBOX", target)
        assert {arrival.outcome for arrival in arrivals.values()} == {"moved"}
        connection.select(target)
        subjects = {head.uid: head.subject for head in connection.heads(connection.uids())}
        found = [subjects[arrivals[uid].uid or 0] for uid in (2, 4)]
        assert found == [b"message 2", b"message 4"]


@both
def test_ok_for_a_move_that_did_not_happen_is_not_believed(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)])

    def pretend(command: bytes) -> bytes | None:
        return b"{tag} OK done\r\n" if b" UID MOVE " in command else None

    with Proxy(mailbox.server.port, on_command=pretend) as proxy, mailbox.open(port=proxy.port) as connection:
        assert moved(connection, [1], "INBOX", snoozed(connection)) == {1: Arrival("stayed")}


@both
@pytest.mark.parametrize("reply", [b"OK done", b"NO [EXPUNGEISSUED] some are gone"])
@pytest.mark.parametrize("without", [("MOVE",), ("MOVE", "UIDPLUS")], ids=str)
def test_an_original_without_a_proven_copy_is_not_deleted(
    mailbox: Mailbox, reply: bytes, without: tuple[str, ...]
) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])

    def pretend(command: bytes) -> bytes | None:
        return b"{tag} " + reply + b"\r\n" if b" UID COPY " in command else None

    with (
        Proxy(mailbox.server.port, on_command=pretend) as proxy,
        mailbox.open(port=proxy.port, without=without) as connection,
    ):
        assert moved(connection, [1], "INBOX", snoozed(connection)) == {1: Arrival("stayed")}
    assert mailbox.subjects("INBOX") == ["message 1", "message 2"]


@both
@pytest.mark.parametrize("without", [("UIDPLUS",), ("MOVE", "UIDPLUS")], ids=str)
def test_a_copy_that_another_program_makes_meanwhile_does_not_confuse(
    mailbox: Mailbox, without: tuple[str, ...]
) -> None:
    mailbox.fill("INBOX", [a_message(1)])
    target = ""

    def copy_too(command: bytes) -> bytes | None:
        if b" UID COPY " in command or b" UID MOVE " in command:
            mailbox.fill(target, [a_message(1)])
        return None

    with (
        Proxy(mailbox.server.port, on_command=copy_too) as proxy,
        mailbox.open(port=proxy.port, without=without) as connection,
    ):
        target = snoozed(connection)
        [arrival] = moved(connection, [1], "INBOX", target).values()
    assert arrival == Arrival("moved", 2)
    assert (mailbox.subjects("INBOX"), mailbox.subjects(target)) == ([], ["message 1", "message 1"])


@pytest.mark.cyrus
@pytest.mark.parametrize("without", [(), ("MOVE",), ("MOVE", "UIDPLUS")], ids=str)
def test_nothing_is_copied_out_of_a_folder_that_nothing_may_be_taken_from(
    cyrus_server: MailServer, without: tuple[str, ...]
) -> None:
    mailbox = cyrus_server.mailbox()
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        shared = target.replace("Snoozed", "shared")
        other = mailbox.other_program()
        other.create(shared)
        other.logout()
        mailbox.fill(shared, [a_message(1)])
        admin = replace(mailbox, user="admin").other_program()
        status, reply = admin.setacl(f"user.{mailbox.user}.shared", mailbox.user, "lrswip")
        assert status == "OK", reply
        admin.logout()
        with pytest.raises(ImapError) as error:
            moved(connection, [1], shared, target)
        assert error.value.code == "denied"
        assert (mailbox.subjects(shared), mailbox.subjects(target)) == (["message 1"], [])


@both
@pytest.mark.parametrize("step", ["imap_copied", "imap_flagged", "imap_moved"])
@pytest.mark.parametrize("without", [("MOVE",), ("MOVE", "UIDPLUS")], ids=str)
def test_a_copy_that_is_interrupted_can_be_finished(mailbox: Mailbox, step: str, without: tuple[str, ...]) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    recorded: dict[int, int] = {}
    point = failpoint.parse(f"{step}:raise@<1@example.org>")
    with mailbox.open(without=without, failpoint=point) as connection:
        target = snoozed(connection)
        source = place(connection, "INBOX")
        [head] = _heads(connection, "INBOX", [1])
        with pytest.raises(FailpointReached):
            moved(connection, [1], "INBOX", target, on_copied=recorded.update)
    with mailbox.open(without=without) as connection:
        [copy] = connection.find(head.fingerprint, target)
        assert recorded == ({} if step == "imap_copied" else {1: copy})
        connection.delete([1], source=source)
    assert mailbox.subjects("INBOX") == ["message 2"]
    assert mailbox.subjects(target) == ["message 1"]


@both
@pytest.mark.parametrize("without", [(), ("UIDPLUS",)], ids=str)
def test_the_chosen_one_of_two_with_one_message_id_moves(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    direct = a_message(1, message_id="<same@example.org>", subject="direct")
    by_list = a_message(2, message_id="<same@example.org>", subject="by list", body="hello\r\n-- \r\nthe list")
    mailbox.fill("INBOX", [direct, by_list])
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        [known] = [head.fingerprint for head in _heads(connection, "INBOX", [2])]
        [arrival] = moved(connection, [2], "INBOX", target).values()
        assert mailbox.subjects(target) == ["by list"]
        moved(connection, [1], "INBOX", target)
        assert connection.find(known, target) == [arrival.uid]


@both
@pytest.mark.parametrize("without", [(), ("UIDPLUS",), ("UIDPLUS", "MOVE")], ids=str)
def test_messages_that_are_all_the_same_are_each_moved_once(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    mailbox.fill("INBOX", [a_message(1)] * 3)
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        arrivals = moved(connection, [1, 2, 3], "INBOX", target)
        assert sorted(arrival.uid or 0 for arrival in arrivals.values()) == [1, 2, 3]
    assert (mailbox.subjects("INBOX"), len(mailbox.subjects(target))) == ([], 3)


@both
@pytest.mark.parametrize("cut_at", ["before", "after"])
def test_five_hundred_with_a_cut_in_the_middle_are_each_there_once(mailbox: Mailbox, cut_at: str) -> None:
    mailbox.fill("INBOX", [a_message(number) for number in range(1, 501)])
    moves = [0]

    def cut_command(command: bytes) -> bytes | None:
        moves[0] += b" UID MOVE " in command
        return b"* BYE restarting\r\n" if cut_at == "before" and moves[0] == 2 else None

    def cut_reply(line: bytes) -> bytes | None:
        return None if cut_at == "after" and moves[0] == 2 else line

    with (
        Proxy(mailbox.server.port, on_command=cut_command, on_reply=cut_reply) as proxy,
        mailbox.open(port=proxy.port) as connection,
    ):
        target = snoozed(connection)
        known = {head.uid: head.fingerprint for head in _heads(connection, "INBOX", list(range(1, 501)))}
        with pytest.raises(ImapError) as error:
            moved(connection, list(known), "INBOX", target, fingerprints=known)
        assert error.value.code == "gone"
        assert not connection.alive
    with mailbox.open() as connection:
        rest = moved(connection, list(known), "INBOX", target, fingerprints=known)
        assert {arrival.outcome for arrival in rest.values()} == {"gone", "moved"}
        arrived = _heads(connection, target, None)
        assert sorted(head.fingerprint.sha256 for head in arrived) == sorted(each.sha256 for each in known.values())
    assert mailbox.subjects("INBOX") == []


def test_copyuid_is_read_in_sets_and_not_believed_when_it_does_not_fit() -> None:
    def read(*values: bytes) -> dict[int, int]:
        return copyuids(Reply(ok=True, text=b"", untagged={"COPYUID": list(values)}))

    assert read(b"7 1:3,9 11:14") == {1: 11, 2: 12, 3: 13, 9: 14}
    assert read(b"7 1 5", b"7 2 6") == {1: 5, 2: 6}
    assert read(b"7 1:3 5") == read(b"7 x y") == read(b"7 1:99999999 1:99999999") == read(b"7 1") == {}


def _heads(connection: Connection, folder: str, uids: list[int] | None) -> list[Any]:
    connection.select(folder)
    return connection.heads(connection.uids() if uids is None else uids)


@pytest.mark.dovecot
@pytest.mark.parametrize("without", [("MOVE",), ("MOVE", "UIDPLUS")], ids=str)
def test_a_full_mailbox_takes_no_copy_and_nothing_is_changed(
    slash_server: MailServer, without: tuple[str, ...]
) -> None:
    mailbox = slash_server.mailbox()
    mailbox.fill("INBOX", [a_message(number) for number in range(1, 5)])
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        with pytest.raises(ImapError) as error:
            moved(connection, [1], "INBOX", target)
        assert error.value.code == "quota"
        assert connection.alive
    with mailbox.open() as connection:
        assert [arrival.outcome for arrival in moved(connection, [1], "INBOX", target).values()] == ["moved"]
    assert len(mailbox.subjects("INBOX")) == 3


@both
@pytest.mark.parametrize("without", [(), ("MOVE", "UIDPLUS", "LITERAL+")], ids=str)
def test_broken_mail_goes_there_and_back_without_a_change(
    mailbox: Mailbox, messages: dict[str, bytes], without: tuple[str, ...]
) -> None:
    with mailbox.open(without=without) as connection:
        target = snoozed(connection)
        taken = 0
        for original in messages.values():
            try:
                connection.append("INBOX", original, flags=[r"\Flagged"])
                taken += 1
            except ImapError:
                # Cyrus takes no message with NUL bytes or without a header.
                assert mailbox.server.name == "cyrus"
                assert connection.alive
        before = _states(connection, "INBOX")
        assert len(before) == taken > 0.8 * len(messages)
        there = moved(connection, list(range(1, taken + 1)), "INBOX", target)
        assert {arrival.outcome for arrival in there.values()} == {"moved"}
        assert sorted(_states(connection, target)) == sorted(before)
        moved(connection, [arrival.uid or 0 for arrival in there.values()], target, "INBOX")
        assert sorted(_states(connection, "INBOX")) == sorted(before)


def _states(connection: Connection, folder: str) -> list[Any]:
    """Of all that a person sees there."""
    connection.select(folder)
    seen = [head.uid for head in connection.heads(connection.uids()) if not head.deleted]
    found = [state(connection, folder, uid) for uid in seen]
    return [(original, date, size, sorted(flags), known.sha256) for original, date, size, flags, known in found]
