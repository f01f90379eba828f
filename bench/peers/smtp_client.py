"""The fastest SMTP clients we could write, for asyncio and blocking: kept connections, PIPELINING, two writes a mail.

The other queues, which have none, use them.
"""

import asyncio
import socket
from collections.abc import Awaitable
from typing import cast

SENDER = b"bench@snoozer.example"
DOT = b".\r\n"


class Rejected(Exception):
    """The mail server's replies were not the expected ones."""


class Connection(asyncio.Protocol):
    """One connection, which sends one mail at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._codes: list[bytes] = []
        self._expected = 0
        self._replied: asyncio.Future[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\r\n")
        self._codes += [line[:3] for line in lines if line[3:4] != b"-"]
        if self._expected and len(self._codes) >= self._expected:
            self._expected = 0
            self._replied.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._expected:
            self._expected = 0
            self._replied.set_exception(exc or Rejected("hung up"))

    def close(self) -> None:
        self._transport.close()

    async def greet(self) -> None:
        await self._expect(b"220")
        self._transport.write(b"EHLO peer.snoozer.example\r\n")
        await self._expect(b"250")

    async def send(self, recipient: bytes, data: bytes) -> None:
        """Send one mail. `data` is what `as_data` returns. Raises Rejected."""
        await self.begin(recipient)
        self._transport.write(data)
        await self._expect(b"250")

    async def begin(self, recipient: bytes, body: bytes = b"") -> None:
        """Send everything before the final dot. Raises Rejected."""
        self._transport.write(b"MAIL FROM:<%s>\r\nRCPT TO:<%s>\r\nDATA\r\n" % (SENDER, recipient))
        await self._expect(b"250", b"250", b"354")
        if body:
            self._transport.write(body)

    async def end(self) -> None:
        """Send the final dot. Raises Rejected."""
        self._transport.write(DOT)
        await self._expect(b"250")

    async def _expect(self, *expected: bytes) -> None:
        if len(self._codes) < len(expected):
            self._expected = len(expected)
            self._replied = asyncio.get_running_loop().create_future()
            await self._replied
        codes, self._codes = self._codes, []
        if tuple(codes) != expected:
            raise Rejected(b" ".join(codes).decode("ascii"))


class SmtpClient:
    """Connections to one mail server, opened when all others are busy, kept until `close`. `opened` counts them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Connection] = []
        self.opened = 0

    async def send(self, recipient: bytes, data: bytes) -> None:
        """Send one mail. `data` is what `as_data` returns. Raises Rejected."""
        connection = self._idle.pop() if self._idle else await self._open()
        await connection.send(recipient, data)
        self._idle.append(connection)

    async def send_if(self, recipient: bytes, data: bytes, authorise: Awaitable[None]) -> None:
        """Send one mail; its dot leaves after `authorise`. Raises Rejected, and what `authorise` raises."""
        connection = self._idle.pop() if self._idle else await self._open()
        await connection.begin(recipient, data.removesuffix(DOT))
        await authorise
        await connection.end()
        self._idle.append(connection)

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    async def _open(self) -> Connection:
        self.opened += 1
        _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", self._port)
        await connection.greet()
        return connection


class BlockingSmtpClient:
    """One connection to one mail server."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = self._socket.makefile("rb")
        self._expect(b"220")
        self._socket.sendall(b"EHLO peer.snoozer.example\r\n")
        self._expect(b"250")

    def send(self, recipient: bytes, data: bytes) -> None:
        """Send one mail. `data` is what `as_data` returns. Raises Rejected."""
        self._socket.sendall(b"MAIL FROM:<%s>\r\nRCPT TO:<%s>\r\nDATA\r\n" % (SENDER, recipient))
        self._expect(b"250", b"250", b"354")
        self._socket.sendall(data)
        self._expect(b"250")

    def close(self) -> None:
        self._replies.close()
        self._socket.close()

    def _expect(self, *expected: bytes) -> None:
        for code in expected:
            line = self._replies.readline()
            while line[3:4] == b"-":
                line = self._replies.readline()
            if line[:3] != code:
                raise Rejected(line.decode("ascii", "replace"))


def as_data(message: bytes) -> bytes:
    """A message as the DATA phase transmits it (RFC 5321, 4.5.2): leading dots doubled, the final dot appended."""
    return b"\n".join(b"." + part if part.startswith(b".") else part for part in message.split(b"\n")) + b".\r\n"
