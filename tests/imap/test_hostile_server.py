"""Servers that mean harm: each ends in a code and a sentence, in bounded time and memory, and never in a traceback."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap import Connection, ImapError, Login, Place, Server
from snoozer.mailboxes.imap.move import copyuids
from snoozer.mailboxes.imap.session import Reply
from snoozer.mailboxes.imap.transport import Transport
from snoozer.mailboxes.registry import Report
from tests.imap.scripted_server import EOF, GREETING, WITH_FOLDERS, ScriptedImap

PASSWORD = "a-password-that-is-nowhere"
STEPS = ["CAPABILITY", "LOGIN", "SELECT", "NAMESPACE", "LIST", "CREATE", "SUBSCRIBE"]
MEBIBYTE = 1024 * 1024


def check(port: int, *, seconds: float = 60) -> Report:
    login = Login("ann@mail.example", PASSWORD)
    server = Server("127.0.0.1", port, "plain")
    return registry.check(server, login, labels=["Tomorrow"], allow_private=True, seconds=seconds)


def outcome(script: dict[str, str]) -> str:
    """The code of what the check found, after a look at its words."""
    with ScriptedImap(WITH_FOLDERS | script) as server:
        problem = check(server.port).problem
    if problem is None:
        return "works"
    words = f"{problem.what} {problem.remedy}"
    assert PASSWORD not in words
    assert "<script>" not in words
    return problem.code


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("reply", "codes"),
    [
        (EOF, {"gone"}),
        ("* BYE <script>alert(1)</script>\r\n" + EOF, {"gone"}),
        ("ZZZZ99 OK done\r\n", {"gone", "protocol"}),
        (f"{{tag}} NO <script>alert(1)</script> {PASSWORD}\r\n", {"login", "no_folder", "protocol", "works"}),
        ("{tag} OK done\r\n", {"protocol", "works"}),
        (f'* LIST () "/" {{{"9" * 5000}}}\r\n', {"gone", "protocol"}),
        ('* LIST () "/" {4294967296}\r\n', {"gone", "protocol"}),
        ('* LIST () "/" {-5}\r\n{tag} OK done\r\n', {"protocol", "works"}),
        (f"* {'9' * 5000} EXISTS\r\n{{tag}} OK done\r\n", {"protocol", "works"}),
        (f"* LIST {'(' * 100_000}\r\n{{tag}} OK done\r\n", {"protocol", "works"}),
        ("* \x00(((\r\n{tag} OK done\r\n", {"protocol", "works"}),
    ],
    ids=["eof", "bye", "tag", "no", "nothing", "digits", "literal", "negative", "number", "nested", "garbage"],
)
def test_each_step_may_go_wrong_in_each_way(step: str, reply: str, codes: set[str]) -> None:
    assert outcome({step: reply}) in codes


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("NAMESPACE", "* NAMESPACE (5) x (NIL NIL)\r\n"),
        ("NAMESPACE", '* NAMESPACE 5 "abc" (("a"))\r\n'),
        ("NAMESPACE", "* NAMESPACE (" + '("x/" "/")' * 101 + ") NIL NIL\r\n"),
        ("LIST", "* LIST 5 6 7\r\n"),
        ("LIST", "* LIST (((a))) (b) (c)\r\n* LIST 7 NIL NIL\r\n"),
        ("SELECT", "* OK [UIDVALIDITY 0] x\r\n"),
        ("SELECT", "* OK [UIDVALIDITY -1] x\r\n"),
        ("SELECT", f"* OK [UIDVALIDITY {2**32}] x\r\n"),
        ("SELECT", f"* OK [UIDVALIDITY {'9' * 5000}] x\r\n"),
    ],
)
def test_what_has_the_signs_of_imap_and_another_shape_is_refused(step: str, reply: str) -> None:
    assert outcome({step: reply + "{tag} OK done\r\n"}) == "protocol"


def test_names_that_no_program_can_have_given_are_left_out() -> None:
    names = ['"<script>alert(1)</script>"', f'"{"x" * 2000}"', f'"{"a/" * 300}b"', "{7}\r\na\r\nb\x00cd", '""', "INBOX"]
    listed = "".join(f'* LIST () "/" {name}\r\n' for name in names) + '* LIST () NIL "flat"\r\n{tag} OK done\r\n'
    with ScriptedImap(WITH_FOLDERS | {"LIST": listed}) as server, server.open() as connection:
        assert [folder.name for folder in connection.folders()] == ["<script>alert(1)</script>", "INBOX", "flat"]


def test_ten_thousand_folders_are_listed_and_more_are_refused() -> None:
    def listed(count: int) -> str:
        return "".join(f'* LIST () "/" "f{number}"\r\n' for number in range(count)) + "{tag} OK done\r\n"

    with ScriptedImap(WITH_FOLDERS | {"LIST": listed(10_000)}) as server, server.open() as connection:
        assert len(connection.folders()) == 10_000
    with ScriptedImap(WITH_FOLDERS | {"LIST": listed(20_001)}) as server, server.open() as connection:
        with pytest.raises(ImapError, match="more than 20000 folders"):
            connection.folders()
        assert connection.alive


@pytest.mark.parametrize("values", ["SIZE", "DATE", "FLAGS", "HEADER"])
def test_a_head_that_lies_is_left_out_or_refused(values: str) -> None:
    size = 2**70 if values == "SIZE" else 5
    date = "31-Dec-9999 23:59:59 -1400" if values == "DATE" else "01-Jan-2026 00:00:00 +0000"
    flags = "7" if values == "FLAGS" else "(x)"
    header = "((1))" if values == "HEADER" else '"Subject: a"'
    head = f'UID 1 FLAGS {flags} RFC822.SIZE {size} INTERNALDATE "{date}" BODY[HEADER.FIELDS (Date)]<0> {header}'
    with ScriptedImap({"UID FETCH": f"* 1 FETCH ({head})\r\n{{tag}} OK done\r\n"}) as server, server.open() as opened:
        opened.select("INBOX")
        try:
            assert opened.heads([1]) == []
        except ImapError as error:
            assert error.code == "protocol"


def test_numbers_that_are_no_uids_are_none() -> None:
    found = f"* SEARCH 0 -1 7 {2**32} 99999999999999999999\r\n{{tag}} OK done\r\n"
    with ScriptedImap({"UID SEARCH": found}) as server, server.open() as connection:
        connection.select("INBOX")
        assert connection.uids() == [7]


def test_a_copyuid_of_millions_costs_nothing() -> None:
    """Each range was small enough, and all together were ten thousand million numbers."""
    bomb = b"7 " + b",".join([b"1:100000"] * 100_000)
    values: list[object] = [bomb + b" 1", b"7 " + b"9" * 5000 + b" 1", b"7 0 1", b"7 1 4294967296"]
    values += [b"7 1:100000 1:100000"] * 100_000
    assert copyuids(Reply(ok=True, text=b"", untagged={"COPYUID": values})) == {}


@contextmanager
def streaming(data: bytes, *, after: bytes) -> Iterator[tuple[int, Callable[[], int]]]:
    """A server that does as others do until it gets this command, and then sends without an end: its port, and how much
    it sent."""
    sent = [0]
    with ScriptedImap(WITH_FOLDERS | {after.decode(): ""}) as real, socket.create_server(("127.0.0.1", 0)) as listener:

        def relay() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection(("127.0.0.1", real.port)) as server, suppress(OSError):
                client.sendall(server.recv(65_536))
                while line := client.recv(65_536):
                    if after in line:
                        while True:
                            sent[0] += client.send(data)
                    server.sendall(line)
                    reply = b""
                    while not reply.endswith(b"\r\n") or line.split()[0] not in reply:
                        reply += server.recv(65_536)
                    client.sendall(reply)

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        yield listener.getsockname()[1], lambda: sent[0]
        thread.join(timeout=60)


@pytest.mark.parametrize(
    "data",
    [b"x" * 65_536, b"* LIST () NIL " + b"y" * 60_000 + b"\r\n", b"* OK\r\n" * 8_000],
    ids=["line", "bytes", "lines"],
)
def test_a_reply_without_an_end_is_cut_off_before_it_fills_the_memory(data: bytes) -> None:
    with streaming(data, after=b"LIST") as (port, sent):
        problem = check(port).problem
    assert problem is not None
    assert problem.code == "protocol"
    assert sent() < 32 * MEBIBYTE


def test_events_without_an_end_are_cut_off_however_they_are_cut_up(scripted: ScriptedImap, idling: Connection) -> None:
    """The thread that reads them is shared by all mailboxes."""
    with pytest.raises(ImapError) as raised:
        for _ in range(100):
            scripted.push("* OK still here\r\n" * 2_000)
            while not idling.read_idle():
                pass
    assert raised.value.code == "protocol"
    assert not idling.alive


@pytest.fixture
def scripted() -> Iterator[ScriptedImap]:
    with ScriptedImap() as server:
        yield server


@pytest.fixture
def idling(scripted: ScriptedImap) -> Iterator[Connection]:
    with scripted.open() as connection:
        connection.select("INBOX")
        connection.start_idle()
        yield connection


def test_a_greeting_that_is_none_is_refused() -> None:
    for greeting in ("* OK {99999999999}\r\n", "\x00\x01\x02" * 100 + "\r\n", "* BYE go away\r\n" + EOF, "\r\n"):
        assert outcome({GREETING: greeting}) in {"protocol", "gone"}
    assert outcome({GREETING: "* PREAUTH at once\r\n"}) == "works"


def test_a_move_to_a_folder_whose_numbers_lie_changes_nothing() -> None:
    status = '* STATUS "Snoozed" (MESSAGES 0 UIDNEXT 1 UIDVALIDITY 99999999999)\r\n{tag} OK done\r\n'
    with ScriptedImap({"STATUS": status}) as server, server.open() as connection:
        with pytest.raises(ImapError) as raised:
            connection.move([1], source=Place("INBOX", 7), target=Place("Snoozed", 8))
        assert raised.value.code == "no_folder"
        assert not any(" MOVE " in command or " COPY " in command for command in server.commands)


def test_text_of_a_reply_has_an_end_where_messages_are_large() -> None:
    row = f"* 1 FETCH (UID 1 FLAGS ({'a' * 900_000}))\r\n"
    with ScriptedImap({"UID FETCH": row * 10 + "{tag} OK done\r\n"}) as server, server.open() as mailbox:
        mailbox.select("INBOX")
        with pytest.raises(ImapError) as raised:
            mailbox.heads([1])
    assert raised.value.code == "protocol"


def test_a_part_is_cut_where_more_comes_than_was_asked_for() -> None:
    reply = "* 1 FETCH (UID 1 BODY[1]<0> {10}\r\n0123456789)\r\n{tag} OK done\r\n"
    with ScriptedImap({"UID FETCH": reply}) as server, server.open() as mailbox:
        mailbox.select("INBOX")
        assert mailbox.fetch_section(1, "1", size=5) == b"01234"


def test_a_good_bye_waits_for_no_server_that_has_stopped_reading() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport = Transport(ours, timeout=3_600)
        ours.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                ours.send(b"x" * 65_536)
        transport.send_last(b"Z1 LOGOUT\r\n")
        transport.close()
        theirs.setblocking(False)
        with suppress(BlockingIOError):
            while sent := theirs.recv(65_536):
                assert set(sent) == {ord("x")}
