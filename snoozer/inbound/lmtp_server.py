"""The door for mail that comes in, by LMTP from the mail server beside us or by plain SMTP.

What is kept is what was on the wire between DATA and the final dot, dots unstuffed: every CR, LF, NUL and 8-bit byte,
lines of any length. A 250 is said only after `deliver` returned, and `deliver` commits.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Sequence
from typing import Literal

from snoozer.inbound.lmtp_session import TEMPFAIL, InboundSession, IncomingMail, LmtpInboundSession, SmtpInboundSession

__all__ = ["UNKNOWN_RECIPIENT", "InboundServer", "IncomingMail"]

CLOSE_TIMEOUT = 10
UNKNOWN_RECIPIENT = "550 5.1.1 There is no mailbox with this address here"

_REPLY = re.compile(r"[245][0-9]{2} [\x20-\x7e]{1,400}")

_log = logging.getLogger(__name__)


class InboundServer:
    """Takes mail on one port, in a thread of its own, from `start` to `stop`.

    `knows(address)` says whether a recipient lives here; `deliver(incoming)` keeps the mail and returns one reply for
    each recipient, such as `250 2.0.0 Kept`. Both may block: they run in threads. What they raise becomes a 451, and
    the sender comes again; `why(error)` is what the log says of it. LMTP hears each reply; SMTP, which has only one,
    hears the worst.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        recipient_exists: Callable[[str], bool],
        deliver: Callable[[IncomingMail], Sequence[str]],
        max_bytes: int,
        error_text: Callable[[Exception], str] = lambda error: type(error).__name__,
        protocol: Literal["lmtp", "smtp"] = "lmtp",
        hostname: str = "localhost",
    ) -> None:
        self.host = host
        self.port = port
        self.hostname = hostname
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.connections: set[asyncio.BaseTransport] = set()
        self.in_progress: set[asyncio.Future[None]] = set()
        self._recipient_exists = recipient_exists
        self._deliver = deliver
        self._error_text = error_text
        self._session_class: type[InboundSession] = LmtpInboundSession if protocol == "lmtp" else SmtpInboundSession
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def start(self) -> None:
        """Open the port; `port` then holds its number, also when 0 was asked for. OSError when it is taken."""
        # aiosmtpd logs every command with its addresses.
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)
        ready = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(ready,), name="mail-door", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def stop(self) -> None:
        """Close the port; mails being kept at this moment still get their reply."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None

    async def recipient_exists(self, address: str) -> str:
        """The reply to RCPT."""
        try:
            return "250 2.1.5 OK" if await asyncio.to_thread(self._recipient_exists, address) else UNKNOWN_RECIPIENT
        except Exception as error:
            _log.warning("A recipient could not be looked up: %s", self._error_text(error))
            return TEMPFAIL

    async def deliver(self, incoming: IncomingMail) -> list[str]:
        """One well-formed reply for each recipient."""
        try:
            replies = list(await asyncio.to_thread(self._deliver, incoming))
        except Exception as error:
            _log.warning("A mail could not be kept: %s", self._error_text(error))
            replies = []
        whole = len(replies) == len(incoming.rcpt_to) and all(_REPLY.fullmatch(reply) for reply in replies)
        return replies if whole else [TEMPFAIL] * len(incoming.rcpt_to)

    def _run(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve(ready))
        except Exception as error:
            self._failure = error
            if ready.is_set():
                _log.error("The door for mail closed itself: %s", type(error).__name__)
        finally:
            ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(lambda: self._session_class(self), self.host, self.port)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        server.close()
        if self.in_progress:
            await asyncio.wait(self.in_progress, timeout=CLOSE_TIMEOUT)
        for transport in list(self.connections):
            transport.close()
