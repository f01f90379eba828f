"""A sending session, phase by phase: the only place where a message leaves.

`smtplib.sendmail` hides on which side of the final dot it failed. Before the dot a message is provably not delivered;
after it only the server's reply decides. So there are three ways to fail, one exception each.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Self

from snoozer.mime import headers
from snoozer.mime.mime_writer import is_seven_bit
from snoozer.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.smtp.handshake import perform_handshake
from snoozer.smtp.transport import ConnectionLost, Reply, Transport
from snoozer.smtp.url import SmtpServer, is_loopback

# Replies about our configuration, whatever the command: login required, login too weak, TLS required.
_SETUP_CODES = frozenset({530, 534, 535, 538})


class SmtpSession:
    """One connection to a mail server: one message after another, each by `send_body` and then `send_dot`.

    `usable` is False once nothing more can be sent: after ServerUnavailable, NoReplyAfterData or a 421. Deadlines are
    seconds for the whole phase, however the server spreads its bytes.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._extensions: dict[str, str] = {}
        self._mail_open = False
        self.usable = True

    @classmethod
    async def open(cls, server: SmtpServer, *, helo: str, deadline: float) -> Self:
        """Connects, starts TLS and logs in. Raises ServerUnavailable, whatever goes wrong."""
        until = time.monotonic() + deadline
        if server.user is not None and server.security == "plain" and not is_loopback(server.host):
            raise ServerUnavailable("the password would travel unprotected to another machine")
        session: Self | None = None
        try:
            session = cls(await Transport.connect(server.host, server.port, until=until))
            session._extensions = await perform_handshake(session._transport, server, helo=helo, until=until)
        except BaseException as error:
            if session is not None:
                session.abort()
            if isinstance(error, ConnectionLost):
                raise ServerUnavailable(str(error)) from error
            raise
        return session

    async def send_body(self, *, mail_from: str, rcpt_to: str, message: bytes, deadline: float) -> None:
        """MAIL, RCPT, DATA and the whole body, dot-stuffed, without the final dot: nothing is accepted yet.

        Raises ServerUnavailable or Rejected; ValueError when the message is not 7 bit with CRLF.
        """
        if not is_seven_bit(message):
            raise ValueError("A mail goes out as 7 bit with CRLF at the end of each line.")
        until = time.monotonic() + deadline
        sender = headers.mail_from_address(mail_from)
        if not sender:
            raise ServerUnavailable("MAIL_FROM is not an address that can be sent from")
        recipient, parameters = self._recipient(rcpt_to)
        if "SIZE" in self._extensions:
            parameters = f" SIZE={len(message)}{parameters}"
        try:
            if self._mail_open:
                await self._command("RSET", phase="rset", expected=(250,), until=until)
            self._mail_open = True
            await self._envelope(f"MAIL FROM:<{sender}>{parameters}", f"RCPT TO:<{recipient}>", until=until)
            await self._send_body(message, until=until)
        except ConnectionLost as lost:
            self.abort()
            raise ServerUnavailable(str(lost)) from lost

    async def send_dot(self, *, deadline: float = 600, on_dot: Callable[[], None] | None = None) -> Reply:
        """Sends the final dot, calls `on_dot`, and returns the 250.

        Raises Rejected for 4xx, also 421, and 5xx; NoReplyAfterData for anything else after the dot. A server that
        sent something before the dot gets none: ServerUnavailable or Rejected, and the message is not delivered.
        """
        until = time.monotonic() + deadline
        if await self._transport.has_data():
            await self._read_early_reply(until=until)
        try:
            await self._transport.send(b".\r\n", until=until)
            if on_dot is not None:
                on_dot()
            reply = await self._transport.read_reply(until=until)
        except ConnectionLost as lost:
            self.abort()
            raise NoReplyAfterData(f"after the end of the mail, {lost}") from lost
        except BaseException:
            self.abort()
            raise
        self._mail_open = False
        if reply.code == 250:
            return reply
        if reply.code == 421:
            self.abort()
        if reply.code >= 400:
            raise Rejected("dot", reply)
        self.abort()
        raise NoReplyAfterData(
            f"after the end of the mail, the server answered {reply.code}, which is neither yes nor no"
        )

    def abort(self) -> None:
        """Drops the connection. Without the final dot the server must discard the message. Never raises."""
        self.usable = False
        self._transport.close()

    def quit(self) -> None:
        """Sends QUIT and closes, without waiting for the reply. Never raises."""
        self.usable = False
        self._transport.send_and_close(b"QUIT\r\n")

    async def _command(self, command: str | None, *, phase: str, expected: tuple[int, ...], until: float) -> None:
        """One command, None when it was sent already, and its reply. Raises Rejected or ServerUnavailable."""
        if command is not None:
            await self._transport.send(f"{command}\r\n".encode(), until=until)
        reply = await self._transport.read_reply(until=until)
        if reply.code not in expected:
            raise self._classify(phase, reply)

    async def _envelope(self, mail: str, rcpt: str, *, until: float) -> None:
        """MAIL, RCPT and DATA: all at once where the server offers PIPELINING (RFC 2920), else one by one.

        A refusal of pipelined commands leaves unread replies behind, so the connection cannot be used again.
        """
        steps = (("mail", mail, (250,)), ("rcpt", rcpt, (250, 251, 252)), ("data", "DATA", (354,)))
        pipelined = "PIPELINING" in self._extensions
        if pipelined:
            await self._transport.send("".join(f"{command}\r\n" for _, command, _ in steps).encode(), until=until)
        try:
            for phase, command, expected in steps:
                await self._command(None if pipelined else command, phase=phase, expected=expected, until=until)
        except Rejected:
            if pipelined:
                self.abort()
            raise

    def _classify(self, phase: str, reply: Reply) -> Rejected | ServerUnavailable:
        """4xx and 5xx are about this message, except 421 and replies about our configuration."""
        if phase == "rset" or reply.code == 421 or reply.code in _SETUP_CODES or reply.code < 400:
            self.abort()
            return ServerUnavailable.from_reply(f"answered {phase.upper()} with", reply)
        return Rejected(phase, reply)

    def _recipient(self, rcpt_to: str) -> tuple[str, str]:
        """The address and what MAIL must add for it. No unchecked text is ever part of a command."""
        plain = headers.ascii_address(rcpt_to)
        if plain != rcpt_to and headers.address(rcpt_to) != rcpt_to:
            raise Rejected("rcpt", Reply(553, ("5.1.3 This is no address that SMTP can carry.",)))
        if plain is not None:
            return plain, ""
        if "SMTPUTF8" not in self._extensions:
            raise Rejected("rcpt", Reply(553, ("5.6.7 The mail server takes no such address.",)))
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
        """The server sent something, or hung up, within the message: it gets no dot. Always raises."""
        try:
            reply = await self._transport.read_reply(until=until)
        except ConnectionLost as lost:
            raise ServerUnavailable(f"before the end of the mail, {lost}") from lost
        finally:
            self.abort()
        raise self._classify("body", reply)


def deliver(
    server: SmtpServer, *, helo: str, mail_from: str, rcpt_to: str, message: bytes, deadline: float = 60
) -> Reply:
    """One message from connect to 250, without a ledger. Raises ServerUnavailable, Rejected or NoReplyAfterData."""

    async def converse() -> Reply:
        session = await SmtpSession.open(server, helo=helo, deadline=deadline)
        try:
            await session.send_body(mail_from=mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
            return await session.send_dot(deadline=deadline)
        finally:
            session.quit()

    return asyncio.run(converse())


def check_reachable(server: SmtpServer, *, helo: str, deadline: float) -> None:
    """Connects, logs in and quits. Raises ServerUnavailable."""

    async def connect() -> None:
        (await SmtpSession.open(server, helo=helo, deadline=deadline)).quit()

    asyncio.run(connect())
