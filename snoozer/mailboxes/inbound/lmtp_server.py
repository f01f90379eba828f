"""A server for incoming mail: LMTP from a mail server on the same host (RFC 2033), or plain SMTP.

The stored message is what was sent between DATA and the final dot, dots unstuffed: every CR, LF, NUL and 8-bit byte,
lines of any length. A message is refused if it contains a line that some servers take for the final dot; so is a
command with a bare CR or LF. A 250 is sent only after `deliver` returned, and `deliver` commits.
"""

import asyncio
import errno
import logging
import os
import re
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, cast

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

CLOSE_TIMEOUT = 10
MAX_CONNECTIONS = 200
# Connections of one peer: a mail server opens twenty unless configured otherwise.
MAX_PEER_CONNECTIONS = 50
# Recipients of one message, known or not (RFC 5321 §4.5.3.1.8). The sender sends another message for the rest.
MAX_RECIPIENTS = 100
# Bodies in memory at once, in messages of the largest size; beyond that, a temporary failure.
MAX_HELD_MESSAGES = 8
MAX_LINE_LENGTH = 65_536
# Seconds for each 64 KiB of a message, and for storing it: a slow sender may take hours, a silent one not.
DATA_TIMEOUT = 600

# Seconds for all commands up to a message. The idle limit alone would be reset by each NOOP.
COMMANDS_TIMEOUT = 600

TEMPFAIL = "451 4.3.0 Snoozer cannot keep mail at the moment; please try again later"
UNKNOWN_RECIPIENT = "550 5.1.1 There is no mailbox with this address here"
_TOO_LARGE = "552 5.3.4 The message is larger than Snoozer keeps"
_TOO_BUSY = "452 4.3.1 Too much mail at once; please try again later"
_TOO_MANY_RECIPIENTS = "452 4.5.3 Too many recipients; send the others in another message"
_TOO_MANY_CONNECTIONS = "421 4.3.2 Too many connections; please try again later"
_BARE_LINE_END = "500 5.5.2 A command ends with <CR><LF> and holds no other CR or LF"
_FALSE_END = "550 5.6.11 The message holds an end of data that is not <CR><LF>.<CR><LF>"
_END = b"\r\n.\r\n"
# Ends of data for servers that accept a bare CR or LF as a line end: they would read the rest as commands.
_FALSE_ENDS = re.compile(rb"(?<!\r)\n\.\r?[\r\n]|\r(?!\n)\.[\r\n]|(?:\A|\r\n)\.(?:\n|\r(?!\n))")
_REPLY = re.compile(r"[245][0-9]{2} [\x20-\x7e]{1,400}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IncomingMail:
    """One message as received. `mail_from` is empty for bounces; `original` is byte for byte what was sent."""

    mail_from: str
    rcpt_to: tuple[str, ...]
    original: bytes


class InboundServer:
    """Accepts mail on one port, or on the UNIX socket `path`, in a thread of its own, from `start` to `stop`.

    `recipient_exists(address)` decides about RCPT; `deliver(incoming)` stores the message and returns one reply for
    each recipient, such as `250 2.0.0 Kept`. Both may block: they run in threads. An exception becomes a 451, logged
    as `error_text(error)`. LMTP sends each reply; SMTP, which has only one, the worst. The `handle_` methods are
    aiosmtpd's hooks.
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
        path: Path | None = None,
        mode: int = 0o660,
    ) -> None:
        self.host = host
        self.port = port
        self.path = path
        self._mode = mode
        self.hostname = hostname
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.connections: set[asyncio.BaseTransport] = set()
        self.peers: Counter[str] = Counter()
        self.in_progress: set[asyncio.Future[None]] = set()
        self._recipient_exists = recipient_exists
        self._deliver = deliver
        self._error_text = error_text
        self._session_class: type[InboundSession] = LmtpInboundSession if protocol == "lmtp" else InboundSession
        self._request_stop: Callable[[], object] = lambda: None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Opens the port and sets `port` to its number, also for 0, or the socket. Raises OSError when it is taken."""
        # aiosmtpd logs every command with its addresses.
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)
        ready: Future[None] = Future()
        thread = threading.Thread(target=self._run, args=(ready,), name="inbound", daemon=True)
        thread.start()
        ready.result()
        self._thread = thread

    def stop(self) -> None:
        """Closes the port; messages being stored at this moment still get their reply."""
        if self._thread is not None:
            self._request_stop()
            self._thread.join()
            self._thread = None

    async def handle_EHLO(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [*responses[:-1], "250-PIPELINING", "250 HELP"]

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        assert isinstance(server, InboundSession)  # noqa: S101 - this server makes no others
        server.recipients_tried += 1
        if server.recipients_tried > MAX_RECIPIENTS:
            return _TOO_MANY_RECIPIENTS
        if address == "<>" or not address.isprintable() or any("\ud800" <= char <= "\udfff" for char in address):
            return "553 5.1.3 The address is malformed"
        try:
            if not await asyncio.to_thread(self._recipient_exists, address):
                return UNKNOWN_RECIPIENT
        except Exception as error:
            _log.warning("A recipient could not be looked up: %s", self._error_text(error))
            return TEMPFAIL
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        if isinstance(error, BareLineEnd):
            return _BARE_LINE_END
        _log.warning("An SMTP session failed: %s", type(error).__name__)
        return TEMPFAIL

    async def deliver(self, incoming: IncomingMail) -> list[str]:
        """One valid reply for each recipient."""
        try:
            replies = list(await asyncio.to_thread(self._deliver, incoming))
        except Exception as error:
            _log.warning("A mail could not be stored: %s", self._error_text(error))
            replies = []
        valid = len(replies) == len(incoming.rcpt_to) and all(_REPLY.fullmatch(reply) for reply in replies)
        return replies if valid else [TEMPFAIL] * len(incoming.rcpt_to)

    def _run(self, ready: "Future[None]") -> None:
        try:
            asyncio.run(self._serve(ready))
        except Exception as error:
            if ready.done():
                _log.error("The server for incoming mail stopped: %s", type(error).__name__)
            else:
                ready.set_exception(error)

    async def _serve(self, ready: "Future[None]") -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        if self.path is None:
            server = await loop.create_server(lambda: self._session_class(self), self.host, self.port)
            self.port = server.sockets[0].getsockname()[1]
        else:
            opened = open_socket(self.path, mode=self._mode)
            server = await loop.create_unix_server(lambda: self._session_class(self), sock=opened)
        self._request_stop = partial(loop.call_soon_threadsafe, stopping.set)
        ready.set_result(None)
        await stopping.wait()
        server.close()
        if self.in_progress:
            await asyncio.wait(self.in_progress, timeout=CLOSE_TIMEOUT)
        for transport in list(self.connections):
            transport.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def open_socket(path: Path, *, mode: int) -> socket.socket:
    """A bound UNIX socket at `path`, which has its mode from the first moment on. It replaces the socket of a process
    that died. Raises OSError if a process listens there, or if `path` is not a socket."""
    if path.exists() and not path.is_socket():
        raise OSError(errno.EEXIST, "a file that is not a socket has this name")
    with socket.socket(socket.AF_UNIX) as probe:
        if not probe.connect_ex(str(path)):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    prepared = path.with_name(f".{path.name}.{os.getpid()}")
    prepared.unlink(missing_ok=True)
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.bind(str(prepared))
        prepared.chmod(mode)
        opened.listen()
        prepared.rename(path)
    except OSError:
        opened.close()
        prepared.unlink(missing_ok=True)
        raise
    return opened


class BareLineEnd(Exception):
    """Whether a command contains a CR or LF, by which other servers may see two commands."""


class CommandReader:
    """The stream of a session, which refuses a command with a bare CR or LF. DATA is not affected."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self.read = stream.read
        self._stream = stream

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        line = await self._stream.readuntil(separator)
        if separator == b"\n" and (not line.endswith(b"\r\n") or b"\r" in line[:-2]):
            raise BareLineEnd
        return line


class InboundSession(SMTP):
    """aiosmtpd's commands with our own DATA; it overrides private methods, so the version is pinned.

    aiosmtpd's DATA keeps an object for each line (a gigabyte for 25 MB of empty lines), refuses lines over 1,000 bytes,
    and sends one reply for all recipients, although LMTP promises one for each.
    """

    line_length_limit = MAX_LINE_LENGTH

    def __init__(self, server: InboundServer) -> None:
        super().__init__(
            server,
            data_size_limit=server.max_bytes,
            enable_SMTPUTF8=True,
            hostname=server.hostname,
            ident="Snoozer",
            loop=asyncio.get_running_loop(),
        )
        self._server = server
        self._commands_end: asyncio.TimerHandle | None = None
        # aiosmtpd shares one table between all connections, and clears it with each new one.
        self.command_size_limits = defaultdict(lambda: 1_024)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._server.connections.add(transport)
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])
        self._server.peers[self._peer] += 1
        self._await_message()
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self.transport is not None:
            self._server.connections.discard(self.transport)
            self._server.peers[self._peer] -= 1
            if not self._server.peers[self._peer]:
                del self._server.peers[self._peer]
        self._stop_awaiting_message()
        super().connection_lost(error)

    def _cb_client_connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super()._cb_client_connected(cast("asyncio.StreamReader", CommandReader(reader)), writer)

    def _create_envelope(self) -> Envelope:
        self.recipients_tried = 0
        return super()._create_envelope()

    def _await_message(self) -> None:
        self._commands_end = asyncio.get_running_loop().call_later(COMMANDS_TIMEOUT, self._timeout_cb)

    def _stop_awaiting_message(self) -> None:
        if self._commands_end is not None:
            self._commands_end.cancel()

    async def _handle_client(self) -> None:
        too_many = len(self._server.connections) > MAX_CONNECTIONS
        if (too_many or self._server.peers[self._peer] > MAX_PEER_CONNECTIONS) and self.transport is not None:
            await self.push(_TOO_MANY_CONNECTIONS)
            self.transport.close()
            return
        # The connection or the server is closed. If raised further, the exception would hold the body in a reference
        # cycle: megabytes until the next garbage collection.
        with suppress(asyncio.CancelledError):
            await super()._handle_client()

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802
        if await self.check_helo_needed():
            return
        if self.envelope is None or not self.envelope.rcpt_tos:
            await self.push("503 5.5.1 No recipient was accepted")
            return
        if arg:
            await self.push("501 5.5.4 DATA takes no argument")
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        self._reset_timeout(DATA_TIMEOUT)
        self._stop_awaiting_message()
        sender = "" if self.envelope.mail_from in (None, "<>") else str(self.envelope.mail_from)
        recipients = tuple(self.envelope.rcpt_tos)
        body = bytearray()
        replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            refusal = await self._read_data(body)
            self._reset_timeout(DATA_TIMEOUT)
            self._server.in_progress.add(replied)
            self.envelope = self._create_envelope()
            if not refusal and _FALSE_ENDS.search(body, 0, len(body) - len(b".\r\n")):
                refusal = _FALSE_END
            if refusal:
                replies = [refusal] * len(recipients)
            else:
                replies = await self._server.deliver(IncomingMail(sender, recipients, _unstuffed(body)))
            for reply in self._combine_replies(replies):
                await self.push(reply)
        finally:
            self._server.held_bytes -= len(body)
            self._server.in_progress.discard(replied)
            replied.set_result(None)
            if self.transport is not None:
                self._await_message()

    def _combine_replies(self, replies: Sequence[str]) -> Sequence[str]:
        """The worst reply: after a temporary failure the sender retries for all recipients, and no mail is lost."""
        return [min(replies, key=lambda reply: "452".index(reply[0]))]

    async def _read_data(self, body: bytearray) -> str:
        """Fills `body` up to the final dot. Returns the reply that refuses it, or "". Only CRLF.CRLF ends a message."""
        refusal = ""
        taken = 0
        tail = b"\r\n"
        while not tail.endswith(_END):
            try:
                piece: bytes = await self._reader.readuntil(b".\r\n")
            except asyncio.LimitOverrunError as overrun:
                piece = await self._reader.read(overrun.consumed)
            tail = tail[-len(_END) :] + piece[-len(_END) :]
            taken += len(piece)
            if taken >= MAX_LINE_LENGTH:
                self._reset_timeout(DATA_TIMEOUT)
                taken = 0
            if refusal:
                continue
            body += piece
            self._server.held_bytes += len(piece)
            if len(body) > self._server.max_bytes + len(_END):
                refusal = _TOO_LARGE
            elif self._server.held_bytes > MAX_HELD_MESSAGES * self._server.max_bytes:
                refusal = _TOO_BUSY
            if refusal:
                self._server.held_bytes -= len(body)
                body.clear()
        return refusal


class LmtpInboundSession(InboundSession, LMTP):
    def _combine_replies(self, replies: Sequence[str]) -> Sequence[str]:
        return replies


def _unstuffed(body: bytearray) -> bytes:
    """The message without the final dot and the dots that SMTP puts before dots (RFC 5321 §4.5.2)."""
    return bytes(body[:-3].removeprefix(b".").replace(b"\r\n.", b"\r\n"))
