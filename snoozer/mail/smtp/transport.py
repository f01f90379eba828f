"""A connection to a mail server: bytes out, replies in, each wait with an absolute deadline.

A wait gets only what is left until its deadline, however the server spreads its bytes, and replies are bounded in
lines and bytes. One event loop drives any number of connections.
"""

import asyncio
import re
import select
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Thread
from typing import Any, Self, TypeVar, cast

from snoozer.mail import headers
from snoozer.runtime.outbound import tls_context

T = TypeVar("T")

MAX_REPLY_BYTES = 16_384
MAX_REPLY_LINES = 100
MAX_REPLY_LENGTH = 500

HUNG_UP = "the mail server hung up"
BROKE = "the connection to the mail server broke"
NO_SMTP = "the mail server's reply was no SMTP"
ENDLESS = "the mail server's reply did not end"
FULL = "the mail server took nothing more until the deadline"
SILENT = "the mail server gave no answer in time"

POLL_INTERVAL = 0.005

Addresses = Sequence[tuple[int, int, int, str, tuple[Any, ...]]]

_LINE = re.compile(rb"([2-5][0-9]{2})(?:([ -])([^\n]*?))?\r?\n")
_ENHANCED = re.compile(r"\s*([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)")
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"]+@[^\s<>()\[\],;:\"]+")
# A server that quotes a subject marks its start, but not its end.
_SUBJECT = re.compile(r"""\b(subject)(?:\s+(?:line|header|field))?\s*(?:["'”’]?\s*[:=]|["'“‘«]).*""", re.IGNORECASE)
_QUEUE_ID = re.compile(
    r"queued as <?([\w.+/-]{3,64})|queued mail[^\[]*\[?(?:InternalId=)?([\w.-]{3,64})|\bid=([\w-]{3,64})"
    r"|^(?:ok:?\s+)?((?=[\w.+-]*\d)[\w.+-]{6,64})\b",
    re.IGNORECASE,
)


class ConnectionLost(Exception):
    """The connection ended, was silent past its deadline, or the reply was not SMTP."""


def masked(words: str) -> str:
    """A server's words on one line of at most 500 characters: nothing invisible, every address masked, and nothing from
    a quoted subject on."""
    unquoted = _SUBJECT.sub(r"\1: …", headers.sanitize_line(words, limit=4 * MAX_REPLY_LENGTH))
    return headers.sanitize_line(_ADDRESS.sub("…@…", unquoted), limit=MAX_REPLY_LENGTH)


@dataclass(frozen=True)
class Reply:
    """One reply of the server: its code, and its lines without the code as they came."""

    code: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(part for part in (str(self.code), self.enhanced_code, self.text) if part)

    @cached_property
    def enhanced_code(self) -> str | None:
        """The enhanced status code of the first line, such as 4.7.1 (RFC 3463)."""
        found = _ENHANCED.match(self.lines[0])
        return found.group(1) if found else None

    @cached_property
    def text(self) -> str:
        """The words as `masked`."""
        return masked(" ".join(_ENHANCED.sub("", line, count=1) for line in self.lines))

    @property
    def queue_id(self) -> str | None:
        """The server's own id for the message, if its reply has one."""
        found = _QUEUE_ID.search(self.text)
        return next((group for group in found.groups() if group), None) if found else None

    @property
    def is_throttling(self) -> bool:
        """True for any 4xx with 4.7.x (RFC 3463): too many or too fast."""
        return 400 <= self.code < 500 and (self.enhanced_code or "").startswith("4.7.")


class Transport(asyncio.Protocol):
    """One TCP or TLS connection, for the event loop it was made on. `until` is a point on `time.monotonic()`.

    `send` and `read_reply` wait on it, or it drives a state machine: once `on_event` is set, it is called whenever data
    was received or sent or the connection ended, and must not raise.
    """

    def __init__(self) -> None:
        self.on_event: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._read = bytearray()
        self._ended: str | None = None
        self._full = False
        self._waiter: asyncio.Future[None] | None = None
        # They differ under TLS.
        self._transport: asyncio.Transport
        self._tcp: asyncio.Transport

    @classmethod
    async def connect(cls, host: str, port: int, *, until: float) -> Self:
        """Tries each address of the host in turn, each for its share of the time. Raises ConnectionLost."""
        problem = "the mail server's name has no address"
        addresses = await _resolve(host, port, until=until)
        for left, (family, kind, protocol, _, address) in zip(range(len(addresses), 0, -1), addresses, strict=True):
            now = time.monotonic()
            try:
                async with asyncio.timeout_at(now + (until - now) / left):
                    return await cls._connect_to(family, kind, protocol, address)
            except TimeoutError:
                problem = "the mail server did not take the connection in time"
            except OSError as error:
                refused = isinstance(error, ConnectionRefusedError)
                problem = f"the mail server {'refused the connection' if refused else 'could not be reached'}"
        raise ConnectionLost(problem)

    @classmethod
    async def _connect_to(cls, family: int, kind: int, protocol: int, address: tuple[object, ...]) -> Self:
        loop = asyncio.get_running_loop()
        connection = socket.socket(family, kind, protocol)
        try:
            connection.setblocking(False)
            await loop.sock_connect(connection, address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, connected = await loop.create_connection(cls, sock=connection)
        except BaseException:
            connection.close()
            raise
        return connected

    async def start_tls(self, host: str, *, until: float) -> None:
        """Starts TLS with the system's certificate authorities. Raises ConnectionLost, also for a wrong certificate."""
        if self._read:
            raise ConnectionLost("the mail server sent something unprotected in front of TLS")
        try:
            async with asyncio.timeout_at(until):
                protected = await self._loop.start_tls(self._tcp, self, tls_context(), server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise ConnectionLost(f"the mail server's certificate was not accepted: {error.verify_message}") from error
        except TimeoutError as error:
            raise ConnectionLost("TLS with the mail server was not ready in time") from error
        except (OSError, ValueError) as error:
            raise ConnectionLost("TLS with the mail server failed") from error
        if protected is None:
            raise ConnectionLost("TLS with the mail server failed")
        self._transport = protected
        # Not 0: asyncio's TLS would regard its buffer as always full.
        self._transport.set_write_buffer_limits(high=1, low=0)

    async def send(self, data: bytes, *, until: float) -> None:
        """Returns when every byte was given to the operating system. Raises ConnectionLost."""
        self.write(data)
        while not self.is_flushed:
            await self._wait(min(until, self._loop.time() + POLL_INTERVAL), None)
            if self._loop.time() > until:
                raise ConnectionLost(FULL)

    def write(self, data: bytes) -> None:
        """Sends without waiting for it. Raises ConnectionLost if the connection has ended."""
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        self._transport.write(data)

    @property
    def is_flushed(self) -> bool:
        """True if every byte was given to the operating system. Raises ConnectionLost if the connection has ended.

        Under TLS bytes may be left when there is room again, and no callback follows: ask again a little later.
        """
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        if self._full or self._tcp.get_write_buffer_size():
            return False
        if self._tcp.is_closing():
            raise ConnectionLost(BROKE)
        return True

    async def read_reply(self, *, until: float) -> Reply:
        """The next reply. Raises ConnectionLost like `next_reply`, and on silence."""
        while (reply := self.next_reply()) is None:
            await self._wait(until, SILENT)
        return reply

    def next_reply(self) -> Reply | None:
        """The next reply, None until it is complete. Raises ConnectionLost for EOF, a line without a code, two codes,
        or too much."""
        lines: list[str] = []
        code, start = b"", 0
        while found := _LINE.match(self._read, start):
            if code and found.group(1) != code:
                raise ConnectionLost(NO_SMTP)
            code, start = found.group(1), found.end()
            lines.append((found.group(3) or b"").decode("utf-8", "replace"))
            if found.group(2) != b"-":
                del self._read[:start]
                return Reply(int(code), tuple(lines))
            if len(lines) >= MAX_REPLY_LINES:
                raise ConnectionLost(ENDLESS)
        if self._read.find(b"\n", start) >= 0:
            raise ConnectionLost(NO_SMTP)
        if len(self._read) > MAX_REPLY_BYTES:
            raise ConnectionLost(ENDLESS)
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        return None

    @property
    def has_data(self) -> bool:
        """True if the server sent data that `next_reply` has not read yet, or hung up."""
        return bool(self._read) or self._ended is not None

    @property
    def has_unread(self) -> bool:
        """True if the kernel has received data, which is read within a few turns of the loop; under TLS it may be no
        data for us."""
        number = self._tcp.get_extra_info("socket").fileno()
        if number < 0:
            return True  # Closed; connection_lost comes next.
        unread = select.poll()
        unread.register(number, select.POLLIN)
        return bool(unread.poll(0))

    def close(self) -> None:
        """Closes at once and discards unsent data. Never raises."""
        self._ended = self._ended or BROKE
        self._transport.abort()

    def send_and_close(self, data: bytes) -> None:
        """Sends without waiting for it, and closes. Never raises."""
        if self._ended is None:
            self._transport.write(data)
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._tcp = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        self._read += data
        if len(self._read) > 2 * MAX_REPLY_BYTES:
            self._end(ENDLESS)
            self._transport.abort()
        self._wake()

    def eof_received(self) -> None:
        self._end(HUNG_UP)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(HUNG_UP if exc is None else BROKE)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    async def _wait(self, until: float, too_late: str | None) -> None:
        """Waits for data, room to write, or the end, until a time; then raises ConnectionLost if `too_late` gives a
        reason. One wait at a time: SMTP takes turns."""
        waiter = self._waiter = self._loop.create_future()
        # A third of the cost of asyncio.timeout_at, and there are several waits in each message.
        timer = self._loop.call_at(until, _expire, waiter, too_late)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None:
            wake(self._waiter, None)
        if self.on_event is not None:
            self.on_event()

    def _end(self, why: str) -> None:
        self._ended = self._ended or why
        self._wake()


def wake(waiter: "asyncio.Future[T]", result: T) -> bool:
    """Ends a wait; False when it was over already."""
    if waiter.done():
        return False
    waiter.set_result(result)
    return True


def _expire(waiter: "asyncio.Future[None]", too_late: str | None) -> None:
    if too_late is None:
        wake(waiter, None)
    elif not waiter.done():
        waiter.set_exception(ConnectionLost(too_late))


async def _resolve(host: str, port: int, *, until: float) -> Addresses:
    """The host's addresses; empty if it has none. Raises ConnectionLost if the resolver takes too long.

    Not `loop.getaddrinfo`: `asyncio.run` and the interpreter's exit wait for its thread, for as long as a resolver
    hangs. A daemon thread is left behind: the deadline holds, and a hanging resolver delays no exit.
    """
    with suppress(OSError, UnicodeError):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Addresses] = loop.create_future()

    def resolve() -> None:
        addresses: Addresses = []
        with suppress(OSError, UnicodeError):
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(wake, found, addresses)

    Thread(target=resolve, name="resolver", daemon=True).start()
    try:
        async with asyncio.timeout_at(until):
            return await found
    except TimeoutError as error:
        raise ConnectionLost("the mail server's name was not resolved in time") from error
