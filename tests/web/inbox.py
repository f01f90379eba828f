"""The mail server of a site: it keeps what it accepted."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from queue import Queue

from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as SmtpSession

from snoozer.mail import message_parser


class Inbox:
    def __init__(self) -> None:
        self.mails: Queue[bytes] = Queue()
        self.recipients: list[str] = []

    async def handle_DATA(self, server: SMTP, session: SmtpSession, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.recipients += envelope.rcpt_tos
        self.mails.put(envelope.content)
        return "250 taken"

    def text(self) -> str:
        return message_parser.parse(self.mails.get(timeout=60)).text

    @contextmanager
    def serving(self) -> Iterator[int]:
        """Serves at the port that it yields, on loopback. At the end it hangs up, even while it takes a mail."""
        with ThreadPoolExecutor(1) as thread:
            started: Future[tuple[int, Callable[[], object]]] = Future()
            serving = thread.submit(asyncio.run, self._serve(started))
            port, end = started.result()
            try:
                yield port
            finally:
                end()
                serving.result()

    async def _serve(self, started: Future[tuple[int, Callable[[], object]]]) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        async with await loop.create_server(lambda: SMTP(self, loop=loop), "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            started.set_result((port, partial(loop.call_soon_threadsafe, ended.set)))
            await ended.wait()
