"""How the door talks: aiosmtpd's commands, with a DATA that keeps every byte and answers for each recipient."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

if TYPE_CHECKING:
    from snoozer.inbound.lmtp_server import InboundServer

MAX_CONNECTIONS = 200
# Bodies in memory at once, in messages of the largest size: beyond that a sender is asked to come again.
MAX_HELD_MESSAGES = 8
MAX_LINE_LENGTH = 65_536
# For each 64 KiB of a mail, and for keeping it: a slow line that moves may take hours, a silent one not.
DATA_TIMEOUT = 600

TEMPFAIL = "451 4.3.0 Snoozer cannot keep mail at the moment; please try again later"
_TOO_LARGE = "552 5.3.4 The message is larger than Snoozer keeps"
_TOO_BUSY = "452 4.3.1 Too much mail at once; please try again later"
_END = b"\r\n.\r\n"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IncomingMail:
    """One mail at the door. `mail_from` is empty for bounces; `original` is byte for byte what the sender sent."""

    mail_from: str
    rcpt_to: tuple[str, ...]
    original: bytes


class _Handler:
    """aiosmtpd's hooks: what is announced, and who lives here."""

    def __init__(self, door: "InboundServer") -> None:
        self._door = door

    async def handle_EHLO(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [*responses[:-1], "250-PIPELINING", "250 HELP"]

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == "<>" or not address.isprintable() or any("\ud800" <= char <= "\udfff" for char in address):
            return "553 5.1.3 The address is malformed"
        reply = await self._door.recipient_exists(address)
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_exception(self, error: Exception) -> str:
        _log.warning("A mail conversation failed: %s", type(error).__name__)
        return TEMPFAIL


class InboundSession(SMTP):
    """aiosmtpd's commands with a DATA of our own.

    Its own keeps an object for each line (a gigabyte for 25 MB of empty lines), refuses lines over 1,000 bytes, and
    answers once however many recipients there are, where LMTP promises one reply for each (RFC 2033).
    """

    line_length_limit = MAX_LINE_LENGTH

    def __init__(self, door: "InboundServer") -> None:
        super().__init__(
            _Handler(door),
            data_size_limit=door.max_bytes,
            enable_SMTPUTF8=True,
            hostname=door.hostname,
            ident="Snoozer",
            loop=asyncio.get_running_loop(),
        )
        self._door = door
        # aiosmtpd shares one table between all connections, and clears it with each new one.
        self.command_size_limits = defaultdict(lambda: 1_024)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._door.connections.add(transport)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self.transport is not None:
            self._door.connections.discard(self.transport)
        super().connection_lost(error)

    async def _handle_client(self) -> None:
        if len(self._door.connections) > MAX_CONNECTIONS and self.transport is not None:
            await self.push("421 4.3.2 Too many connections; please try again later")
            self.transport.close()
            return
        # The connection is gone or the door closes. Raised on, it would tie what was read of a mail into a cycle:
        # megabytes that stay until Python happens to look for garbage.
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
        sender = "" if self.envelope.mail_from in (None, "<>") else str(self.envelope.mail_from)
        recipients = tuple(self.envelope.rcpt_tos)
        body = bytearray()
        said: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            refusal = await self._read_data(body)
            self._reset_timeout(DATA_TIMEOUT)
            self._door.in_progress.add(said)
            self.envelope = self._create_envelope()
            if refusal:
                replies = [refusal] * len(recipients)
            else:
                replies = await self._door.deliver(IncomingMail(sender, recipients, _unstuffed(body)))
            for reply in self._combine_replies(replies):
                await self.push(reply)
        finally:
            self._door.held_bytes -= len(body)
            self._door.in_progress.discard(said)
            said.set_result(None)

    def _combine_replies(self, replies: Sequence[str]) -> Sequence[str]:
        raise NotImplementedError

    async def _read_data(self, body: bytearray) -> str:
        """Fill `body` up to the final dot; the reply that refuses it, or nothing. Only CRLF.CRLF ends a mail."""
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
            self._door.held_bytes += len(piece)
            if len(body) > self._door.max_bytes + len(_END):
                refusal = _TOO_LARGE
            elif self._door.held_bytes > MAX_HELD_MESSAGES * self._door.max_bytes:
                refusal = _TOO_BUSY
            if refusal:
                self._door.held_bytes -= len(body)
                body.clear()
        return refusal


class SmtpInboundSession(InboundSession):
    def _combine_replies(self, replies: Sequence[str]) -> Sequence[str]:
        """The worst: a temporary failure lets the sender come again for all, and nothing is lost unheard."""
        return [min(replies, key=lambda reply: "452".index(reply[0]))]


class LmtpInboundSession(InboundSession, LMTP):
    def _combine_replies(self, replies: Sequence[str]) -> Sequence[str]:
        return replies


def _unstuffed(body: bytearray) -> bytes:
    """The mail without the final dot and without the dots that SMTP puts in front of dots."""
    return bytes(body[:-3].removeprefix(b".").replace(b"\r\n.", b"\r\n"))
