"""The fastest SMTP client we could write for asyncio: kept connections, PIPELINING, two writes a mail, no checks.

It is lent to the other queues, which bring none.
"""

import asyncio
from typing import cast

SENDER = b"bench@snoozer.example"


class Refused(Exception):
    """The mail server said no."""


class Line(asyncio.Protocol):
    """One connection, on which one mail is under way at a time."""

    def __init__(self) -> None:
        self._read = b""
        self._codes: list[bytes] = []
        self._awaited = 0
        self._heard: asyncio.Future[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._read = (self._read + data).split(b"\r\n")
        self._codes += [line[:3] for line in lines if line[3:4] != b"-"]
        if self._awaited and len(self._codes) >= self._awaited:
            self._awaited = 0
            self._heard.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._awaited:
            self._awaited = 0
            self._heard.set_exception(exc or Refused("hung up"))

    def close(self) -> None:
        self._transport.close()

    async def greet(self) -> None:
        await self._hear(b"220")
        self._transport.write(b"EHLO contestant.snoozer.example\r\n")
        await self._hear(b"250")

    async def deliver(self, recipient: bytes, ended: bytes) -> None:
        """Hand one mail over. `ended` is the message with its dots doubled and the last one behind it."""
        self._transport.write(b"MAIL FROM:<%s>\r\nRCPT TO:<%s>\r\nDATA\r\n" % (SENDER, recipient))
        await self._hear(b"250", b"250", b"354")
        self._transport.write(ended)
        await self._hear(b"250")

    async def _hear(self, *wanted: bytes) -> None:
        if len(self._codes) < len(wanted):
            self._awaited = len(wanted)
            self._heard = asyncio.get_running_loop().create_future()
            await self._heard
        codes, self._codes = self._codes, []
        if tuple(codes) != wanted:
            raise Refused(b" ".join(codes).decode("ascii"))


class Post:
    """Connections to one mail server, opened when all others are busy, kept until `close`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Line] = []

    async def deliver(self, recipient: bytes, ended: bytes) -> None:
        line = self._idle.pop() if self._idle else await self._open()
        await line.deliver(recipient, ended)
        self._idle.append(line)

    def close(self) -> None:
        for line in self._idle:
            line.close()

    async def _open(self) -> Line:
        _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", self._port)
        await line.greet()
        return line


def ended(message: bytes) -> bytes:
    """A message as DATA takes it: dots at the beginning of lines doubled, and the end."""
    return b"\n".join(b"." + part if part.startswith(b".") else part for part in message.split(b"\n")) + b".\r\n"
