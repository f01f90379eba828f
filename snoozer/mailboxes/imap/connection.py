"""A connection to a person's mailbox at a mail server, logged in. Blocking; one thread at a time.

    with open(server, login, connect=connect) as mailbox:
        mailbox.select("INBOX")
        ...

Everything raises ImapError only, apart from errors of the caller's own functions. After `gone` open another connection.
"""

import socket
import ssl
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from types import TracebackType
from typing import Literal, Self

from snoozer import __version__
from snoozer.mailboxes.imap import find, folders, messages, move, reading, search
from snoozer.mailboxes.imap.errors import ImapError, connecting_failed
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.folders import Count, OurFolders, Selected, Status
from snoozer.mailboxes.imap.idle import Event, Idle
from snoozer.mailboxes.imap.messages import Fingerprint, Head, HeaderFields
from snoozer.mailboxes.imap.move import Arrival, Mover, OnCopied, Place
from snoozer.mailboxes.imap.reading import Listed, Window
from snoozer.mailboxes.imap.search import Field
from snoozer.mailboxes.imap.session import Session, quoted
from snoozer.mailboxes.imap.transport import NEVER, Transport
from snoozer.mailboxes.search_terms import Term
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.outbound import tls_context

Connect = Callable[[str, int, float], socket.socket]

DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True)
class Server:
    """The address of a mailbox's server."""

    host: str
    port: int
    security: Literal["tls", "starttls", "plain"]


@dataclass(frozen=True)
class Login:
    """A password, or an OAuth access token (XOAUTH2)."""

    username: str
    password: str = field(default="", repr=False)
    access_token: str | None = field(default=None, repr=False)


def no_failpoint(step: str, message_id: str) -> None:
    """Do nothing: the hook of production."""


def open(
    server: Server,
    login: Login,
    *,
    connect: Connect,
    timeout: float = DEFAULT_TIMEOUT,
    tls: ssl.SSLContext | None = None,
    without: Collection[str] = (),
    failpoint: FailpointHook = no_failpoint,
    deadline: float = NEVER,
) -> "Connection":
    """Connects, logs in and asks what the server can do. Raises ImapError.

    `connect(host, port, timeout)` returns a connected socket. `without` names capabilities that are not to be used. No
    reply is waited for beyond `deadline`, by the monotonic clock.
    """
    try:
        connected = connect(server.host, server.port, timeout)
    except (OSError, UnicodeError) as error:
        raise connecting_failed(error) from error
    transport = Transport(connected, timeout=timeout, deadline=deadline)
    try:
        session = _greeted(transport, server, tls=tls or tls_context(), without=without)
        if not session.is_logged_in:
            _log_in(session, login)
        session.ask_capabilities()
        if session.has_capability("ID"):
            # Some providers accept no command before it; what they reply does not matter.
            session.run("ID", f'("name" "Snoozer" "version" "{__version__}")'.encode("ascii"))
    except BaseException:
        transport.close()
        raise
    return Connection(session, failpoint=failpoint)


class Connection:
    """One mailbox. Names of folders are raw names as `folders()` returns them."""

    def __init__(self, session: Session, *, failpoint: FailpointHook = no_failpoint) -> None:
        self.selected: str | None = None
        self._opened: Selected | None = None
        self._session = session
        self._failpoint = failpoint
        self._idle: Idle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """False once the connection is known to be dead."""
        return self._session.transport.alive

    @property
    def capabilities(self) -> frozenset[str]:
        """The server's capabilities after the login, in capitals."""
        return frozenset(name.decode("ascii", "replace") for name in self._session.capabilities())

    def supports(self, capability: str) -> bool:
        return capability.upper() in self.capabilities

    def close(self) -> None:
        """Send LOGOUT if possible, then close. Never raises or waits."""
        transport = self._session.transport
        transport.send_last(b"DONE\r\nZ1 LOGOUT\r\n" if self._idle else b"Z1 LOGOUT\r\n")
        transport.close()

    def set_deadline(self, at: float) -> None:
        """From now on no reply is waited for beyond this time of the monotonic clock: the connection is then dead."""
        self._session.transport.deadline = at

    def check(self) -> None:
        """Raises ImapError when the connection is dead."""
        self._session.run("NOOP")

    def folders(self) -> list[Folder]:
        """The folders that the server lists."""
        return folders.list_folders(self._session)

    def create_folders(self, labels: Iterable[str]) -> OurFolders:
        """Create and subscribe `Snoozed`, `Snooze` and a folder for each label below it, if they are missing."""
        return folders.create_folders(self._session, labels)

    def select(self, name: str, *, command: Literal["SELECT", "EXAMINE"] = "SELECT") -> Selected:
        """Opens a folder; everything about messages is about this one."""
        self.selected = None
        found = self._opened = folders.select(self._session, name, command=command)
        self.selected = name
        return found

    def examine(self, name: str) -> Selected:
        """Opens a folder for reading; this changes nothing in it."""
        return self.select(name, command="EXAMINE")

    def counts(self, names: Collection[str]) -> dict[str, Count]:
        """How many messages are in the folders, as far as the server can say cheaply. NOOP updates the selected one."""
        if self.selected is not None:
            self.check()
        return folders.counts(self._session, names, selected=self.selected)

    def statuses(self, names: Collection[str]) -> dict[str, Status]:
        """UIDVALIDITY, UIDNEXT and how many messages; missing folders are left out. STATUS of the selected folder is
        not allowed: if the server has no LIST-STATUS, the folder is selected again instead."""
        asked = list(dict.fromkeys(names))
        if self.selected is None or self.selected not in asked or folders.can_list_status(self._session):
            return folders.statuses(self._session, asked)
        found = folders.statuses(self._session, [name for name in asked if name != self.selected])
        return found | self._status_of_selected(self.selected)

    def statuses_below(self, prefixes: Collection[str]) -> dict[str, Status]:
        """The statuses of all folders whose names begin so. Nothing if the server has no LIST-STATUS."""
        return folders.statuses_below(self._session, prefixes)

    @property
    def lists_statuses(self) -> bool:
        """Whether one command reports the statuses of many folders."""
        return folders.can_list_status(self._session)

    def digest(self, names: Collection[str], *, below: Collection[str]) -> Hashable | None:
        """A digest of these folders and of all folders below those prefixes, in one round trip. It differs whenever one
        of them changed, appeared or vanished, or a message left the selected folder. None if the server cannot report
        it."""
        return folders.digest(self._session, names, below=below)

    def report_changes(self, names: Collection[str], *, below: Collection[str]) -> None:
        """Ask the server to report messages that enter or leave these folders, and all folders at and below the others,
        during IDLE, as events of the kind `folder`. Do nothing if it cannot."""
        folders.report_changes(self._session, names, below=below)

    def _status_of_selected(self, name: str) -> dict[str, Status]:
        try:
            anew = self.select(name)
        except ImapError as error:
            if error.code != "no_folder":
                raise
            return {}
        return {name: Status(uidvalidity=anew.uidvalidity, uidnext=anew.uidnext, messages=anew.exists)}

    def heads(self, uids: Iterable[int]) -> list[Head]:
        """The heads of the messages that are in the selected folder, in the order of their UIDs."""
        return messages.heads(self._session, uids)

    def uids(self, *, above: int = 0) -> list[int]:
        """The UIDs of the selected folder that are not below `above`, ascending."""
        return messages.uids_from(self._session, above)

    def uids_since(self, day: date) -> list[int]:
        """The UIDs of messages that came into the selected folder on this day or later, by the server's clock."""
        return messages.uids_since(self._session, day)

    def header_fields(self, uids: Iterable[int], names: Collection[str]) -> list[HeaderFields]:
        """These fields of messages in the selected folder, in the order of their UIDs."""
        return messages.header_fields(self._session, uids, names)

    def flagged(self, flag: str) -> list[int]:
        """The UIDs of the selected folder that carry `\\Flagged` or a keyword, without those marked as deleted."""
        return messages.flagged(self._session, flag)

    def existing(self, uids: Iterable[int]) -> set[int]:
        """Return the UIDs that exist in the selected folder."""
        return messages.existing(self._session, uids)

    def unread(self, uids: Iterable[int]) -> set[int]:
        """Return the UIDs that exist in the selected folder and are unread."""
        return messages.unread(self._session, uids)

    def window(self, first: int, last: int, *, exists: int, threads: bool) -> Window:
        """The messages with these numbers in the selected folder, in one round trip."""
        return reading.window(self._session, first, last, exists=exists, threads=threads)

    def listed(self, uids: Iterable[int]) -> list[Listed]:
        """The messages that are in the selected folder, in the order of their UIDs."""
        return reading.listed(self._session, uids)

    def search(self, terms: Sequence[Term[Field]], *, below: int | None, most: int) -> list[int]:
        """The newest UIDs, under `below`, of messages that meet all terms, ascending."""
        return search.uids(self._session, terms, below=below, most=most)

    def conversation(self, uid: int, *, number: int, exists: int, ids: Sequence[str]) -> list[int]:
        """The UIDs of the messages that belong together with one, itself included."""
        return reading.conversation(self._session, uid, number=number, exists=exists, ids=ids)

    def conversations(self, uids: Collection[int]) -> list[frozenset[int]]:
        """The UIDs of each conversation of these messages of the selected folder, without later messages than these."""
        return reading.conversations(self._session, uids)

    def start_of(self, uid: int, *, size: int) -> tuple[Listed, bytes] | None:
        """A message and its first bytes, or None when it is not there. It is not marked as read."""
        return reading.start_of(self._session, uid, size=size)

    def fetch_section(self, uid: int, section: str, *, size: int) -> bytes | None:
        """At most `size` bytes of a part, by its number; None when it is not there."""
        return reading.fetch_section(self._session, uid, section, size=size)

    def create_archive(self) -> str:
        """Create the archive folder and return its name."""
        return folders.create_archive(self._session, self.folders())

    def fetch_original(self, uid: int) -> bytes | None:
        """The message's bytes, or None when it is not there. It is not marked as read."""
        return messages.fetch_original(self._session, uid)

    def add_flag(self, uids: Iterable[int], flag: str) -> None:
        messages.change_flag(self._session, uids, flag, add=True)

    def remove_flag(self, uids: Iterable[int], flag: str) -> None:
        messages.change_flag(self._session, uids, flag, add=False)

    def change_keyword(self, uids: Iterable[int], keyword: str, *, add: bool) -> None:
        """Set or clear a keyword, if the server keeps it in the selected folder; a refusal changes nothing."""
        if self._opened is not None and self._opened.keeps(keyword):
            messages.change_keyword(self._session, uids, keyword, add=add)

    def append(
        self, folder: str, original: bytes, *, flags: Collection[str] = (), date: datetime | None = None
    ) -> int | None:
        """Add a message, with an aware date as its INTERNALDATE. Return its UID if the server reports it."""
        return messages.append(self._session, folder, original, flags=flags, date=date)

    def find(self, fingerprint: Fingerprint, folder: str, *, above: int = 0) -> list[int]:
        """The UIDs of this message in a folder, not below `above`; several when they cannot be distinguished.

        Messages marked as deleted do not count. The folder is selected afterwards.
        """
        self.select(folder)
        return find.find(self._session, fingerprint, above=above)

    def find_each(self, fingerprints: Mapping[int, Fingerprint], folder: str) -> dict[int, list[int]]:
        """The UIDs of each of these messages in a folder, by their keys; missing messages are left out. Works like
        `find`, with one search for many messages."""
        self.select(folder)
        return find.find_each(self._session, fingerprints)

    def heads_of_each(self, fingerprints: Mapping[int, Fingerprint]) -> dict[int, Sequence[Head]]:
        """The heads of each of these messages in the selected folder, as `find_each` finds them."""
        return find.heads_of_each(self._session, fingerprints)

    def has_message_id(self, message_id: str) -> bool:
        """Whether the selected folder has a message with exactly this Message-ID; a message marked as deleted does not
        count."""
        return find.has_message_id(self._session, message_id)

    def move(
        self,
        uids: Iterable[int],
        *,
        source: Place,
        target: Place,
        fingerprints: Mapping[int, Fingerprint] | None = None,
        on_copied: OnCopied | None = None,
    ) -> dict[int, Arrival]:
        """Move messages and prove it: return the outcome for each UID.

        `fingerprints` that are known save a round trip. If the server has no MOVE, `on_copied` is called with old and
        new UIDs before the originals are deleted. Raises ImapError (`uidvalidity`, `no_folder`, `quota`, `denied`)
        before anything is changed, or when the connection dies.
        """
        if source.name == target.name:
            raise ValueError("a message is moved to another folder")
        mover = Mover(
            session=self._session,
            select=self.select,
            source=source,
            target=target,
            known=fingerprints,
            on_copied=on_copied,
            failpoint=self._failpoint,
        )
        return mover.move(uids)

    def delete(self, uids: Iterable[int], *, source: Place) -> None:
        """Finish an interrupted move by COPY: delete the originals. Raise ImapError (`uidvalidity`)."""
        move.require_same(source, self.select(source.name).uidvalidity)
        move.delete(self._session, sorted(set(uids)))

    def start_idle(self) -> bool:
        """Begin IDLE in the selected folder. Return True if there is input to read already."""
        self._idle = Idle(self._session)
        return self._idle.has_input

    @property
    def heard_at(self) -> float:
        """When the server was heard last, by the monotonic clock."""
        return self._session.transport.heard_at

    @property
    def waits_since(self) -> float | None:
        """Since when a thread has waited for the server; None while none does."""
        return self._session.transport.waits_since

    def fileno(self) -> int:
        """For a selector, during IDLE."""
        return self._session.transport.socket.fileno()

    def read_idle(self) -> list[Event]:
        """Return the events received so far, without waiting. Raise ImapError (`gone`) if the connection is dead."""
        return self._idle.read() if self._idle else []

    def end_idle(self) -> list[Event]:
        """End IDLE, so that commands can be sent. Return the events received until then."""
        idle, self._idle = self._idle, None
        return idle.end() if idle else []


def _greeted(transport: Transport, server: Server, *, tls: ssl.SSLContext, without: Collection[str]) -> Session:
    if server.security == "tls":
        transport.start_tls(tls, server.host)
    session = Session(transport, server.host, without=without)
    if server.security == "starttls":
        session.start_tls(tls)
        session.ask_capabilities()
    return session


def _log_in(session: Session, login: Login) -> None:
    """Log in by token, else by LOGIN; by AUTHENTICATE PLAIN if LOGIN is refused or cannot carry the password."""
    if login.access_token is not None:
        token = f"user={login.username}\1auth=Bearer {login.access_token}\1\1"
        reply = session.authenticate("XOAUTH2", token.encode("utf-8"))
    elif _needs_plain(session, login):
        reply = session.authenticate("PLAIN", f"\0{login.username}\0{login.password}".encode())
    elif session.has_capability("LOGINDISABLED"):
        raise ImapError("tls", "The mail server accepts a password over TLS only.")
    else:
        reply = session.run("LOGIN", quoted(login.username), quoted(login.password))
    if not reply.ok:
        raise ImapError.from_login(reply.text, by_token=login.access_token is not None)
    session.logged_in()


def _needs_plain(session: Session, login: Login) -> bool:
    is_plain_ascii = (login.username + login.password).isascii()
    return bool(
        session.has_capability("AUTH=PLAIN") and (session.has_capability("LOGINDISABLED") or not is_plain_ascii)
    )
