"""A server that refuses for a while: no room, no sign-in, a certificate that has expired, or a line that is cut at a
command. Afterwards each message is in one place, and what was due is back."""

import os
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import People, an_original
from tests.imap import dovecot
from tests.imap.certificates import Authority
from tests.imap.dovecot import Dovecot
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import Place, watched

pytestmark = pytest.mark.dovecot

RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"
PAUSED = "SELECT 1 FROM mailboxes WHERE state = 'paused'"
ASKED = "SELECT 1 FROM email_snoozes WHERE message_id LIKE '%@password.snoozer.invalid>'"
STORM = bool(os.environ.get("SNOOZER_STORM"))


def put_to_sleep(place: Place, message_id: str = "<a@mail.example>") -> None:
    place.program.deliver(an_original(message_id=message_id))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)


def counts(place: Place) -> list[int]:
    """What a person sees in the inbox, in the folder that means a time, and among what is snoozed."""
    folders = ("INBOX", place.folder("Snooze", "Tomorrow"), place.snoozed)
    return [len(place.program.shown(folder)) for folder in folders]


def test_a_full_mailbox_that_copies_keeps_the_message_where_it_is_until_there_is_room(
    engine: Engine, settings: Settings, people: People, slash_server: MailServer
) -> None:
    user = slash_server.mailbox().user
    with watched(engine, settings, people.ann(), port=slash_server.port, username=user, delimiter="/") as place:
        for _ in range(4):
            place.program.deliver(an_original())
        place.program.move("INBOX", "Snooze/Tomorrow", uids="1")
        place.start(without=("MOVE",))
        place.eventually(lambda: place.problem() == "quota")
        assert counts(place) == [3, 1, 0]
        assert place.rows("SELECT inactive, moving_to FROM email_snoozes, messages") == [(False, None)]
        place.stop()
        place.make_due()
        [(before,)] = place.rows("SELECT tried_at FROM mailboxes")
        place.start(without=("MOVE",))
        place.eventually(lambda: place.rows(f"SELECT 1 FROM mailboxes WHERE tried_at > '{before}'"))  # noqa: S608
        assert place.problem() == "quota"
        assert counts(place) == [3, 1, 0]
        assert place.rows(RETURNING)
        place.stop()
        place.program.mark_deleted("INBOX", uids="2")
        place.start(without=("MOVE",))
        place.eventually(lambda: not place.rows(RETURNING) and place.problem() is None)
        assert counts(place) == [3, 0, 0]


def test_a_sign_in_that_is_refused_for_an_hour_asks_once_and_goes_on_by_itself(
    place: Place, dovecot_server: MailServer
) -> None:
    refuses = True

    def on_command(line: bytes) -> bytes | None:
        is_refused = refuses and b" LOGIN " in line
        return b"{tag} NO [AUTHENTICATIONFAILED] Authentication failed.\r\n" if is_refused else None

    place.start()
    put_to_sleep(place)
    place.stop()
    place.make_due()
    with Proxy(dovecot_server.port, on_command=on_command) as proxy:
        place.lead_to(proxy.port)
        place.start(retry_sign_in=0.1)
        place.eventually(lambda: place.rows(PAUSED))
        place.stop()
        assert _sign_ins(proxy) == 2
        [(before,)] = place.rows("SELECT clock_timestamp()")
        place.start(retry_sign_in=0.1)
        place.eventually(lambda: place.rows(f"SELECT 1 FROM mailbox_watchers WHERE seen_at > '{before}'"))  # noqa: S608
        place.stop()
        assert _sign_ins(proxy) == 2, "a paused mailbox is left alone for an hour"
        an_hour_passes(place)
        place.start(retry_sign_in=0.1)
        place.eventually(lambda: _sign_ins(proxy) == 4)
        place.stop()
        refuses = False
        an_hour_passes(place)
        place.start()
        place.eventually(lambda: place.rows("SELECT state, problem FROM mailboxes") == [("active", None)])
        assert not place.rows(RETURNING)
        assert counts(place) == [1, 0, 0]
        assert len(place.rows(ASKED)) == 1


def _sign_ins(proxy: Proxy) -> int:
    return sum(b" LOGIN " in line for line in proxy.commands)


def an_hour_passes(place: Place) -> None:
    place.run("UPDATE mailboxes SET tried_at = tried_at - INTERVAL '1 hour', owner = NULL, owned_until = NULL")


def test_a_server_that_asks_to_be_left_alone_is_and_keeps_no_other_mailbox_from_being_watched(
    place: Place, engine: Engine, settings: Settings, dovecot_server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    is_busy = True

    def on_command(line: bytes) -> bytes | None:
        return b"{tag} NO [UNAVAILABLE] Try again in 300 seconds.\r\n" if is_busy and b" LOGIN " in line else None

    user = dovecot_server.mailbox().user
    place.program.deliver(an_original(message_id="<busy@mail.example>"))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    with (
        Proxy(dovecot_server.port, on_command=on_command) as proxy,
        watched(engine, settings, place.person, port=dovecot_server.port, username=user) as other,
    ):
        place.run(f"UPDATE mailboxes SET port = {proxy.port} WHERE id = {place.mailbox_id}")  # noqa: S608
        place.start()
        place.eventually(lambda: "(throttled); the next try is in 300 s" in caplog.text)
        other.program.deliver(an_original(message_id="<other@mail.example>"))
        other.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 1)
        assert _sign_ins(proxy) == 1
        place.stop()
        is_busy = False
        place.start()
        place.eventually(lambda: place.asleep() == 2)
        place.stop()
    assert counts(place) == [0, 0, 1]


@pytest.fixture
def renewed(authority: Authority) -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("Dovecot")
    with dovecot.running(tls=authority.issue("localhost")) as server:
        yield server


def test_a_certificate_that_has_expired_stops_moves_until_it_is_renewed(
    engine: Engine,
    settings: Settings,
    people: People,
    renewed: Dovecot,
    authority: Authority,
    trusting_tls: ssl.SSLContext,
) -> None:
    with watched(engine, settings, people.ann(), port=renewed.imap_port, username="ann") as place:
        place.run(f"UPDATE mailboxes SET host = 'localhost', port = {renewed.imaps_port}, security = 'tls'")  # noqa: S608
        place.start(tls=trusting_tls)
        put_to_sleep(place)
        place.stop()
        renewed.renew(authority.issue("localhost", ends_in=timedelta(hours=-1)))
        place.eventually(lambda: not _is_valid(renewed.imaps_port, trusting_tls))
        place.make_due()
        place.start(tls=trusting_tls)
        place.eventually(lambda: place.problem() == "certificate")
        assert counts(place) == [0, 0, 1]
        assert place.rows(RETURNING)
        place.stop()
        renewed.renew(authority.issue("localhost"))
        place.eventually(lambda: _is_valid(renewed.imaps_port, trusting_tls))
        place.start(tls=trusting_tls)
        place.eventually(lambda: not place.rows(RETURNING) and place.problem() is None)
        assert counts(place) == [1, 0, 0]


def _is_valid(port: int, tls: ssl.SSLContext) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            tls.wrap_socket(plain, server_hostname="localhost").close()
    except (ssl.SSLError, ConnectionError):
        return False
    return True


class Cutter:
    """Cuts the line once at a command, before the server has it or when its reply begins."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.fired = False
        self._command, self._after = "", False
        self._cuts_reply = False

    def arm(self, command: str, *, after: bool) -> None:
        self._command, self._after, self.fired = command, after, False

    def on_command(self, line: bytes) -> bytes | None:
        words = line.decode("latin-1").upper().split()[1:]
        name = " ".join(words[: 2 if words[:1] == ["UID"] else 1])
        self.seen.add(name)
        if name == self._command and not self.fired:
            self.fired, self._cuts_reply = True, self._after
            if not self._after:
                raise ConnectionAbortedError
        return None

    def on_reply(self, line: bytes) -> bytes | None:
        cuts, self._cuts_reply = self._cuts_reply, False
        return None if cuts else line


# Where nothing can be expunged alone, originals stay, marked as deleted.
WAYS = {"MOVE": (), "COPY": ("MOVE",), "MARK": ("MOVE", "UIDPLUS")}
SAMPLE = {
    ("MOVE", False): "SELECT",
    ("MOVE", True): "UID STORE",
    ("COPY", False): "UID COPY",
    ("COPY", True): "UID STORE",
    ("MARK", False): "UID STORE",
    ("MARK", True): "UID COPY",
}
BOTH_WAYS = ("LOGIN", "CAPABILITY", "ID", "LIST", "SELECT", "IDLE", "UID SEARCH", "UID FETCH", "UID STORE")
WHOLE = {
    "MOVE": (*BOTH_WAYS, "UID MOVE"),
    "COPY": (*BOTH_WAYS, "UID COPY", "UID EXPUNGE"),
    "MARK": (*BOTH_WAYS, "UID COPY"),
}
TIMES = 10 if STORM else 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_dies_at_a_command_leaves_one_copy(
    place: Place, dovecot_server: MailServer, way: str, after: bool
) -> None:
    cutter = Cutter()
    commands = WHOLE[way] * TIMES if STORM else (SAMPLE[way, after],)
    with Proxy(dovecot_server.port, on_command=cutter.on_command, on_reply=cutter.on_reply) as proxy:
        place.lead_to(proxy.port)
        for number, command in enumerate(commands, start=1):
            place.program.deliver(an_original(), flags=r"(\Seen)")
            place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
            cutter.arm(command, after=after)
            _through_a_cut(place, cutter, lambda: place.asleep() == number, way=way)  # noqa: B023
            assert counts(place) == [0, 0, number], command
            assert place.rows("SELECT count(*) FROM email_snoozes") == [(number,)]
        for number, command in enumerate(commands, start=1):
            [(first,)] = place.rows("SELECT min(snooze_id) FROM messages WHERE returns_at > now()")
            place.make_due(id=first)
            cutter.arm(command, after=after)
            left = len(commands) - number
            _through_a_cut(place, cutter, lambda: len(place.rows(RETURNING)) == left, way=way)  # noqa: B023
            assert counts(place) == [number, 0, left], command
            assert place.rows("SELECT count(*) FROM reminder_sends WHERE channel = 'mailbox'") == [(number,)]
        assert set(commands) <= cutter.seen


def _through_a_cut(place: Place, cutter: Cutter, is_so: Callable[[], object], *, way: str) -> None:
    """Until it is so; after a cut another process goes on at once, which waits for nothing."""
    place.start(without=WAYS[way])
    place.eventually(lambda: cutter.fired or is_so())
    if not is_so():
        place.stop()
        place.start(without=WAYS[way])
        place.eventually(is_so)
    place.stop()
