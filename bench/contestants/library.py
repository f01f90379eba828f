"""SMTP by aiosmtplib, the library that whoever builds reminders on another queue would take: kept connections."""

import aiosmtplib

from bench.contestants.post import SENDER


class LibraryPost:
    """Connections to one mail server, opened when all others are busy."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[aiosmtplib.SMTP] = []

    async def deliver(self, recipient: str, message: bytes) -> None:
        """Hand one mail over. Raises SMTPException."""
        line = self._idle.pop() if self._idle else await self._open()
        await line.sendmail(SENDER.decode("ascii"), [recipient], message)
        self._idle.append(line)

    async def _open(self) -> aiosmtplib.SMTP:
        line = aiosmtplib.SMTP(hostname="127.0.0.1", port=self._port, local_hostname="contestant.snoozer.example")
        await line.connect(start_tls=False)
        return line
