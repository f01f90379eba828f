"""SMTP by aiosmtplib, the usual library for asyncio: kept connections."""

import aiosmtplib

from bench.peers.smtp_client import SENDER


class AiosmtplibClient:
    """Connections to one mail server, opened when all others are busy."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[aiosmtplib.SMTP] = []

    async def send(self, recipient: str, message: bytes) -> None:
        """Send one mail. Raises SMTPException."""
        connection = self._idle.pop() if self._idle else await self._open()
        await connection.sendmail(SENDER.decode("ascii"), [recipient], message)
        self._idle.append(connection)

    async def _open(self) -> aiosmtplib.SMTP:
        connection = aiosmtplib.SMTP(hostname="127.0.0.1", port=self._port, local_hostname="peer.snoozer.example")
        await connection.connect(start_tls=False)
        return connection
