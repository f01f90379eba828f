"""A person whose mailbox at a real server is connected and watched, beside the mail program that the person uses."""

import contextlib
import imaplib
import os
import random
import re
import ssl
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import IO, Any

from sqlalchemy import Engine, text

from snoozer.cli.mailbox import make_watcher
from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.mailboxes.imap.folders import raw
from snoozer.settings import Settings
from tests.factories import Person
from tests.forked import start_forked
from tests.imap.dovecot import PASSWORD
from tests.process.conftest import Field, Sink, a_sink

SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[2]


Stored = tuple[bytes, str, frozenset[str]]


def returned(messages: Iterable[Stored]) -> list[Stored]:
    """How messages come back: unread, and marked as returned."""
    return [(original, date, flags - {r"\Seen"} | {"$new"}) for original, date, flags in messages]


def quoted(name: str) -> str:
    return f'"{name}"'


class MailProgram:
    """What a person does in any mail program, by plain IMAP."""

    def __init__(self, port: int, username: str) -> None:
        self._imap = imaplib.IMAP4("127.0.0.1", port)
        self._imap.login(username, PASSWORD)

    def close(self) -> None:
        self._imap.logout()

    def deliver(self, original: bytes, *, folder: str = "INBOX", flags: str = "", at: datetime | None = None) -> None:
        """A message that came in yesterday, unless `at` says otherwise."""
        came = time.time() - 86_400 if at is None else at.timestamp()
        self._ok(self._imap.append(folder, flags, imaplib.Time2Internaldate(came), original))

    def highest_uid(self, folder: str) -> int:
        """The last UID in a folder; 0 when it is empty."""
        self._ok(self._imap.select(quoted(folder), readonly=True))
        _, [found] = self._imap.uid("SEARCH", "ALL")
        self._imap.unselect()
        return max(map(int, found.split()), default=0)

    def try_to_deliver(self, original: bytes) -> bool:
        """Returns whether the server takes it."""
        return self._imap.append("INBOX", "", "", original)[0] == "OK"

    def append(self, original: bytes, *, flags: str, date: str) -> str | None:
        """These very bytes, as no library hands them over; returns why the server does not store them, if so."""
        self._imap.literal = original  # type: ignore[assignment]
        status, [reply] = self._imap.xatom("APPEND", "INBOX", f"({flags})", f'"{date}"')
        return None if status == "OK" else reply.decode()

    def create(self, name: str) -> None:
        name = raw(name)
        self._ok(self._imap.create(quoted(name)))

    def rename(self, name: str, new: str) -> None:
        self._ok(self._imap.rename(quoted(name), quoted(new)))

    def delete_folder(self, name: str) -> None:
        self._ok(self._imap.delete(quoted(name)))

    def move(self, source: str, target: str, *, uids: str = "1:*") -> None:
        self._ok(self._imap.select(quoted(source)))
        self._ok(self._imap.uid("MOVE", uids, quoted(target)))
        self._imap.unselect()

    def copy(self, source: str, target: str) -> None:
        self._ok(self._imap.select(quoted(source)))
        self._ok(self._imap.uid("COPY", "1:*", quoted(target)))
        self._imap.unselect()

    def uids(self, folder: str) -> set[int]:
        """Of what a person sees there."""
        self._ok(self._imap.select(quoted(folder), readonly=True))
        found = self._imap.uid("SEARCH", "UNDELETED")[1][0]
        self._imap.unselect()
        return {int(uid) for uid in found.split()}

    def some(self, folder: str, *, dice: random.Random) -> str:
        """The set of some UIDs of a folder, or none; they may be gone already."""
        uids = sorted(self.uids(folder))
        return ",".join(map(str, dice.sample(uids, dice.randint(0, len(uids)))))

    def try_to(self, folder: str, command: str, *arguments: str, dice: random.Random) -> None:
        """Do it to some messages of a folder; a server may refuse for those that are gone."""
        if uids := self.some(folder, dice=dice):
            self._ok(self._imap.select(quoted(folder)))
            self._imap.uid(command, uids, *arguments)
            self._imap.unselect()

    def try_to_expunge(self, folder: str, *, dice: random.Random) -> set[bytes]:
        """Returns the first lines of the messages that may be gone for good."""
        uids = self.some(folder, dice=dice)
        if not uids:
            return set()
        self._ok(self._imap.select(quoted(folder)))
        _, rows = self._imap.uid("FETCH", uids, "(BODY.PEEK[HEADER])")
        self._imap.uid("STORE", uids, "+FLAGS.SILENT", r"(\Deleted)")
        self._imap.uid("EXPUNGE", uids)
        self._imap.unselect()
        return {row[1].split(b"\r\n", 1)[0] for row in rows if isinstance(row, tuple)}

    def try_to_move(self, source: str, target: str, *, uids: Sequence[int]) -> None:
        """Move these messages, as far as they are still there."""
        self._ok(self._imap.select(quoted(source)))
        self._imap.uid("MOVE", ",".join(map(str, uids)), quoted(target))
        self._imap.unselect()

    def mark_read(self, folder: str) -> None:
        self._ok(self._imap.select(quoted(folder)))
        self._ok(self._imap.uid("STORE", "1:*", "+FLAGS", r"(\Seen)"))
        self._imap.unselect()

    def flag(self, flag: str, *, uids: str = "1:*", folder: str = "INBOX", off: bool = False) -> None:
        self._ok(self._imap.select(quoted(folder)))
        self._ok(self._imap.uid("STORE", uids, "-FLAGS" if off else "+FLAGS", f"({flag})"))
        self._imap.unselect()

    def mark_deleted(self, folder: str, *, uids: str = "1:*", expunge: bool = True) -> None:
        self._ok(self._imap.select(quoted(folder)))
        self._ok(self._imap.uid("STORE", uids, "+FLAGS", r"(\Deleted)"))
        if expunge:
            self._imap.expunge()
        self._imap.unselect()

    def try_to_delete(self, folder: str, *, message_id: str) -> None:
        """This message, for good, if it is still there."""
        self._ok(self._imap.select(quoted(folder)))
        _, [found] = self._imap.uid("SEARCH", "HEADER", "Message-ID", message_id)
        for uid in found.decode().split():
            self._ok(self._imap.uid("STORE", uid, "+FLAGS", r"(\Deleted)"))
            self._ok(self._imap.expunge())
        self._imap.unselect()

    def empty(self, *folders: str) -> None:
        for folder in folders:
            self.mark_deleted(folder)

    def messages(self, folder: str) -> list[Stored]:
        """The bytes, INTERNALDATE and flags of what lies in a folder."""
        status, exists = self._imap.select(quoted(folder), readonly=True)
        if status != "OK" or exists == [b"0"]:
            return []
        _, rows = self._imap.fetch("1:*", "(FLAGS INTERNALDATE BODY.PEEK[])")
        self._imap.unselect()
        found = []
        for row in rows:
            if isinstance(row, tuple):
                head = row[0].decode()
                date = re.search(r'INTERNALDATE "([^"]+)"', head)
                flags = re.search(r"FLAGS \(([^)]*)\)", head)
                assert date
                assert flags
                found.append((row[1], date[1], frozenset(flags[1].split()) - {r"\Recent"}))
        return found

    def count(self, folder: str) -> int:
        return len(self.messages(folder))

    def shown(self, folder: str) -> list[Stored]:
        """What a person sees there: not what some program has marked to be expunged."""
        return sorted(message for message in self.messages(folder) if r"\Deleted" not in message[2])

    @staticmethod
    def _ok(reply: Any) -> None:
        assert reply[0] == "OK", reply


@dataclass
class Place:
    """A watched mailbox. `eventually` waits for what a watcher does in its own time."""

    engine: Engine
    settings: Settings
    person: Person
    program: MailProgram
    mailbox_id: int
    prefix: str
    username: str
    delimiter: str = "."
    _stops: list[Callable[[], None]] = field(default_factory=list)

    def folder(self, *levels: str) -> str:
        """The name of a folder."""
        return self.prefix + self.delimiter.join(levels)

    @property
    def snoozed(self) -> str:
        return self.folder("Snoozed")

    def start(
        self,
        *,
        retry_sign_in: float = 1800.0,
        turn_seconds: float = 120.0,
        without: Collection[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Watch, until `stop` or the end of the test; what the server can do `without` these capabilities."""
        watcher = make_watcher(
            self.engine,
            self.settings,
            retry_sign_in=retry_sign_in,
            turn_seconds=turn_seconds,
            without=without,
            tls=tls,
        )
        thread = Thread(target=watcher.run)
        thread.start()

        def stop() -> None:
            watcher.stop()
            thread.join(SECONDS)
            assert not thread.is_alive()

        self._stops.append(stop)

    def process(
        self, *, failpoint: str = "", log: IO[bytes] | None = None, **variables: str
    ) -> "subprocess.Popen[bytes]":
        """`snoozer mailbox` as a process of its own, killed at the end of the test if it still runs."""
        process = start_forked(
            "mailbox",
            env={
                **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
                "DATABASE_URL": self.settings.database_url.get_secret_value(),
                "SECRET_KEY": ",".join(self.settings.keys),
                "MAIL_FROM": self.settings.mail_from,
                "SNOOZER_HOME": str(self.settings.home),
                "SNOOZER_ALLOW_PRIVATE_MAILBOXES": "1",
                "SNOOZER_MAILBOX_POLL_SECONDS": "1",
                "SNOOZER_FAILPOINTS": "1",
                "SNOOZER_FAILPOINT": failpoint,
                **variables,
            },
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )

        def end() -> None:
            process.kill()
            process.wait()

        self._stops.append(end)
        return process

    def forget_owner(self) -> None:
        """The lease of a process that was killed ends."""
        self.run("UPDATE mailboxes SET owned_until = clock_timestamp() WHERE owner IS NOT NULL")

    def stop(self) -> None:
        while self._stops:
            self._stops.pop()()

    def eventually(self, is_so: Callable[[], object]) -> None:
        until = time.monotonic() + SECONDS
        while not is_so():
            assert time.monotonic() < until, self.state()
            time.sleep(0.05)

    def rows(self, sql: str) -> Sequence[Any]:
        with self.engine.connect() as connection:
            return connection.execute(text(sql)).all()

    def run(self, sql: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(sql))

    def asleep(self) -> int:
        """How many messages are snoozed, moved, and written down as that."""
        return len(
            self.rows(
                "SELECT 1 FROM messages JOIN email_snoozes USING (user_email, message_id) "
                "WHERE place = 'snoozed' AND folder LIKE '%Snoozed' AND moving_to IS NULL AND NOT inactive"
            )
        )

    def state(self) -> str:
        folders = ("INBOX", self.snoozed, self.folder("Snooze", "Tomorrow"), self.folder("Snooze", "Next week"))
        return repr(
            (
                [(name, [(each[0][:60], each[2]) for each in self.program.messages(name)]) for name in folders],
                self.rows("SELECT message_id, place, wanted, folder, uid, moving_to, returns_at FROM messages"),
                self.rows("SELECT state, problem, owner, synced_at FROM mailboxes"),
                self.rows("SELECT message_id, remind_at, inactive, outcome FROM email_snoozes"),
            )
        )

    def first_uid(self, folder: str) -> str:
        """Of what is entered there."""
        return str(min(row.uid for row in self.rows("SELECT uid, folder FROM messages") if row.folder == folder))

    def snooze_of(self, message_id: str) -> Any:
        [row] = self.rows(
            f"SELECT id, remind_at, inactive, outcome FROM email_snoozes WHERE message_id = '{message_id}'"  # noqa: S608
        )
        return row

    def lead_to(self, port: int) -> None:
        """From now on the mailbox's server is at this port."""
        self.run(f"UPDATE mailboxes SET port = {port}, fence = fence + 1, owner = NULL, owned_until = NULL")  # noqa: S608

    def problem(self) -> str | None:
        [(problem,)] = self.rows("SELECT problem FROM mailboxes")
        return None if problem is None else str(problem)

    def make_due(self, *, id: int | None = None) -> None:
        """Time passes: all that is asleep is due, or this snooze is. A notice that is being sent keeps its promise."""
        which = "NOT inactive AND remind_at > clock_timestamp()" if id is None else f"id = {id}"
        self.run(f"UPDATE email_snoozes SET remind_at = clock_timestamp(), scheduled_for = NULL WHERE {which}")  # noqa: S608


@contextlib.contextmanager
def a_worker(place: Place, folder: Path) -> Iterator[Sink]:
    """`snoozer worker` beside the watcher, with the mail server that it sends to; it runs when the block begins."""
    with a_sink(folder / "accepted.jsonl") as sink:
        worker = Field(engine=place.engine, sink=sink, home=folder / "home").start("worker")
        try:
            place.eventually(lambda: place.rows("SELECT 1 FROM workers WHERE state = 'alive'"))
            yield sink
        finally:
            worker.terminate()
            worker.communicate()


@contextlib.contextmanager
def watched(
    engine: Engine,
    settings: Settings,
    person: Person,
    *,
    port: int,
    username: str,
    prefix: str = "",
    delimiter: str = ".",
) -> Iterator[Place]:
    """A connected mailbox that is not watched yet, at a server on loopback."""
    here = settings.model_copy(update={"allow_private_mailboxes": True, "mailbox_poll": 1.0})
    server, login = Server("127.0.0.1", port, "plain"), Login(username, PASSWORD)
    report = registry.check(server, login, labels=["Tomorrow", "Next week"], allow_private=True)
    assert report.problem is None, report
    with engine.begin() as connection:
        id = registry.connect(
            connection, account_id=person.id, address=person.email, server=server, login=login, key_ring=here.keys
        )
    program = MailProgram(port, username)
    place = Place(engine, here, person, program, id, prefix, username, delimiter)
    try:
        yield place
    finally:
        place.stop()
        program.close()
