"""Mails whose way a test follows, over one session or over a pool of them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from snoozer.mail.smtp.connection_pool import ConnectionPool
from snoozer.mail.smtp.errors import CircuitOpen, NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.server_limits import ServerLimits
from snoozer.mail.smtp.session import SmtpSession
from snoozer.mail.smtp.transport import Reply
from snoozer.mail.smtp.url import SmtpServer
from tests import loops
from tests.mail.scripted_server import ScriptedServer

MESSAGE = b"From: a@snoozer.example\r\nSubject: hello\r\n\r\n.dots\r\n..more\r\n.\r\nend\r\n"
TIMEOUT = 60


class FollowedMail:
    """A mail whose `body` and `end` a test awaits; `dots` counts how often its final dot was sent."""

    def __init__(
        self,
        *,
        mail_from: str = "snoozer@snoozer.example",
        rcpt_to: str = "ann@example.com",
        message: bytes = MESSAGE,
        body_deadline: float = 60,
    ) -> None:
        self.mail_from, self.rcpt_to, self.message, self.body_deadline = mail_from, rcpt_to, message, body_deadline
        self.dots = 0
        loop = asyncio.get_running_loop()
        self._body: asyncio.Future[SmtpSession] = loop.create_future()
        self._end: asyncio.Future[Reply | Exception] = loop.create_future()
        self._changed = asyncio.Event()

    @property
    def has_body(self) -> bool:
        return self._body.done()

    @property
    def has_ended(self) -> bool:
        return self._end.done()

    async def body(self) -> SmtpSession:
        """The session, once everything but the dot was handed over. Raises what the mail failed with before."""
        async with asyncio.timeout(TIMEOUT):
            while not (self.has_body or self.has_ended):
                self._changed.clear()
                await self._changed.wait()
        return self._body.result() if self.has_body else await self._failed()

    async def end(self) -> Reply:
        """The 250. Raises what the mail failed with."""
        async with asyncio.timeout(TIMEOUT):
            result = await asyncio.shield(self._end)
        if isinstance(result, Exception):
            raise result
        return result

    async def error(self) -> Exception:
        """What the mail failed with."""
        try:
            reply = await self.end()
        except Exception as error:
            return error
        raise AssertionError(f"the mail was accepted: {reply}")

    def on_begin(self, session: SmtpSession) -> None:
        """Nothing is recorded of it."""

    def on_body(self, session: SmtpSession) -> None:
        self._body.set_result(session)
        self._changed.set()

    def on_dot(self) -> None:
        self.dots += 1

    def on_accepted(self, session: SmtpSession, reply: Reply) -> None:
        self._end.set_result(reply)
        self._changed.set()

    def on_failed(self, session: SmtpSession, error: Exception) -> None:
        self.fail(error)

    def fail(self, error: Exception) -> None:
        self._end.set_result(error)
        self._changed.set()

    async def _failed(self) -> SmtpSession:
        raise await self.error()


class PooledMail(FollowedMail):
    """A mail as a worker sends it over a pool; a `held` one waits after its body until `send_dot`."""

    def __init__(self, queue: "MailQueue", *, held: bool = False, rcpt_to: str = "ann@example.com") -> None:
        super().__init__(rcpt_to=rcpt_to)
        self.queue = queue
        self.held = held

    def on_body(self, session: SmtpSession) -> None:
        super().on_body(session)
        if not self.held:
            self.send_dot()

    def send_dot(self) -> None:
        session = self._body.result()
        session.send_dot(deadline=60, following=self.queue.pool.following(session))

    def on_accepted(self, session: SmtpSession, reply: Reply) -> None:
        self.queue.pool.limits.record_success()
        super().on_accepted(session, reply)

    def on_failed(self, session: SmtpSession, error: Exception) -> None:
        pool = self.queue.pool
        if isinstance(error, ServerUnavailable) and pool.may_retry(session, error):
            self._body = asyncio.get_running_loop().create_future()
            self.queue.mails.appendleft(self)
            return
        if isinstance(error, Rejected):
            pool.rejected(error, recipient=self.rcpt_to)
        elif isinstance(error, NoReplyAfterData):
            pool.limits.record_failure(str(error))
        self.fail(error)


class MailQueue:
    """The mails that a pool carries, from the first to the last."""

    def __init__(self, server: SmtpServer, *, concurrency: int = 8) -> None:
        self.mails: deque[PooledMail] = deque()
        limits = ServerLimits(threshold=5)
        self.pool = ConnectionPool(server, helo="x", connect_deadline=5, limits=limits, concurrency=concurrency)
        self.pool.source = self

    @property
    def limits(self) -> ServerLimits:
        return self.pool.limits

    @property
    def waiting(self) -> int:
        return len(self.mails)

    @property
    def overdue(self) -> int:
        return len(self.mails)

    def next_mail(self, *, overdue: bool = False) -> PooledMail | None:
        return self.mails.popleft() if self.mails else None

    def on_unavailable(self, error: ServerUnavailable | CircuitOpen) -> None:
        for _ in range(self.waiting if isinstance(error, CircuitOpen) else min(self.waiting, 1)):
            self.mails.popleft().fail(error)

    def submit(self, mails: int, *, held: bool = False, rcpt_to: str = "ann@example.com") -> Sequence[PooledMail]:
        submitted = [PooledMail(self, held=held, rcpt_to=rcpt_to) for _ in range(mails)]
        self.mails.extend(submitted)
        self.pool.wake()
        return submitted

    async def send(self, mails: int = 1) -> None:
        """Sends them at once. Raises what the first of them that was not accepted failed with."""
        for mail in self.submit(mails):
            await mail.end()


@asynccontextmanager
async def a_queue(
    *, concurrency: int = 8, **script: str | list[str]
) -> AsyncIterator[tuple[ScriptedServer, MailQueue]]:
    """A server that follows the script, and a pool for it."""
    with ScriptedServer(script) as server:
        queue = MailQueue(server.smtp_server(), concurrency=concurrency)
        yield server, queue
        await queue.pool.close()


def freed(session: SmtpSession) -> "asyncio.Future[None]":
    """Done once another mail can begin, or none can any more."""
    free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    session.on_free = lambda _: None if free.done() else free.set_result(None)
    return free


def send(server: SmtpServer, *, deadline: float = 5, body_deadline: float = 60, dot_deadline: float = 60) -> Reply:
    """Sends MESSAGE and returns the 250. `deadline` is for everything before the mail."""

    async def converse() -> Reply:
        session = await SmtpSession.open(server, helo="test.example", deadline=deadline)
        mail = FollowedMail(body_deadline=body_deadline)
        try:
            session.begin(mail)
            await mail.body()
            session.send_dot(deadline=dot_deadline)
            return await mail.end()
        finally:
            session.abort()

    return loops.run(converse())
