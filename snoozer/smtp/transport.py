"""A line of bytes to a mail server whose every wait has an absolute end.

One event loop drives as many of them as one likes. A wait gets only what is left until its deadline, however the
server spreads its bytes, and replies are bounded in lines and bytes.
"""

import asyncio
import re
import select
import socket
import ssl
import time
from dataclasses import dataclass
from functools import cache
from typing import Self, cast

from snoozer.smtp.deadline_timer import DeadlineTimer
from snoozer.smtp.dns import Addresses, resolve

MOST_REPLY_BYTES = 16_384
MOST_REPLY_LINES = 100

_LINE = re.compile(rb"([2-5][0-9]{2})([ -]|$)(.*)", re.DOTALL)

HUNG_UP = "the mail server hung up"
BROKE = "the connection to the mail server broke"
ENDLESS = "the mail server's reply did not end"
FULL = "the mail server took nothing more until the deadline"

LOOK_SECONDS = 0.005


class ConnectionLost(Exception):
    """The connection ended, went silent past its deadline, or said something that is no SMTP."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True)
class ServerReply:
    """One reply of the server: its code and its lines without the codes, as they came."""

    code: int
    lines: tuple[str, ...]


class Transport(asyncio.Protocol):
    """One TCP or TLS connection, for the event loop it was made on. Deadlines are points on `time.monotonic()`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read = bytearray()
        self._ended: str | None = None
        self._full = False
        self._waiter: asyncio.Future[None] | None = None
        self._too_late = ""
        self._alarm = DeadlineTimer(self._loop, on_expired=self._give_up)
        # They differ once TLS is spoken.
        self._transport: asyncio.Transport
        self._tcp: asyncio.Transport

    @classmethod
    async def connect(cls, host: str, port: int, *, until: float) -> Self:
        """Try each address of the host in turn, each for its share of the time. Broken when none answers."""
        problem = "the mail server's name has no address"
        found = await _addresses(host, port, until=until)
        for left, (family, kind, protocol, _, address) in zip(range(len(found), 0, -1), found, strict=True):
            now = time.monotonic()
            try:
                async with asyncio.timeout_at(now + (until - now) / left):
                    return await cls._reach(family, kind, protocol, address)
            except TimeoutError:
                problem = "the mail server did not take the connection in time"
            except OSError as error:
                refused = isinstance(error, ConnectionRefusedError)
                problem = f"the mail server {'refused the connection' if refused else 'could not be reached'}"
        raise ConnectionLost(problem)

    @classmethod
    async def _reach(cls, family: int, kind: int, protocol: int, address: tuple[object, ...]) -> Self:
        loop = asyncio.get_running_loop()
        connection = socket.socket(family, kind, protocol)
        try:
            connection.setblocking(False)
            await loop.sock_connect(connection, address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, wire = await loop.create_connection(cls, sock=connection)
        except BaseException:
            connection.close()
            raise
        return wire

    async def start_tls(self, host: str, *, until: float) -> None:
        """Start TLS with the system's certificate authorities. Broken when the certificate does not hold."""
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
        # Not 0: asyncio's TLS takes that for a line that is always full.
        self._transport.set_write_buffer_limits(high=1, low=0)

    async def send(self, data: bytes, *, until: float) -> None:
        """Every byte given to the operating system, or Broken."""
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        self._transport.write(data)
        while self._full:
            await self._wait(until, FULL)
            if self._ended is not None:
                raise ConnectionLost(self._ended)
        while self._tcp.get_write_buffer_size():
            # What TLS has handed on may still lie here, and nobody tells when it is gone.
            if self._loop.time() > until:
                raise ConnectionLost(FULL)
            await asyncio.sleep(LOOK_SECONDS)
        if self._tcp.is_closing():
            raise ConnectionLost(BROKE)

    async def read_reply(self, *, until: float) -> ServerReply:
        """The next reply. Broken for EOF, silence, a line without a code, two codes in one reply, or too much."""
        lines: list[str] = []
        code = b""
        size = 0
        while True:
            line = await self._line(until=until)
            size += len(line)
            found = _LINE.fullmatch(line)
            if found is None or (code and found.group(1) != code):
                raise ConnectionLost("the mail server's reply was no SMTP")
            code = found.group(1)
            lines.append(found.group(3).decode("utf-8", "replace"))
            if found.group(2) != b"-":
                return ServerReply(int(code), tuple(lines))
            if len(lines) >= MOST_REPLY_LINES or size > MOST_REPLY_BYTES:
                raise ConnectionLost(ENDLESS)

    async def has_data(self) -> bool:
        """True when the server has said something, or hung up, without being asked. Waits for nothing."""
        while not self._read and self._ended is None and self._lies_unread():
            # What the system holds reaches us within a few turns; in TLS it may be nothing for us.
            await asyncio.sleep(0)
        return bool(self._read) or self._ended is not None

    def close(self) -> None:
        """Let go at once; what was not sent yet never is. Never raises."""
        self._ended = self._ended or BROKE
        self._alarm.end()
        self._transport.abort()

    def send_and_close(self, goodbye: bytes) -> None:
        """Say the last word, which is not waited for, and let go. Never raises."""
        if self._ended is None:
            self._transport.write(goodbye)
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._tcp = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        self._read += data
        if len(self._read) > 2 * MOST_REPLY_BYTES:
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

    async def _line(self, *, until: float) -> bytes:
        while (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MOST_REPLY_BYTES:
                raise ConnectionLost(ENDLESS)
            if self._ended is not None:
                raise ConnectionLost(self._ended)
            await self._wait(until, "the mail server gave no answer in time")
        line = bytes(self._read[:end]).removesuffix(b"\r")
        del self._read[: end + 1]
        return line

    async def _wait(self, until: float, too_late: str) -> None:
        """Until something happens on the line. One waits at a time: SMTP is a conversation."""
        self._waiter, self._too_late = self._loop.create_future(), too_late
        self._alarm.set(until)
        try:
            await self._waiter
        finally:
            self._alarm.unset()
            self._waiter = None

    def _give_up(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionLost(self._too_late))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end(self, why: str) -> None:
        self._ended = self._ended or why
        self._wake()

    def _lies_unread(self) -> bool:
        number = self._tcp.get_extra_info("socket").fileno()
        if number < 0:
            return True  # Closed, and about to be told.
        unread = select.poll()
        unread.register(number, select.POLLIN)
        return bool(unread.poll(0))


@cache
def tls_context() -> ssl.SSLContext:
    """What vouches for a mail server: the system's certificate authorities, read once, because that takes long."""
    return ssl.create_default_context()


async def _addresses(host: str, port: int, *, until: float) -> Addresses:
    try:
        return await resolve(host, port, until=until)
    except TimeoutError as error:
        raise ConnectionLost("the mail server's name was not resolved in time") from error
