"""The one place that opens a sending connection, phase by phase.

`smtplib.sendmail` hides on which side of the final dot it failed. Everything before the dot is provably undelivered;
after it only the server's reply decides. So there are three ways to fail, and each says which it was.
"""

import asyncio
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Self

from snoozer.mime import headers
from snoozer.mime import mail_from as author
from snoozer.mime.mime_writer import is_seven_bit
from snoozer.smtp.errors import (
    NoReplyAfterData,
    Rejected,
    Reply,
    ServerUnavailable,
    accepted_by,
    rejected_by,
    unavailable_by,
)
from snoozer.smtp.handshake import perform_handshake
from snoozer.smtp.transport import ConnectionLost, ServerReply, Transport
from snoozer.smtp.url import SmtpServer, is_loopback

__all__ = ["NoReplyAfterData", "Rejected", "Reply", "ServerUnavailable", "SmtpSession", "check_reachable", "deliver"]

# Replies that speak of how we are set up, whatever they answer: login wanted, login too weak, TLS wanted.
_SETUP_CODES = frozenset({530, 534, 535, 538})


class SmtpSession:
    """One connection to the relay: one mail after another, each as `hand_over_body` then `finish`.

    After a 250, 4xx or 5xx it can carry the next mail; after RelayDown or NoReply it is spent. Deadlines are in
    seconds for the whole phase, however the server spreads its bytes.
    """

    def __init__(self, wire: Transport) -> None:
        self._transport = wire
        self._extensions: dict[str, str] = {}
        self._mail_open = False
        self._usable = True

    @classmethod
    async def open(cls, relay: SmtpServer, *, helo: str, deadline: float) -> Self:
        """Connect, greet, protect and log in. Whatever goes wrong is RelayDown."""
        until = time.monotonic() + deadline
        if relay.user is not None and relay.security == "plain" and not is_loopback(relay.host):
            raise ServerUnavailable("the password would travel unprotected to another machine")
        session: Self | None = None
        try:
            session = cls(await Transport.connect(relay.host, relay.port, until=until))
            session._extensions = await perform_handshake(session._transport, relay, helo=helo, until=until)
        except BaseException as error:
            if session is not None:
                session.abort()
            if isinstance(error, ConnectionLost):
                raise ServerUnavailable(error.what) from error
            raise
        return session

    @property
    def usable(self) -> bool:
        """False once nothing more can be sent here."""
        return self._usable

    async def send_body(self, *, mail_from: str, rcpt_to: str, message: bytes, deadline: float) -> None:
        """MAIL, RCPT, DATA and the whole body, dot-stuffed, but without the final dot: the server has no mail yet.

        RelayDown or Refused when it does not get that far. ValueError when the message is not 7 bit with CRLF.
        """
        if not is_seven_bit(message):
            raise ValueError("A mail goes out as 7 bit with CRLF at the end of each line.")
        until = time.monotonic() + deadline
        sender = _sender(mail_from)
        recipient, parameters = self._recipient(rcpt_to)
        if "SIZE" in self._extensions:
            parameters = f" SIZE={len(message)}{parameters}"
        try:
            if self._mail_open:
                await self._command("RSET", phase="rset", expected=(250,), until=until)
            self._mail_open = True
            await self._envelope(f"MAIL FROM:<{sender}>{parameters}", f"RCPT TO:<{recipient}>", until=until)
            await self._send_body(message, until=until)
        except ConnectionLost as broken:
            self.abort()
            raise ServerUnavailable(broken.what) from broken

    async def send_dot(self, *, deadline: float = 600, on_dot: Callable[[], None] | None = None) -> Reply:
        """Send the final dot, call `on_dot`, and wait for the reply.

        250 is a Reply. 4xx, 421 among them, and 5xx are Refused. Anything else after the dot is NoReply. A server that
        hung up or spoke before the dot gets none: RelayDown or Refused, and the mail is provably undelivered.
        """
        until = time.monotonic() + deadline
        if await self._transport.has_data():
            await self._read_early_reply(until=until)
        try:
            await self._transport.send(b".\r\n", until=until)
            if on_dot is not None:
                on_dot()
            answer = await self._transport.read_reply(until=until)
        except ConnectionLost as broken:
            self.abort()
            raise NoReplyAfterData(f"after the end of the mail, {broken.what}") from broken
        except BaseException:
            self.abort()
            raise
        self._mail_open = False
        if answer.code == 250:
            return accepted_by(answer)
        if answer.code == 421:
            self.abort()
        if answer.code >= 400:
            raise rejected_by("dot", answer)
        self.abort()
        raise NoReplyAfterData(
            f"after the end of the mail, the server answered {answer.code}, which is neither yes nor no"
        )

    def abort(self) -> None:
        """Drop the connection. Without the final dot the server must discard the mail. Never raises."""
        self._usable = False
        self._transport.close()

    def quit(self) -> None:
        """Say goodbye and let go. What the server makes of it does not matter. Never raises."""
        self._usable = False
        self._transport.send_and_close(b"QUIT\r\n")

    async def _command(self, command: str | None, *, phase: str, expected: tuple[int, ...], until: float) -> None:
        """One exchange for a mail: 4xx and 5xx are about this mail, but for 421 and what speaks of our set-up.

        No command when it was sent already.
        """
        if command is not None:
            await self._transport.send(f"{command}\r\n".encode(), until=until)
        answer = await self._transport.read_reply(until=until)
        if answer.code not in expected:
            raise self._classify(phase, answer)

    async def _envelope(self, mail: str, rcpt: str, *, until: float) -> None:
        """MAIL, RCPT and DATA: in one piece where the server offers PIPELINING (RFC 2920), else one by one.

        A refusal in one piece leaves answers behind that nobody reads, so the connection is of no more use.
        """
        steps = (("mail", mail, (250,)), ("rcpt", rcpt, (250, 251, 252)), ("data", "DATA", (354,)))
        at_once = "PIPELINING" in self._extensions
        if at_once:
            await self._transport.send("".join(f"{command}\r\n" for _, command, _ in steps).encode(), until=until)
        try:
            for phase, command, expected in steps:
                await self._command(None if at_once else command, phase=phase, expected=expected, until=until)
        except Rejected:
            if at_once:
                self.abort()
            raise

    def _classify(self, phase: str, answer: ServerReply) -> Rejected | ServerUnavailable:
        if phase == "rset" or answer.code == 421 or answer.code in _SETUP_CODES or answer.code < 400:
            self.abort()
            return unavailable_by(f"answered {phase.upper()} with", answer)
        return rejected_by(phase, answer)

    def _recipient(self, rcpt_to: str) -> tuple[str, str]:
        """The address for the wire and what MAIL must add for it. Nothing unchecked ever stands in a command."""
        plain = headers.ascii_address(rcpt_to)
        if plain != rcpt_to and headers.address(rcpt_to) != rcpt_to:
            raise Rejected(phase="rcpt", code=553, enhanced="5.1.3", text="This is no address that SMTP can carry.")
        if plain is not None:
            return plain, ""
        if "SMTPUTF8" not in self._extensions:
            raise Rejected(phase="rcpt", code=553, enhanced="5.6.7", text="The mail server takes no such address.")
        return rcpt_to, " SMTPUTF8"

    async def _send_body(self, message: bytes, *, until: float) -> None:
        stuffed = message.replace(b"\r\n.", b"\r\n..")
        if stuffed.startswith(b"."):
            stuffed = b"." + stuffed
        if not stuffed.endswith(b"\r\n"):
            stuffed += b"\r\n"
        try:
            await self._transport.send(stuffed, until=until)
        except ConnectionLost:
            if await self._transport.has_data():
                await self._read_early_reply(until=time.monotonic() + 1)
            raise

    async def _read_early_reply(self, *, until: float) -> None:
        """The server spoke in the middle of the mail: a refusal, or the end of the connection. It gets no dot."""
        try:
            answer = await self._transport.read_reply(until=until)
        except ConnectionLost as broken:
            raise ServerUnavailable(f"before the end of the mail, {broken.what}") from broken
        finally:
            self.abort()
        raise self._classify("body", answer)


@lru_cache(maxsize=8)
def _sender(mail_from: str) -> str:
    sender = author.address(mail_from)
    if not sender:
        raise ServerUnavailable("MAIL_FROM is not an address that can be sent from")
    return sender


def deliver(
    relay: SmtpServer, *, helo: str, mail_from: str, rcpt_to: str, message: bytes, deadline: float = 60
) -> Reply:
    """One mail from connect to 250, for mails that need no ledger. Raises RelayDown, Refused or NoReply."""

    async def converse() -> Reply:
        session = await SmtpSession.open(relay, helo=helo, deadline=deadline)
        try:
            await session.send_body(mail_from=mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
            return await session.send_dot(deadline=deadline)
        finally:
            session.quit()

    return asyncio.run(converse())


def check_reachable(relay: SmtpServer, *, helo: str, deadline: float) -> None:
    """Connect, greet, log in and part, to see that it can be done. Raises RelayDown."""

    async def knock() -> None:
        (await SmtpSession.open(relay, helo=helo, deadline=deadline)).quit()

    asyncio.run(knock())
