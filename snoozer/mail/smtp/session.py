"""A sending session, as a state machine: the only place where a message leaves.

`smtplib.sendmail` hides on which side of the final dot it failed. Before the dot a message is provably not delivered;
after it only the server's reply decides. So there are three ways to fail, one exception each.

There is no task and no future per message: the server's replies advance it, by callbacks on the event loop.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from snoozer.mail import headers
from snoozer.mail.mime_writer import is_seven_bit
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.handshake import perform_handshake
from snoozer.mail.smtp.transport import FULL, POLL_INTERVAL, SILENT, ConnectionLost, Reply, Transport
from snoozer.mail.smtp.url import SmtpServer, is_loopback

# Replies about our configuration, whatever the command: login required, login too weak, TLS required.
_SETUP_CODES = frozenset({530, 534, 535, 538})
_EARLY_REPLY_SECONDS = 1.0
_EXPECTED = {"rset": (250,), "mail": (250,), "rcpt": (250, 251, 252), "data": (354,)}


class Mail(Protocol):
    """A message in delivery, and its owner's callbacks for each step, which must not raise.

    `body_deadline` is in seconds, for everything before the dot.
    """

    @property
    def mail_from(self) -> str: ...
    @property
    def rcpt_to(self) -> str: ...
    @property
    def message(self) -> bytes: ...
    @property
    def body_deadline(self) -> float: ...

    def on_begin(self, session: "SmtpSession") -> None:
        """The session begins to carry it."""

    def on_body(self, session: "SmtpSession") -> None:
        """Everything except the dot was handed over, and nothing is accepted yet: `send_dot` or `abort` the session."""

    def on_dot(self) -> None:
        """The dot was handed over."""

    def on_accepted(self, session: "SmtpSession", reply: Reply) -> None:
        """The server replied 250 to the dot."""

    def on_failed(self, session: "SmtpSession", error: Exception) -> None:
        """It was not accepted (ServerUnavailable, Rejected; ValueError when it is not 7 bit with CRLF), or may have
        been (NoReplyAfterData)."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A command whose reply is awaited in order."""

    phase: Literal["rset", "mail", "rcpt", "data", "body", "dot"]
    mail: Mail
    command: str = ""


class SmtpSession:
    """One connection to a mail server: one message after another, each by `begin` and then `send_dot`.

    With PIPELINING the next message begins with the dot of this one (RFC 2920 §3.1). `on_free` is called when another
    message can begin, and when none can any more (`usable` is False). `carried` counts the messages whose dot was sent.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._extensions: dict[str, str] = {}
        # The message before its dot, and the message whose dot is not answered yet.
        self._current: Mail | None = None
        self._dotted: Mail | None = None
        self._awaited: deque[_Step] = deque()
        self._unsent: deque[_Step] = deque()
        self._transaction_open = self._flushing = self._polling = self._advancing = False
        self._until = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self.on_free: Callable[[SmtpSession], None] = lambda session: None
        self.usable = True
        self.carried = 0
        self._wrote_at = 0.0

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
        session._transport.on_event = session._advance
        return session

    @property
    def is_free(self) -> bool:
        """True when another message can begin."""
        return self.usable and self._current is None and self._dotted is None and not self._awaited

    @property
    def waiting_since(self) -> float:
        """When it wrote data that the server has not answered or taken yet (monotonic); `inf` if there is none."""
        return self._wrote_at if self._awaited or self._flushing else float("inf")

    @property
    def has_follower(self) -> bool:
        """Whether a message waits behind the dot of another one."""
        return self._current is not None and self._dotted is not None

    @property
    def pipelines(self) -> bool:
        """True if the next message may begin with this one's dot: the server has not refused this one already."""
        return "PIPELINING" in self._extensions and not self._transport.has_data

    def begin(self, mail: Mail) -> None:
        """On a free session: MAIL, RCPT, DATA and the whole body, dot-stuffed, without the final dot. Nothing is
        accepted yet; `on_body` or `on_failed` follows, perhaps at once."""
        commands = self._prepare(mail)
        if commands:
            self._write(commands)
            self._advance()
        else:
            self.on_free(self)

    def send_dot(self, *, deadline: float, following: Mail | None = None) -> None:
        """Sends the final dot of the message whose `on_body` was called, and if the server pipelines, the beginning of
        the `following` message in the same write. `on_accepted` or `on_failed` follows within `deadline` seconds.

        If the server sent something before the dot, the dot is not sent: ServerUnavailable or Rejected, and the message
        is not delivered.
        """
        mail = self._current
        if mail is None or self._flushing:
            raise RuntimeError("There is no message to end.")
        if self._transport.has_data:
            self._awaited.append(_Step("body", mail))
            self._set_deadline(_EARLY_REPLY_SECONDS)
            if following is not None:
                following.on_failed(self, ServerUnavailable("the mail server ended the connection"))
        elif self._transport.has_unread:
            # It is read within a few turns of the loop; under TLS it may be no data for us.
            self._loop.call_soon(lambda: self.send_dot(deadline=deadline, following=following))
            return
        else:
            self._current, self._dotted, self._transaction_open = None, mail, False
            self.carried += 1
            self._awaited.append(_Step("dot", mail))
            self._write(b".\r\n" + (b"" if following is None else self._prepare(following)))
            self._set_deadline(deadline)
            mail.on_dot()
        self._advance()

    def abort(self, error: ServerUnavailable | None = None) -> None:
        """Gives up the message before its dot, so that the server must discard it; it fails with `error`, if given. The
        connection is dropped, once the reply to an earlier dot has arrived. Never raises."""
        mail, self._current = self._current, None
        self._unsent.clear()
        if self._dotted is None:
            self._end()
        if mail is not None and error is not None:
            mail.on_failed(self, error)

    def quit(self) -> None:
        """Sends QUIT and closes, without waiting for the reply. Never raises."""
        self.usable = False
        self._set_deadline(None)
        self._transport.send_and_close(b"QUIT\r\n")

    def _prepare(self, mail: Mail) -> bytes:
        """Take the message; return the commands to write now, empty if it failed at once."""
        try:
            steps = self._steps(mail)
        except (Rejected, ServerUnavailable, ValueError) as error:
            mail.on_failed(self, error)
            return b""
        self._current, self._transaction_open = mail, True
        mail.on_begin(self)
        self._unsent.extend(steps)
        self._set_deadline(mail.body_deadline)
        return self._next_commands()

    def _steps(self, mail: Mail) -> list[_Step]:
        if not is_seven_bit(mail.message):
            raise ValueError("A mail goes out as 7 bit with CRLF at the end of each line.")
        sender = headers.mail_from_address(mail.mail_from)
        if not sender:
            raise ServerUnavailable("MAIL_FROM is not an address that can be sent from")
        recipient, parameters = self._recipient(mail.rcpt_to)
        if "SIZE" in self._extensions:
            parameters = f" SIZE={len(mail.message)}{parameters}"
        reset = [_Step("rset", mail, "RSET")] if self._transaction_open else []
        return [
            *reset,
            _Step("mail", mail, f"MAIL FROM:<{sender}>{parameters}"),
            _Step("rcpt", mail, f"RCPT TO:<{recipient}>"),
            _Step("data", mail, "DATA"),
        ]

    def _recipient(self, rcpt_to: str) -> tuple[str, str]:
        """The address and the parameters that MAIL needs for it. No unchecked text is ever part of a command."""
        plain = headers.ascii_address(rcpt_to)
        if plain != rcpt_to and headers.address(rcpt_to) != rcpt_to:
            raise Rejected("rcpt", Reply(553, ("5.1.3 This is no address that SMTP can carry.",)), was_asked=False)
        if plain is not None:
            return plain, ""
        if "SMTPUTF8" not in self._extensions:
            raise Rejected("rcpt", Reply(553, ("5.6.7 The mail server does not offer SMTPUTF8.",)), was_asked=False)
        return rcpt_to, " SMTPUTF8"

    def _next_commands(self) -> bytes:
        """The commands to write now: all at once if the server pipelines, else one."""
        steps = [self._unsent.popleft() for _ in range(len(self._unsent) if "PIPELINING" in self._extensions else 1)]
        self._awaited.extend(steps)
        return "".join(f"{step.command}\r\n" for step in steps).encode()

    def _advance(self) -> None:
        """Handle received data: called for every event of the connection, and after every write."""
        if self._advancing:
            return
        self._advancing = True
        was_busy = not self.is_free
        try:
            while self.usable and self._take_step():
                pass
        except ConnectionLost as lost:
            self._end(str(lost))
        finally:
            self._advancing = False
        if self.is_free:
            self._set_deadline(None)
        if not self.usable or (was_busy and self.is_free):
            self.on_free(self)

    def _take_step(self) -> bool:
        """Handle one reply, or the end of the body; return whether there was any. Raises ConnectionLost."""
        if self._awaited:
            reply = self._transport.next_reply()
            if reply is not None:
                self._on_reply(self._awaited.popleft(), reply)
            return reply is not None
        if self._flushing:
            return self._flushed()
        if self._current is None and self._transport.has_data:
            self._end()  # A server that closes an idle connection, or says that it will.
        return False

    def _flushed(self) -> bool:
        """Whether all of the body was handed over; then `on_body` is called. Raises ConnectionLost."""
        mail = self._current
        try:
            if not self._transport.is_flushed:
                if not self._polling:
                    self._polling = True
                    self._loop.call_later(POLL_INTERVAL, self._poll)
                return False
        except ConnectionLost:
            if mail is not None and (reply := self._early_reply()):
                self._on_reply(_Step("body", mail), reply)
                return True
            raise
        self._flushing = False
        self._set_deadline(None)
        if mail is not None:
            mail.on_body(self)
        return True

    def _poll(self) -> None:
        self._polling = False
        self._advance()

    def _early_reply(self) -> Reply | None:
        try:
            return self._transport.next_reply()
        except ConnectionLost:
            return None

    def _on_reply(self, step: _Step, reply: Reply) -> None:
        if step.phase == "dot":
            self._on_dot_reply(step.mail, reply)
        elif step.mail is not self._current:
            self._on_unwanted_reply(step, reply)
        elif reply.code in _EXPECTED.get(step.phase, ()):
            if step.phase == "data":
                self._write_body(step.mail)
            elif self._unsent:
                self._write(self._next_commands())
        else:
            self._on_refusal(step, self._classify(step.phase, reply))

    def _on_dot_reply(self, mail: Mail, reply: Reply) -> None:
        self._dotted = None
        if reply.code == 250:
            mail.on_accepted(self, reply)
        elif reply.code >= 400:
            mail.on_failed(self, Rejected("dot", reply))
        else:
            unclear = f"after the end of the mail, the server answered {reply.code}, which is neither yes nor no"
            mail.on_failed(self, NoReplyAfterData(unclear))
        if reply.code < 250 or 251 <= reply.code < 400 or reply.code == 421:
            self._end(f"the mail server answered the mail before with {reply.code}")
        elif self._current is not None:
            self._set_deadline(self._current.body_deadline)

    def _on_refusal(self, step: _Step, error: Rejected | ServerUnavailable) -> None:
        """The message is over; replies to commands that were pipelined are still to come."""
        self._current = None
        self._unsent.clear()
        if isinstance(error, ServerUnavailable) or step.phase == "body":
            self._end()
        step.mail.on_failed(self, error)

    def _on_unwanted_reply(self, step: _Step, reply: Reply) -> None:
        """A reply to a command of a message that is over. If the server waits for its body, we send no more."""
        if reply.code == 421 or (step.phase == "data" and reply.code < 400):
            self._end()

    def _classify(self, phase: str, reply: Reply) -> Rejected | ServerUnavailable:
        """4xx and 5xx are about this message, except 421 and replies about our configuration."""
        if phase == "rset" or reply.code == 421 or reply.code in _SETUP_CODES or reply.code < 400:
            return ServerUnavailable.from_reply(f"answered {phase.upper()} with", reply)
        return Rejected(phase, reply)

    def _write_body(self, mail: Mail) -> None:
        stuffed = mail.message.replace(b"\r\n.", b"\r\n..")
        if stuffed.startswith(b"."):
            stuffed = b"." + stuffed
        if not stuffed.endswith(b"\r\n"):
            stuffed += b"\r\n"
        self._flushing = True
        self._write(stuffed)

    def _write(self, data: bytes) -> None:
        # If the connection has ended, `_advance` notices.
        with suppress(ConnectionLost):
            if data:
                self._wrote_at = self._loop.time()
                self._transport.write(data)

    def _end(self, reason: str = "the connection was dropped") -> None:
        """Close the connection; the messages that it carried fail, each on its side of the dot."""
        dotted, current, early = self._dotted, self._current, bool(self._awaited and self._awaited[0].phase == "body")
        self._dotted = self._current = None
        self._awaited.clear()
        self._unsent.clear()
        self.usable = self._flushing = False
        self._set_deadline(None)
        self._transport.close()
        if dotted is not None:
            dotted.on_failed(self, NoReplyAfterData(f"after the end of the mail, {reason}"))
        if current is not None:
            current.on_failed(self, ServerUnavailable(f"before the end of the mail, {reason}" if early else reason))

    def _set_deadline(self, seconds: float | None) -> None:
        """Move the deadline; restart the timer only if it would fire too late."""
        self._until = float("inf") if seconds is None else self._loop.time() + seconds
        if seconds is not None and (self._timer is None or self._timer.when() > self._until):
            self._start_timer()
        elif not self.usable and self._timer is not None:
            self._timer.cancel()

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._until, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._loop.time() < self._until:
            if self._until < float("inf"):
                self._start_timer()
        elif self.usable:
            self._expire()
            self.on_free(self)

    def _expire(self) -> None:
        """The server may have refused the body, and stopped reading it."""
        mail, reply = self._current, self._early_reply() if self._flushing else None
        if mail is not None and reply is not None:
            self._on_reply(_Step("body", mail), reply)
        else:
            self._end(FULL if self._flushing else SILENT)
