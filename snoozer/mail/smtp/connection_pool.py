"""Sessions with one mail server, kept open for the next message while they are fresh, within its limits."""

import asyncio
import logging
import time
from collections import deque
from typing import Protocol

from snoozer.mail.smtp.errors import CircuitOpen, Rejected, ServerUnavailable
from snoozer.mail.smtp.server_limits import ServerLimits
from snoozer.mail.smtp.session import Mail, SmtpSession
from snoozer.mail.smtp.url import SmtpServer

log = logging.getLogger(__name__)

MAX_IDLE_SECONDS = 5.0
# A session that waits this long for a reply, or while the others carry this many mails each, does not count as busy, up
# to a number of sessions. With one mail each, half of the normal sessions would count as slow, and more and more would
# be opened.
SLOW_SECONDS = 1.0
SLOW_ROUNDS = 2
MAX_SLOW = 256
LOOK_SECONDS = 0.25


class MailSource(Protocol):
    """The source of a pool's messages."""

    @property
    def waiting(self) -> int:
        """The number of messages that can begin."""

    @property
    def overdue(self) -> int:
        """The number of messages that can begin behind another one, because their dots need not wait."""

    def next_mail(self, *, overdue: bool = False) -> Mail | None:
        """The next message; None if it cannot be sent, or there is none."""

    def on_unavailable(self, error: ServerUnavailable | CircuitOpen) -> None:
        """A connection could not be opened: fail the message for which it was tried, or all."""


class ConnectionPool:
    """Carries the messages of `source` over sessions with one mail server, within `limits`. For one event loop.

    At most `concurrency` sessions are busy at once, in addition to the `slow` sessions that wait for a reply, and one
    more while there are any. Sessions are kept for the next message while they are fresh, and quit when idle for
    `MAX_IDLE_SECONDS`. `connect_deadline` is in seconds.
    """

    def __init__(
        self, server: SmtpServer, *, helo: str, connect_deadline: float, limits: ServerLimits, concurrency: int = 8
    ) -> None:
        self.server = server
        self.limits = limits
        self.source: MailSource
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._concurrency = concurrency
        self._busy: set[SmtpSession] = set()
        self._idle: deque[tuple[SmtpSession, float]] = deque()
        self._connecting = self._refused = 0
        self.slow = 0
        # No session waits for longer: the longest wait at the last count, by its beginning.
        self._oldest = 0.0
        # The times at which the dots of the last SLOW_ROUNDS rounds were sent, the oldest first.
        self._recent: deque[float] = deque(maxlen=SLOW_ROUNDS * concurrency)
        self._limit_before_refusals = limits.connections
        self._tasks: set[asyncio.Task[None]] = set()
        self._waking = False
        self._timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        """Begin all messages that can begin now. Must be called when there are messages."""
        if self._waking:
            return
        self._waking = True
        try:
            self.count_slow()
            while self.source.waiting and self._missing > 0 and (session := self._take_idle()):
                if not self._begin_next(session):
                    break
            if self.source.waiting and self.limits.is_open:
                self.source.on_unavailable(CircuitOpen())
            while self._connecting < self.source.waiting and self._has_room:
                self._start_connecting()
        finally:
            self._waking = False
        self._start_timer()

    def count_slow(self) -> None:
        """Recount the sessions that wait for a slow reply, in `slow`.

        Nothing is counted while none can be slow: a wait that began since the last count began after `_oldest`.
        """
        now = time.monotonic()
        slow_since = now - SLOW_SECONDS
        if len(self._recent) == self._recent.maxlen:
            slow_since = max(slow_since, self._recent[0])
        if self.slow or slow_since > self._oldest:
            waits = [session.waiting_since for session in self._busy]
            self._oldest = min([*waits, now])
            self.slow = min(sum(since < slow_since for since in waits), MAX_SLOW)

    def following(self, session: SmtpSession) -> Mail | None:
        """The message to begin with the dot of this session's message, if any. Must be called for each dot."""
        self._recent.append(time.monotonic())
        is_too_many = self._is_over_limit or self._missing < 0
        if is_too_many or not session.pipelines or session.carried + 1 >= self.limits.messages:
            return None
        asyncio.get_running_loop().call_soon(self.wake)
        return self._next_mail(overdue=True)

    def discard(self, session: SmtpSession) -> None:
        """Gives up the session's message and drops the connection: without its dot no server has the message."""
        session.abort()
        if not session.usable:
            self._on_free(session)

    def may_retry(self, session: SmtpSession, error: ServerUnavailable) -> bool:
        """Learns from a failure before the dot; returns whether another connection may carry the message.

        A kept connection that went stale proves nothing about the server, so a fresh one is tried.
        """
        if error.is_throttling and session.carried:
            self.limits.too_many_messages(session.carried, now=time.monotonic())
        elif error.is_throttling:
            self.limits.too_fast(now=time.monotonic())
        if not session.carried:
            self.limits.record_failure(str(error))
        return session.carried > 0

    def rejected(self, error: Rejected, *, recipient: str) -> None:
        """A message was refused; `error` becomes server-wide if the server refuses everybody."""
        if error.is_throttling:
            self.limits.too_fast(now=time.monotonic())
        if error.was_asked:
            self.limits.record_rejection(error, recipient=recipient)

    async def close(self) -> None:
        """Quits the idle sessions, and opens no more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while self._idle:
            self._idle.popleft()[0].quit()
        await asyncio.sleep(0)  # The turn of the loop in which connections are closed.

    def _next_mail(self, *, overdue: bool = False) -> Mail | None:
        """The next message, when the server's rate allows one now."""
        if not (self.source.overdue if overdue else self.source.waiting):
            return None
        if self.limits.reserve_slot(now=time.monotonic(), max_wait=0) is None:
            return None
        return self.source.next_mail(overdue=overdue)

    def _begin_next(self, session: SmtpSession) -> bool:
        """Return False if no message can begin now."""
        mail = self._next_mail()
        if mail is None:
            self._idle.append((session, time.monotonic()))
            return False
        self._busy.add(session)
        session.begin(mail)
        return True

    def _take_idle(self) -> SmtpSession | None:
        while self._idle:
            session, since = self._idle.pop()
            if session.is_free and _is_fresh(since):
                return session
            session.quit()
        return None

    def _on_free(self, session: SmtpSession) -> None:
        """The session can carry another message, or is no longer usable."""
        if session not in self._busy:
            return
        if session.usable and (session.carried >= self.limits.messages or self._is_over_limit):
            session.quit()
        self._busy.discard(session)
        if session.usable:
            self._idle.append((session, time.monotonic()))
        asyncio.get_running_loop().call_soon(self.wake)

    @property
    def capacity(self) -> int:
        """How many sessions may be busy at once."""
        return int(min(self._concurrency, self.limits.connections))

    @property
    def _open_count(self) -> int:
        return len(self._busy) + len(self._idle)

    @property
    def _is_over_limit(self) -> bool:
        return self._open_count > self.limits.connections

    @property
    def _missing(self) -> int:
        """How many more may be busy. If some are slow, another is probably waiting that does not count as slow yet."""
        return self._concurrency + bool(self.slow) - (len(self._busy) - self.slow)

    @property
    def _has_room(self) -> bool:
        """True if another session may be opened: not while one is idle because the server's rate allows no mail."""
        is_full = self._open_count + self._connecting >= self.limits.connections
        is_enough = self._missing <= self._connecting
        return not (is_full or is_enough or self._idle) and self.limits.may_connect(connecting=self._connecting)

    def _start_connecting(self) -> None:
        self._connecting += 1
        task = asyncio.get_running_loop().create_task(self._open())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self) -> None:
        session: SmtpSession | None = None
        try:
            session = await self._connect()
        except ServerUnavailable as error:
            self.limits.record_failure(str(error))
            self.source.on_unavailable(error)
        finally:
            self._connecting -= 1
        if session is not None:
            self._refused = 0
            session.on_free = self._on_free
            self._idle.append((session, time.monotonic()))
        self.wake()

    async def _connect(self) -> SmtpSession | None:
        """A new session; None if the server refuses another connection."""
        try:
            return await SmtpSession.open(self.server, helo=self._helo, deadline=self._connect_deadline)
        except ServerUnavailable as error:
            others = self._open_count + self._connecting - 1
            if not others:
                self._count_refusals_as_failures(str(error))
            if not (error.is_throttling and others):
                raise
            self._record_refusal(others)
            return None

    def _record_refusal(self, others: int) -> None:
        """A connection was refused while others were open or being opened, whose greetings may still arrive."""
        if not self._refused:
            self._limit_before_refusals = self.limits.connections
        self._refused = 0 if self._open_count else self._refused + 1
        self.limits.too_many_connections(others, now=time.monotonic())

    def _count_refusals_as_failures(self, reason: str) -> None:
        """No connection was greeted: the refusals before were failures, and do not show the server's limit."""
        if self._refused:
            self.limits.connections = self._limit_before_refusals
        for _ in range(self._refused):
            self.limits.record_failure(reason)
        self._refused = 0

    def _start_timer(self) -> None:
        """Schedule the next check while there are sessions or messages."""
        if self._timer is None and (self._busy or self._idle or self.source.waiting):
            pause = min(LOOK_SECONDS, self.limits.interval or LOOK_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(pause, self._look)

    def _look(self) -> None:
        """Quit sessions that were idle too long, and continue if the rate allows it.

        A message that waits behind a slow reply to another one gets another session.
        """
        self._timer, now = None, time.monotonic()
        while self._idle and not _is_fresh(self._idle[0][1]):
            self._idle.popleft()[0].quit()
        for session in [one for one in self._busy if one.has_follower and now - one.waiting_since > SLOW_SECONDS]:
            session.abort(ServerUnavailable("the mail server is slow to answer for the mail before"))
        self.wake()


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < MAX_IDLE_SECONDS
