"""IMAP connections of one web process, kept open between requests: a sign-in takes longer than a page."""

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Condition, Timer
from typing import TypeVar

from snoozer.db.queries.mailboxes import MailboxAccess
from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Connection
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.problems import explain
from snoozer.mailboxes.read.keys import GONE, NO_FOLDER
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.mailboxes.registry import Logins
from snoozer.runtime import outbound
from snoozer.translations import N_, gettext

T = TypeVar("T")

MAX_CONNECTIONS = 40
PER_MAILBOX = 2
# Requests that use or wait for a mail server, out of the sixteen threads of a process: per person and in total. Checks
# of mailboxes take four more (snoozer.web.mailboxes.connected.checks).
PER_ACCOUNT = 5
MAX_CALLS = 9
# The share of requests that may take longer: a file of a hundred megabytes is in memory several times.
DOWNLOADS_PER_ACCOUNT = 2
MAX_DOWNLOADS = 3
# Timeouts of one reply, and of all that a request asks for.
REPLY_SECONDS = 8.0
CALL_SECONDS = 12.0
# How long a request waits for a connection of its mailbox.
BUSY_SECONDS = 5.0
# A connection that died while idle shows it within this time.
STALE_SECONDS = 3.0
IDLE_SECONDS = 180.0
# A refused password is not retried before: servers lock accounts out.
REFUSED_SECONDS = 60.0

REFUSED = frozenset({"login", "sign_in"})
_REFUSED = "The mail server did not accept this sign-in."
_BUSY = N_("Too many requests are waiting for this mailbox's server. Try again in a moment.")


@dataclass
class _Open:
    """A connection, the sign-in that it was made with, and when it was used last."""

    connection: Connection
    socket: socket.socket
    signed_in: bytes
    used_at: float = 0.0

    def close(self) -> None:
        self.connection.close()
        self.socket.close()


@dataclass
class _State:
    """The state of one process: idle connections by mailbox, the least recently used first, how many are in use, and
    the number of current requests of each account."""

    pid: int = field(default_factory=os.getpid)
    changed: Condition = field(default_factory=Condition)
    idle: dict[int, list[_Open]] = field(default_factory=dict)
    in_use: Counter[int] = field(default_factory=Counter)
    calls: Counter[int] = field(default_factory=Counter)
    downloads: Counter[int] = field(default_factory=Counter)
    refused: dict[bytes, float] = field(default_factory=dict)
    timer: Timer | None = None


class ConnectionPool:
    """Threads share it; each uses a connection alone. A forked process starts without its parent's connections."""

    def __init__(
        self,
        logins: Logins,
        *,
        allow_private: bool = False,
        without: Sequence[str] = (),
        idle_seconds: float = IDLE_SECONDS,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._logins, self._allow_private, self._without = logins, allow_private, tuple(without)
        self._idle_seconds, self._call_seconds = idle_seconds, call_seconds
        self._state = _State()

    def run(
        self,
        mailbox: MailboxAccess,
        work: Callable[[Connection], T],
        *,
        repeatable: bool = True,
        seconds: float | None = None,
    ) -> T:
        """Do something with a mailbox, in at most this many seconds. Raises MailboxError.

        Slow servers hold some of the process's threads, and never all: further requests are refused at once. A
        connection that died while idle is replaced once; work that is not `repeatable` starts only on a connection that
        is known to be alive.
        """
        seconds = seconds or self._call_seconds
        with self._counted(mailbox.account_id, is_download=seconds > self._call_seconds):
            return self._run(mailbox, work, repeatable=repeatable, seconds=seconds)

    def _run(self, mailbox: MailboxAccess, work: Callable[[Connection], T], *, repeatable: bool, seconds: float) -> T:
        began = time.monotonic()
        try:
            with self._used(mailbox, seconds) as (opened, is_new):
                may_repeat = True
                try:
                    with outbound.closed_after(opened.socket, seconds):
                        if not (is_new or repeatable):
                            opened.connection.check()
                        may_repeat = repeatable
                        return work(opened.connection)
                except ImapError as error:
                    is_stale = not is_new and error.code == "gone" and not opened.connection.alive
                    if not (is_stale and may_repeat) or time.monotonic() - began > STALE_SECONDS:
                        raise
            with (
                self._used(mailbox, seconds, anew=True) as (opened, _),
                outbound.closed_after(opened.socket, seconds),
            ):
                return work(opened.connection)
        except ImapError as error:
            raise _as_mailbox_error(error, mailbox) from error

    def idle_count(self) -> int:
        """How many connections of this process are idle."""
        state = self._own()
        with state.changed:
            return sum(map(len, state.idle.values()))

    def close(self) -> None:
        """Close idle connections; a connection in use is closed when it is given back, unless it is used again."""
        state = self._own()
        with state.changed:
            for opened in [opened for idle in state.idle.values() for opened in idle]:
                opened.close()
            state.idle.clear()

    def _own(self) -> _State:
        """A forked child leaves its parent's connections and locks alone."""
        if self._state.pid != os.getpid():
            self._state = _State()
        return self._state

    @contextmanager
    def _counted(self, account_id: int, *, is_download: bool) -> Iterator[None]:
        state = self._own()
        counters = [(state.calls, PER_ACCOUNT, MAX_CALLS)]
        if is_download:
            counters.append((state.downloads, DOWNLOADS_PER_ACCOUNT, MAX_DOWNLOADS))
        with state.changed:
            if any(counter[account_id] >= own or counter.total() >= most for counter, own, most in counters):
                raise MailboxError("busy", gettext(_BUSY))
            for counter, _, _ in counters:
                counter[account_id] += 1
        try:
            yield
        finally:
            with state.changed:
                for counter, _, _ in counters:
                    counter[account_id] -= 1
                    if not counter[account_id]:
                        del counter[account_id]

    @contextmanager
    def _used(self, mailbox: MailboxAccess, seconds: float, *, anew: bool = False) -> Iterator[tuple[_Open, bool]]:
        state = self._own()
        signed_in = _sign_in_of(mailbox)
        opened = self._reserve(state, mailbox.id, signed_in=signed_in, anew=anew)
        is_new = opened is None
        try:
            opened = opened or self._open(state, mailbox, seconds, signed_in=signed_in)
            yield opened, is_new
        except (ImapError, MailboxError):
            raise
        except BaseException:
            # The work may have ended in the middle of a reply.
            if opened is not None:
                opened.connection.close()
            raise
        finally:
            self._give_back(state, mailbox.id, opened)

    def _reserve(self, state: _State, id: int, *, signed_in: bytes, anew: bool) -> _Open | None:
        """An idle connection of the mailbox, or None and permission to open one. Raises MailboxError."""
        until = time.monotonic() + BUSY_SECONDS
        with state.changed:
            while not self._has_room(state, id):
                if not state.changed.wait(until - time.monotonic()):
                    raise MailboxError("busy", gettext(_BUSY))
            for stale in [each for each in state.idle.get(id, []) if anew or each.signed_in != signed_in]:
                state.idle[id].remove(stale)
                stale.close()
            state.in_use[id] += 1
            return state.idle[id].pop() if state.idle.get(id) else None

    def _has_room(self, state: _State, id: int) -> bool:
        """Whether one more may be in use; closes the longest idle connection of another mailbox if necessary."""
        if state.in_use[id] >= PER_MAILBOX or state.in_use.total() >= MAX_CONNECTIONS:
            return False
        idle = [(each.used_at, of, each) for of, others in state.idle.items() if of != id for each in others]
        for _, of, oldest in sorted(idle, key=lambda each: each[0])[: max(0, _count(state) + 1 - MAX_CONNECTIONS)]:
            state.idle[of].remove(oldest)
            oldest.close()
        return True

    def _open(self, state: _State, mailbox: MailboxAccess, seconds: float, *, signed_in: bytes) -> _Open:
        if mailbox.state == "paused" or state.refused.get(signed_in, 0.0) > time.monotonic():
            raise ImapError("login" if mailbox.login_method == "password" else "sign_in", _REFUSED)
        try:
            return self._connect(mailbox, signed_in, min(seconds, self._call_seconds))
        except ImapError as error:
            if error.code in REFUSED:
                now = time.monotonic()
                state.refused = {key: until for key, until in state.refused.items() if until > now}
                state.refused[signed_in] = now + REFUSED_SECONDS
            raise

    def _connect(self, mailbox: MailboxAccess, signed_in: bytes, seconds: float) -> _Open:
        """Limit greeting and login together to `seconds`: each reply alone may take many times its timeout,
        as long as bytes keep coming."""
        connect_once = registry.connector(registry.server_of(mailbox), allow_private=self._allow_private)
        sockets: list[socket.socket] = []

        def connect(host: str, port: int, timeout: float) -> socket.socket:
            connected = connect_once(host, port, min(timeout, seconds))
            # TLS takes the socket over; this object stays the same connection.
            sockets.append(connected.dup())
            in_time.enter_context(outbound.closed_after(connected, seconds))
            return connected

        try:
            with ExitStack() as in_time:
                connection = registry.open_mailbox(
                    mailbox,
                    self._logins,
                    connect=connect,
                    timeout=REPLY_SECONDS,
                    without=self._without,
                )
        except BaseException:
            for each in sockets:
                each.close()
            raise
        # The previous login used an access token that was refused.
        *refused, used = sockets
        for each in refused:
            each.close()
        return _Open(connection, used, signed_in)

    def _give_back(self, state: _State, id: int, opened: _Open | None) -> None:
        with state.changed:
            state.in_use[id] -= 1
            if not state.in_use[id]:
                del state.in_use[id]
            if opened is not None and opened.connection.alive:
                opened.used_at = time.monotonic()
                state.idle.setdefault(id, []).append(opened)
                self._close_later(state)
            elif opened is not None:
                opened.socket.close()
            state.changed.notify_all()

    def _close_later(self, state: _State) -> None:
        if state.timer is None:
            state.timer = Timer(self._idle_seconds, self._close_old, [state])
            state.timer.daemon = True
            state.timer.start()

    def _close_old(self, state: _State) -> None:
        """Runs in the timer's thread, and again while any connection is idle."""
        with state.changed:
            state.timer = None
            old = time.monotonic() - self._idle_seconds
            for id, idle in list(state.idle.items()):
                for opened in [each for each in idle if each.used_at <= old]:
                    idle.remove(opened)
                    opened.close()
                if not idle:
                    del state.idle[id]
            if state.idle:
                self._close_later(state)


def _count(state: _State) -> int:
    return state.in_use.total() + sum(map(len, state.idle.values()))


def _sign_in_of(mailbox: MailboxAccess) -> bytes:
    """A hash that changes with anything that affects how a mailbox is opened."""
    text = f"{mailbox.id} {mailbox.host} {mailbox.port} {mailbox.security} {mailbox.username}\0"
    return sha256(text.encode("utf-8", "surrogatepass") + mailbox.secret).digest()


def _as_mailbox_error(error: ImapError, mailbox: MailboxAccess) -> MailboxError:
    if error.code == "uidvalidity":
        return MailboxError("gone", gettext(GONE))
    if error.code == "no_folder":
        return MailboxError("no_folder", gettext(NO_FOLDER))
    problem = explain(error.code, host=mailbox.host, port=mailbox.port, is_connected=True)
    return MailboxError("login" if error.code in REFUSED else "unavailable", f"{problem.what} {problem.remedy}")
