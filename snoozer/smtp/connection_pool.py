"""Sessions with one mail server, kept open for the next message while they are fresh, within its limits."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from snoozer.smtp.errors import CircuitOpen, Rejected, ServerUnavailable
from snoozer.smtp.session import SmtpSession
from snoozer.smtp.transport import wake
from snoozer.smtp.url import SmtpServer

log = logging.getLogger(__name__)

MAX_IDLE_SECONDS = 5.0
# How long a message waits for its turn when the limits are reached; far less than a lease.
MAX_WAIT_SECONDS = 30.0

MAX_MESSAGES = 100
MAX_CONNECTIONS = 1_000
MIN_INTERVAL, MAX_INTERVAL = 0.02, 10.0
RELAX_AFTER_SECONDS = 60.0
ROUND_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class FailureReport:
    """What was seen since the last report: failures since the last success, and whether there was a success."""

    failures: int
    succeeded: bool
    reason: str


class ServerLimits:
    """Adapts to the server's refusals, and stops connecting after `threshold` failures in a row.

    A server throttles with 4.7.x (RFC 3463), or a bare 421 while connecting: that limit becomes lower, and is relaxed a
    little after each minute without another. Greylisting uses 4.7.x for one recipient, so RCPT does not count.

    At most `threshold` connections are opened to a server that is down, however many deliveries want one. The rates
    and `attempt` belong to one event loop; failures may be recorded, reported and reset from any thread. `now` is
    monotonic seconds; `interval` is the least time between two mails, 0 for none.
    """

    def __init__(self, *, threshold: int) -> None:
        self.connections = MAX_CONNECTIONS
        self.messages = MAX_MESSAGES
        self.interval = 0.0
        self._slowed_at = self._limited_at = self._last_slot = float("-inf")
        self._threshold = self._limit = threshold
        self._failures = self._trying = self._unreported = 0
        self._succeeded = False
        self._reason = ""
        self._lock = Lock()
        self._waiting: list[asyncio.Future[None]] = []

    def too_many_connections(self, open_count: int, *, now: float) -> None:
        """The server refused a connection while `open_count` were open."""
        self.connections = max(1, min(self.connections, open_count))
        self._limited_at = now
        log.info("the mail server accepts %d connections of ours at once", self.connections)

    def too_many_messages(self, carried: int, *, now: float) -> None:
        """The server refused a message on a connection that had carried `carried`."""
        self.messages = max(1, min(self.messages, carried))
        self._limited_at = now
        log.info("the mail server takes %d mails on one connection", self.messages)

    def too_fast(self, *, now: float) -> None:
        """The server throttles. Replies to messages that were under way at the same time count once."""
        if now - self._slowed_at < max(self.interval, ROUND_SECONDS):
            return
        self._slowed_at = self._limited_at = now
        self.interval = min(max(2 * self.interval, MIN_INTERVAL), MAX_INTERVAL)
        log.info("the mail server throttles: one mail every %g s", self.interval)

    def reserve_slot(self, *, now: float, max_wait: float) -> float | None:
        """Reserves the next mail's time and returns the seconds until then; None when more than `max_wait`."""
        if now - self._limited_at >= RELAX_AFTER_SECONDS:
            self._relax(now)
        at = max(self._last_slot + self.interval, now)
        if at - now > max_wait:
            return None
        self._last_slot = at
        return at - now

    @property
    def is_open(self) -> bool:
        """True when no connection may be opened: the circuit is open."""
        return self._failures >= self._limit

    @property
    def is_closed(self) -> bool:
        """True when neither open nor limited to a probe."""
        return self._limit == self._threshold and not self.is_open

    def reset(self, *, max_failures: int | None = None) -> None:
        """Forget the failures; allow `max_failures` failures (the threshold by default) before the circuit opens."""
        with self._lock:
            self._failures = 0
            self._limit = max_failures or self._threshold
            self._wake_waiting()

    def take_report(self) -> FailureReport:
        """What was seen since the last report."""
        with self._lock:
            seen = FailureReport(failures=self._unreported, succeeded=self._succeeded, reason=self._reason)
            self._unreported, self._succeeded = 0, False
            return seen

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """One attempt to connect. Raises CircuitOpen; a ServerUnavailable raised inside counts as a failure."""
        while turn := self._acquire():
            await turn
        try:
            yield
        except ServerUnavailable as error:
            self.record_failure(str(error))
            raise
        finally:
            with self._lock:
                self._trying -= 1
                self._wake_waiting()

    def record_failure(self, reason: str) -> None:
        """The server could not be used for a message."""
        with self._lock:
            self._failures += 1
            self._unreported += 1
            self._reason = reason
            self._wake_waiting()

    def record_success(self) -> None:
        """The server replied to a message, whatever the reply: it is up."""
        with self._lock:
            self._failures = self._unreported = 0
            self._succeeded = True
            self._wake_waiting()

    def _relax(self, now: float) -> None:
        self._limited_at = now
        self.connections = min(self.connections + 1, MAX_CONNECTIONS)
        self.messages = min(2 * self.messages, MAX_MESSAGES)
        self.interval = self.interval / 2 if self.interval > MIN_INTERVAL else 0.0

    def _acquire(self) -> "asyncio.Future[None] | None":
        """None when the attempt may begin; else what to wait for before trying again."""
        with self._lock:
            if self.is_open:
                raise CircuitOpen
            if self._failures + self._trying < self._limit:
                self._trying += 1
                return None
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            return turn

    def _wake_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.get_loop().call_soon_threadsafe(wake, turn, None)


class ConnectionPool:
    """Opens as many sessions as are needed at once, within `limits`, and quits those idle for `MAX_IDLE_SECONDS`.

    For one event loop. `connect_deadline` is in seconds. Each session that `send_body` returns is given back by one of
    `release`, `rejected`, `lost` and `discard`.
    """

    def __init__(
        self, server: SmtpServer, *, helo: str, mail_from: str, connect_deadline: float, limits: ServerLimits
    ) -> None:
        self.server = server
        self.limits = limits
        self._mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        # Messages carried so far; the idle ones also since when.
        self._in_use: dict[SmtpSession, int] = {}
        self._idle: deque[tuple[SmtpSession, int, float]] = deque()
        self._opening = self._refused = 0
        self._limit_before_refusals = limits.connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None

    async def send_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> SmtpSession:
        """A session that carried everything but the final dot. Raises ServerUnavailable, Rejected or CircuitOpen.

        A kept connection that went stale proves nothing about the server, so a fresh one is tried. CircuitOpen is also
        raised when the limits leave the message no turn within `MAX_WAIT_SECONDS`.
        """
        await self._wait_for_slot()
        while True:
            session = await self._acquire()
            carried = self._in_use[session]
            try:
                await session.send_body(mail_from=self._mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
                return session
            except ServerUnavailable as error:
                self.discard(session)
                if error.is_throttling and carried:
                    self.limits.too_many_messages(carried, now=time.monotonic())
                elif error.is_throttling:
                    self.limits.too_fast(now=time.monotonic())
                if not carried:
                    self.limits.record_failure(str(error))
                    raise
            except Rejected as error:
                self.rejected(session, error)
                raise
            except BaseException:
                self.discard(session)
                raise

    def release(self, session: SmtpSession) -> None:
        """The session's message was accepted: it may carry another one."""
        self.limits.record_success()
        uses = self._in_use.pop(session, 0) + 1
        if uses >= self.limits.messages or not session.usable:
            session.quit()
        else:
            self._idle.append((session, uses, time.monotonic()))
            if self._sweeping is None:
                self._quit_stale()
        self._wake_next()

    def rejected(self, session: SmtpSession, error: Rejected) -> None:
        """The session's message was refused. The server is up, unless the refusal is about all messages."""
        if error.is_throttling:
            self.limits.too_fast(now=time.monotonic())
        if error.is_server_wide:
            self.limits.record_failure(str(error))
        else:
            self.limits.record_success()
        self.discard(session)

    def lost(self, session: SmtpSession, *, reason: str) -> None:
        """No reply to the session's message will come. A server that does this again and again is down."""
        self.limits.record_failure(reason)
        self.discard(session)

    def discard(self, session: SmtpSession) -> None:
        """Drops the connection: without its final dot a message does not exist for the server."""
        self._in_use.pop(session, None)
        session.abort()
        self._wake_next()

    def close(self) -> None:
        """Quits the idle sessions."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._idle:
            self._idle.popleft()[0].quit()

    async def _wait_for_slot(self) -> None:
        wait = self.limits.reserve_slot(now=time.monotonic(), max_wait=MAX_WAIT_SECONDS)
        if wait != 0:
            await asyncio.sleep(MAX_WAIT_SECONDS if wait is None else wait)
        if wait is None:
            # Not before that sleep: a message that is given back may be claimed again at once.
            raise CircuitOpen

    async def _acquire(self) -> SmtpSession:
        """An idle session, or a new one, or the next that becomes free when there may be no more."""
        until = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            session = self._take_idle() or await self._open() or self._take_idle()
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

    def _take_idle(self) -> SmtpSession | None:
        while self._idle:
            session, uses, since = self._idle.pop()
            if session.usable and _is_fresh(since):
                self._in_use[session] = uses
                return session
            session.quit()
        return None

    @property
    def _open_count(self) -> int:
        return len(self._in_use) + len(self._idle)

    @property
    def _is_full(self) -> bool:
        return self._open_count + self._opening >= self.limits.connections

    async def _open(self) -> SmtpSession | None:
        """A new session; None when there are as many as the limit, open or being opened."""
        if self._is_full:
            return None
        try:
            async with self.limits.attempt():
                return None if self._is_full else await self._connect()
        except CircuitOpen:
            self._wake_next()
            raise

    async def _connect(self) -> SmtpSession | None:
        self._opening += 1
        try:
            session = await SmtpSession.open(self.server, helo=self._helo, deadline=self._connect_deadline)
        except ServerUnavailable as error:
            others = self._open_count + self._opening - 1
            if not others:
                self._count_refusals_as_failures(str(error))
            if not (error.is_throttling and others):
                raise
            self._record_refusal(others)
            return None
        finally:
            self._opening -= 1
            self._wake_next()
        self._refused = 0
        self._in_use[session] = 0
        return session

    def _record_refusal(self, others: int) -> None:
        """A connection was refused while others were open or being opened, whose greetings may yet come."""
        if not self._refused:
            self._limit_before_refusals = self.limits.connections
        self._refused = 0 if self._open_count else self._refused + 1
        self.limits.too_many_connections(others, now=time.monotonic())

    def _count_refusals_as_failures(self, reason: str) -> None:
        """No connection was greeted: the refusals before were failures, and no measure of the server's limit."""
        if self._refused:
            self.limits.connections = self._limit_before_refusals
        for _ in range(self._refused):
            self.limits.record_failure(reason)
        self._refused = 0

    def _wake_next(self) -> None:
        while self._waiting and not wake(self._waiting.popleft(), None):
            pass

    def _quit_stale(self) -> None:
        """Quits the sessions that were idle too long, and comes back when the next of them will be."""
        while self._idle and not _is_fresh(self._idle[0][2]):
            self._idle.popleft()[0].quit()
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_at(self._idle[0][2] + MAX_IDLE_SECONDS, self._quit_stale) if self._idle else None


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < MAX_IDLE_SECONDS
