"""Connections to the mail server, kept for the next reminder while they are fresh, and left alone when it is down."""

import asyncio
import time
from collections import deque

from snoozer.smtp.failure_limiter import CircuitOpen, FailureLimiter
from snoozer.smtp.rate_limits import RateLimits
from snoozer.smtp.session import Rejected, ServerUnavailable, SmtpSession
from snoozer.smtp.url import SmtpServer

MAX_IDLE_SECONDS = 5.0
# So long a mail waits for its turn with a server that bears no more; far less than a lease.
MAX_WAIT_SECONDS = 30.0


class ConnectionPool:
    """Hands out sessions with one relay, as many as are asked for at once while the relay bears them.

    For one event loop; a session that nobody used for `FRESH_SECONDS` is parted with.
    """

    def __init__(
        self, server: SmtpServer, *, helo: str, mail_from: str, connect_deadline: float, failures: FailureLimiter
    ) -> None:
        self.server = server
        self.failures = failures
        self.rate_limits = RateLimits()
        self._mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._idle: deque[tuple[SmtpSession, int, float]] = deque()
        self._uses: dict[SmtpSession, int] = {}
        self._opening = self._turned_away = 0
        self._limit_before = self.rate_limits.connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None

    async def send_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> SmtpSession:
        """A session that has taken everything but the final dot. Raises RelayDown, Refused or Shut.

        A connection that went stale while it was kept says nothing about the server, so a fresh one is tried. Where
        the server bears no more for so long that the mail's turn does not come, it is Shut.
        """
        await self._wait_for_slot()
        while True:
            session = await self._session()
            carried = self._uses[session]
            try:
                return await self._send_on(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
            except ServerUnavailable as down:
                if down.is_throttling:
                    self._record_throttling(carried)
                if not carried:
                    self.failures.record_failure(str(down))
                    raise

    def release(self, session: SmtpSession) -> None:
        """The session's mail was accepted: it may carry another one."""
        self.failures.record_success()
        uses = self._uses.pop(session, 0) + 1
        if uses >= self.rate_limits.messages or not session.usable:
            session.quit()
        else:
            self._idle.append((session, uses, time.monotonic()))
            if self._sweeping is None:
                self._sweeping = asyncio.get_running_loop().call_later(MAX_IDLE_SECONDS, self._close_stale)
        self._wake_next()

    def rejected(self, session: SmtpSession, refused: Rejected) -> None:
        """The session's mail was refused, so the server is there, unless it says that it closes."""
        if refused.is_throttling:
            self.rate_limits.too_fast(now=time.monotonic())
        if refused.is_server_wide:
            self.failures.record_failure(str(refused))
        else:
            self.failures.record_success()
        self.discard(session)

    def lost(self, session: SmtpSession, *, reason: str) -> None:
        """No answer to the session's mail will come. A server that is like that with mail after mail is down."""
        self.failures.record_failure(reason)
        self.discard(session)

    def discard(self, session: SmtpSession) -> None:
        """Hang up without another word: what was not finished with a dot does not exist for the server."""
        self._uses.pop(session, None)
        session.abort()
        self._wake_next()

    def close(self) -> None:
        """Say goodbye to the idle connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._idle:
            self._idle.popleft()[0].quit()

    async def _wait_for_slot(self) -> None:
        wait = self.rate_limits.reserve_slot(now=time.monotonic(), most=MAX_WAIT_SECONDS)
        if wait != 0:
            await asyncio.sleep(MAX_WAIT_SECONDS if wait is None else wait)
        if wait is None:
            # Not before that sleep: what is handed back may be claimed again at once.
            raise CircuitOpen

    async def _session(self) -> SmtpSession:
        """A kept session, or a new one, or the next that is free where the server bears no more."""
        until = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            session = self._idle_session() or await self._open() or self._idle_session()
            if session is not None:
                return session
            free = asyncio.get_running_loop().create_future()
            self._waiting.append(free)
            try:
                async with asyncio.timeout_at(until):
                    await free
            except TimeoutError:
                if not free.cancelled():
                    self._wake_next()
                raise CircuitOpen from None

    def _idle_session(self) -> SmtpSession | None:
        while self._idle:
            session, uses, since = self._idle.pop()
            if session.usable and _is_fresh(since):
                self._uses[session] = uses
                return session
            session.quit()
        return None

    @property
    def _open_count(self) -> int:
        return len(self._uses) + len(self._idle)

    @property
    def _is_full(self) -> bool:
        return self._open_count + self._opening >= self.rate_limits.connections

    async def _open(self) -> SmtpSession | None:
        """A new session; None where the server bears no more of them than stand or are being opened."""
        if self._is_full:
            return None
        try:
            async with self.failures.attempt():
                return None if self._is_full else await self._connect()
        except CircuitOpen:
            self._wake_next()
            raise

    async def _connect(self) -> SmtpSession | None:
        self._opening += 1
        try:
            session = await SmtpSession.open(self.server, helo=self._helo, deadline=self._connect_deadline)
        except ServerUnavailable as down:
            others = self._open_count + self._opening - 1
            if not others:
                self._nobody_was_taken(str(down))
            if not (down.is_throttling and others):
                raise
            self._turned_away_beside(others)
            return None
        finally:
            self._opening -= 1
            self._wake_next()
        self._turned_away = 0
        self._uses[session] = 0
        return session

    def _turned_away_beside(self, others: int) -> None:
        """A refusal comes sooner than a greeting ends: those that are being opened may yet be taken, and the last that
        is turned away sees who was."""
        if not self._turned_away:
            self._limit_before = self.rate_limits.connections
        self._turned_away = 0 if self._open_count else self._turned_away + 1
        self.rate_limits.too_many_connections(others, now=time.monotonic())

    def _nobody_was_taken(self, reason: str) -> None:
        """Those that were turned away while others were being opened were failures, as it turns out now, and taught
        nothing of how many the server bears."""
        if self._turned_away:
            self.rate_limits.connections = self._limit_before
        for _ in range(self._turned_away):
            self.failures.record_failure(reason)
        self._turned_away = 0

    def _record_throttling(self, carried: int) -> None:
        if carried:
            self.rate_limits.too_many_messages(carried, now=time.monotonic())
        else:
            self.rate_limits.too_fast(now=time.monotonic())

    def _wake_next(self) -> None:
        while self._waiting:
            free = self._waiting.popleft()
            if not free.done():
                free.set_result(None)
                return

    def _close_stale(self) -> None:
        while self._idle and not _is_fresh(self._idle[0][2]):
            self._idle.popleft()[0].quit()
        self._sweeping = None
        if self._idle:
            wait = MAX_IDLE_SECONDS - (time.monotonic() - self._idle[0][2])
            self._sweeping = asyncio.get_running_loop().call_later(max(wait, 0.0), self._close_stale)

    async def _send_on(self, session: SmtpSession, *, rcpt_to: str, message: bytes, deadline: float) -> SmtpSession:
        try:
            await session.send_body(mail_from=self._mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except Rejected as refused:
            self.rejected(session, refused)
            raise
        except BaseException:
            self.discard(session)
            raise
        return session


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < MAX_IDLE_SECONDS
