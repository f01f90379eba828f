"""Turns of `snoozer mailbox`: what an idle mailbox costs, a server that never ends, sign-ins in crowds, a mailbox that
is another's or closed in the middle."""

import contextlib
import socket
import threading

import pytest
from sqlalchemy import text

from snoozer.mailboxes import registry
from snoozer.mailboxes.sync.host_limits import FIRST_SIGN_INS
from snoozer.people import accounts
from tests.factories import People, an_original
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import Place

pytestmark = pytest.mark.dovecot


class Gate:
    """Holds what passes it, from the first time on, until it is opened, or the test ends."""

    def __init__(self) -> None:
        self.reached, self._opened = threading.Event(), threading.Event()

    def open(self) -> None:
        self._opened.set()

    def hold(self) -> None:
        self.reached.set()
        assert self._opened.wait(60)


def names(commands: list[bytes]) -> list[bytes]:
    """The commands without their tags."""
    return [line.split(b" ", 1)[-1].split()[0] for line in commands]


def test_a_poll_that_finds_nothing_new_is_one_list(place: Place, dovecot_server: MailServer) -> None:
    place.settings = place.settings.model_copy(update={"mailbox_poll": 0.2})
    with Proxy(dovecot_server.port) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.eventually(lambda: names(proxy.commands).count(b"DONE") >= 6)
        place.stop()
        after = names(proxy.commands)
    first = after.index(b"DONE")
    assert after[first : first + 12] == [b"DONE", b"LIST", b"IDLE"] * 4


def test_a_server_that_never_ends_its_reply_does_not_keep_the_mailbox(place: Place, dovecot_server: MailServer) -> None:
    gate = Gate()

    def on_reply(line: bytes) -> bytes:
        if b"[COPYUID" in line and not gate.reached.is_set():
            gate.hold()
        return line

    with Proxy(dovecot_server.port, on_reply=on_reply) as proxy:
        place.lead_to(proxy.port)
        place.program.deliver(an_original(message_id="<a@mail.example>"))
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.start(turn_seconds=2.0)
        assert gate.reached.wait(60)
        place.eventually(lambda: place.asleep() == 1)
        gate.open()
    assert place.program.count("Snoozed") == 1


def test_sign_ins_do_not_come_in_crowds_and_a_silent_host_keeps_no_other_from_being_watched(
    place: Place, people: People
) -> None:
    """Thirty mailboxes at a host that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.2", 0), backlog=100) as silent:
        place.run(
            "INSERT INTO mailboxes (account_id, address, host, port, security, username, secret) "  # noqa: S608
            f"SELECT account_id, address, '127.0.0.2', {silent.getsockname()[1]}, security, 'user' || n, secret "
            "FROM mailboxes, generate_series(1, 30) AS n"
        )
        # Its turn comes after theirs.
        place.run("UPDATE mailboxes SET id = id + 1000 WHERE host = '127.0.0.1'")
        for number in range(30):
            person = people.ann(f"person{number}@snoozer.example")
            place.run(f"UPDATE mailboxes SET account_id = {person.id} WHERE username = 'user{number + 1}'")  # noqa: S608
        place.start(turn_seconds=6.0)
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
        silent.setblocking(False)
        came = []
        with contextlib.suppress(BlockingIOError):
            while True:
                came.append(silent.accept()[0])
        assert len(came) <= FIRST_SIGN_INS
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE problem = 'gone'"))
        for each in came:
            each.close()


def test_a_mailbox_that_is_taken_anew_waits_for_the_turn_that_runs(place: Place, dovecot_server: MailServer) -> None:
    """As by a new password while messages are being moved: two turns at once would undo each other's moves."""
    gate = Gate()

    def on_command(line: bytes) -> None:
        if b" UID MOVE " in line and not gate.reached.is_set():
            gate.hold()

    with Proxy(dovecot_server.port, on_command=on_command) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.program.deliver(an_original(message_id="<a@mail.example>"))
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        assert gate.reached.wait(60)
        fence = place.rows("SELECT fence FROM mailboxes")[0][0]
        place.lead_to(proxy.port)
        place.eventually(lambda: place.rows("SELECT fence FROM mailboxes WHERE owner IS NOT NULL")[0:] != [])
        assert place.rows("SELECT fence FROM mailboxes")[0][0] == fence + 2
        [(seen_at,)] = place.rows("SELECT seen_at FROM mailbox_watchers")
        place.eventually(lambda: place.rows("SELECT seen_at FROM mailbox_watchers")[0][0] > seen_at)
        assert names(proxy.commands).count(b"LOGIN") == 1
        gate.open()
        place.eventually(lambda: place.asleep() == 1)
    assert place.program.count("Snoozed") == 1
    assert names(proxy.commands).count(b"LOGIN") == 2


def test_an_account_that_is_closed_in_the_middle_of_a_turn_snoozes_nothing_more(
    place: Place, dovecot_server: MailServer
) -> None:
    gate = Gate()

    def on_command(line: bytes) -> None:
        if b" UID FETCH " in line and not gate.reached.is_set():
            gate.hold()

    with Proxy(dovecot_server.port, on_command=on_command) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
        place.program.deliver(an_original(message_id="<a@mail.example>"))
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        assert gate.reached.wait(60)
        with place.engine.begin() as reports:
            # Until this ends, the process does not learn of it by its own report.
            reports.execute(text("SELECT 1 FROM mailbox_watchers FOR UPDATE"))
            with place.engine.begin() as connection:
                accounts.close(connection, email=place.person.email)
            gate.open()
            place.eventually(lambda: names(proxy.commands)[-1] in (b"LOGOUT", b"IDLE"))
        # It is taken anew as one of a closed account, and read as that.
        place.eventually(lambda: names(proxy.commands).count(b"LOGIN") == 2)
        place.eventually(lambda: names(proxy.commands)[-1] == b"IDLE")
    assert place.rows("SELECT 1 FROM email_snoozes UNION ALL SELECT 1 FROM messages") == []
    assert place.program.count(place.folder("Snooze", "Tomorrow")) == 1


def test_thirty_messages_that_are_taken_out_are_sought_by_few_searches(
    place: Place, dovecot_server: MailServer
) -> None:
    for number in range(30):
        place.program.deliver(an_original(message_id=f"<{number}@mail.example>"))
    for number in range(12):
        place.program.create(f"Projects {number}")
    place.program.create("Zebra")
    with Proxy(dovecot_server.port) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 30)
        place.program.deliver(an_original(message_id="<in the inbox@mail.example>"))
        before = len(proxy.commands)
        place.program.move("Snoozed", "Zebra")
        place.eventually(lambda: len(place.rows("SELECT 1 FROM email_snoozes WHERE outcome = 'cancelled'")) == 30)
        searches = [line for line in proxy.commands[before:] if b"HEADER Message-ID" in line]
    assert place.program.count("Zebra") == 30
    assert 1 <= len(searches) <= 8


def test_a_home_that_takes_nothing_keeps_no_other_message_from_coming_back(
    place: Place, dovecot_server: MailServer
) -> None:
    def on_command(line: bytes) -> bytes | None:
        return b"{tag} NO [NOPERM] Not there.\r\n" if b" UID MOVE " in line and b'"A"' in line else None

    place.program.create("A")
    for name in ("a", "b"):
        place.program.deliver(an_original(message_id=f"<{name}@mail.example>"))
    with Proxy(dovecot_server.port, on_command=on_command) as proxy:
        place.lead_to(proxy.port)
        place.start()
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 2)
        place.run("UPDATE messages SET home = 'A' WHERE message_id = '<a@mail.example>'")
        place.make_due()
        place.eventually(lambda: place.program.count("INBOX") == 1)
        place.eventually(lambda: place.problem() == "denied")
        place.stop()
    assert place.program.count("Snoozed") == 1


def test_a_search_for_the_flag_that_is_refused_keeps_nothing_from_being_moved(
    place: Place, dovecot_server: MailServer
) -> None:
    def on_command(line: bytes) -> bytes | None:
        return b"{tag} NO Not for keywords.\r\n" if b" KEYWORD " in line else None

    place.run("UPDATE mailboxes SET snooze_flag = '$Snooze', snooze_flag_time = 'Next week'")
    with Proxy(dovecot_server.port, on_command=on_command) as proxy:
        place.lead_to(proxy.port)
        place.program.deliver(an_original(message_id="<a@mail.example>"))
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.start()
        place.eventually(lambda: place.asleep() == 1)
        place.make_due()
        place.eventually(lambda: place.program.count("INBOX") == 1)
        assert place.problem() is None
        place.stop()


@pytest.mark.parametrize("what", ["closed", "disconnected"])
def test_what_was_missed_comes_back_where_nothing_is_looked_at_any_more(place: Place, what: str) -> None:
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.stop()
    place.run("UPDATE messages SET place = 'missing', missing_since = clock_timestamp()")
    with place.engine.begin() as connection:
        if what == "closed":
            accounts.close(connection, email=place.person.email)
        else:
            assert registry.disconnect(connection, id=place.mailbox_id, account_id=place.person.id)
    if what == "closed":
        place.make_due()
    place.start()
    place.eventually(lambda: place.program.count("INBOX") == 1)
