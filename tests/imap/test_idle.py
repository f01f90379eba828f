"""IDLE: every event is seen, every death is noticed, and nothing waits."""

import select
from collections.abc import Callable

import pytest

from snoozer.mailboxes.imap import Connection, Event, ImapError
from snoozer.mailboxes.imap.idle import event_of
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, a_message, place
from tests.imap.scripted_server import ScriptedImap

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)


def next_events(connection: Connection) -> list[Event]:
    """What a selector reports next, at most 30 s from now."""
    readable, _, _ = select.select([connection.fileno()], [], [], 30)
    assert readable, "nothing came"
    return connection.read_idle()


def events_until(connection: Connection, wanted: Callable[[Event], bool]) -> list[Event]:
    events: list[Event] = []
    while not any(map(wanted, events)):
        events += next_events(connection)
    return events


def idling(connection: Connection) -> bool:
    connection.select("INBOX")
    return connection.start_idle()


@both
def test_arrival_removal_and_deletion_are_seen_over_tls(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    with mailbox.open() as connection, mailbox.open() as other:
        target = other.create_folders([]).snoozed
        idling(connection)
        mailbox.fill("INBOX", [a_message(3)])
        events_until(connection, lambda event: event == Event("exists", 3))
        other.select("INBOX")
        other.add_flag([2], r"\Deleted")
        events_until(connection, lambda event: event.deleted)
        other.move([1], source=place(other, "INBOX"), target=place(other, target))
        events_until(connection, lambda event: event.kind == "expunged")
        connection.end_idle()
        assert connection.select("INBOX").exists == 2


@both
def test_a_burst_is_read_whole(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(number) for number in range(1, 301)])
    with mailbox.open() as connection, mailbox.open() as other:
        target = other.create_folders([]).snoozed
        idling(connection)
        other.move(range(1, 301), source=place(other, "INBOX"), target=place(other, target))
        expunged = 0
        while expunged < 300:
            expunged += sum(event.kind == "expunged" for event in next_events(connection))
        connection.end_idle()
        assert expunged == 300


@pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
def test_an_event_of_another_folder_is_no_event_of_the_selected_one(mailbox: Mailbox) -> None:
    with mailbox.open() as connection, mailbox.open() as other:
        ours = other.create_folders(["Tomorrow"])
        connection.report_changes([ours.snoozed], below=[ours.root])
        idling(connection)
        other.append(ours.snoozed, a_message(1))
        assert {event.kind for event in events_until(connection, lambda event: event.kind == "folder")} == {"folder"}
        connection.end_idle()


def test_an_event_in_the_packet_of_the_plus_is_not_slept_over() -> None:
    with ScriptedImap({"IDLE": "+ idling\r\n* 4 EXISTS\r\n"}) as server, server.open() as connection:
        assert idling(connection)
        assert connection.read_idle() == [Event("exists", 4)]
        assert connection.read_idle() == []


def test_an_event_in_front_of_the_plus_is_not_lost() -> None:
    with ScriptedImap({"IDLE": "* 4 EXISTS\r\n* OK hold on\r\n+ idling\r\n"}) as server, server.open() as connection:
        assert idling(connection)
        assert connection.read_idle() == [Event("exists", 4)]


def test_silence_is_no_event() -> None:
    with ScriptedImap() as server, server.open() as connection:
        assert not idling(connection)
        assert connection.read_idle() == []
        assert connection.end_idle() == []
        connection.check()


def test_a_line_in_two_packets_is_one_event() -> None:
    with ScriptedImap() as server, server.open() as connection:
        idling(connection)
        server.push("* 3 EXP")
        assert next_events(connection) == []
        server.push("UNGE\r\n* 2 EXPUNGE\r\n")
        assert next_events(connection) == [Event("expunged", 3), Event("expunged", 2)]


def test_half_a_line_that_stays_one_is_the_end() -> None:
    with ScriptedImap() as server, server.open(timeout=0.05) as connection:
        idling(connection)
        server.push("* 3 EXP")
        with pytest.raises(ImapError) as error:
            while True:
                connection.read_idle()
        assert error.value.code == "gone"
        assert not connection.alive


def test_the_end_of_the_stream_is_an_error_and_no_empty_list() -> None:
    with ScriptedImap() as server, server.open() as connection:
        idling(connection)
        server.hang_up()
        with pytest.raises(ImapError) as error:
            next_events(connection)
        assert error.value.code == "gone"
        assert not connection.alive
        with pytest.raises(ImapError) as error:
            connection.check()
        assert error.value.code == "gone"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("* BYE Session invalidated - AccessTokenExpired\r\n", "gone"),
        ("* BYE [UNAVAILABLE] too many connections\r\n", "throttled"),
        ("{idle} OK Idle terminated\r\n", "gone"),
        ("* 3 FETCH (X {9999999}\r\n", "gone"),
        ("HTTP/1.1 400\r\n", "gone"),
    ],
)
def test_what_ends_idle_is_an_error(line: str, code: str) -> None:
    with ScriptedImap() as server, server.open() as connection:
        idling(connection)
        server.push(line.replace("{idle}", server.commands[-1].split(" ")[0]))
        with pytest.raises(ImapError) as error:
            next_events(connection)
        assert error.value.code == code
        assert not connection.alive


def test_events_until_the_end_are_handed_over() -> None:
    script = {"DONE": "* 4 EXISTS\r\n* 3 FETCH (FLAGS (\\Seen \\Deleted))\r\n{idle} OK done\r\n"}
    with ScriptedImap(script) as server, server.open() as connection:
        idling(connection)
        assert connection.end_idle() == [
            Event("exists", 4),
            Event("flags", 3, deleted=True, flags=frozenset({r"\seen", r"\deleted"})),
        ]


def test_a_server_that_refuses_idle_stays_usable() -> None:
    with ScriptedImap({"IDLE": "{tag} NO not now\r\n"}) as server, server.open() as connection:
        with pytest.raises(ImapError) as error:
            idling(connection)
        assert error.value.code == "protocol"
        connection.check()
        assert connection.end_idle() == []


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b"* 3 EXISTS\r\n", Event("exists", 3)),
        (b"* 3 expunge\r\n", Event("expunged", 3)),
        (b"* VANISHED 3:5\r\n", Event("expunged")),
        (b"* 3 FETCH (UID 7 FLAGS (\\Seen $Snooze))\r\n", Event("flags", 3, flags=frozenset({r"\seen", "$snooze"}))),
        (b"* 3 FETCH (FLAGS (\\deleted))\r\n", Event("flags", 3, deleted=True, flags=frozenset({r"\deleted"}))),
        (b"* 3 FETCH (FLAGS (\\DeletedNot))\r\n", Event("flags", 3, flags=frozenset({r"\deletednot"}))),
        (b"* 0 RECENT\r\n", Event("other")),
        (b"* OK Still here\r\n", Event("other")),
        (b"* \xff\r\n", Event("other")),
    ],
)
def test_what_a_line_tells(line: bytes, event: Event) -> None:
    assert event_of(line) == event
