"""A mail server that misbehaves on request, at any phase, over a real socket.

    with ScriptedServer(dot="451 4.3.0 later") as server:
        deliver(server.smtp_server(), …)

A script names, for each phase, the reply to give or one of the faults below. A list is used up one entry at a time
and its last entry stays. What was taken whole stands in `received`, what broke off before its dot in `abandoned`, and
what had come together with each final dot in `behind_dots`.
"""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from snoozer.mail.smtp.url import Security, SmtpServer

EOF = "<eof>"  # hang up instead of a reply, or after it where a reply stands in front
RESET = "<reset>"  # tear the connection down
STALL = "<stall>"  # silent until the server is closed
HOLD = "<hold>"  # silent until `go_on` is set; then the usual reply
SLOW = "<slow>"  # a second until the usual reply
DRIP = "<drip>"  # one byte every 50 ms, never a whole line
ENDLESS_LINES = "<endless lines>"
ENDLESS_LINE = "<endless line>"
GARBAGE = "hello there, this is no SMTP"

USUAL = {
    "banner": "220 scripted.example ready",
    "ehlo": "250-scripted.example\r\n250-SIZE 10000000\r\n250 8BITMIME",
    "starttls": "220 2.0.0 go ahead",
    "auth": "235 2.7.0 welcome",
    "mail": "250 2.1.0 OK",
    "rcpt": "250 2.1.5 OK",
    "data": "354 end with a dot",
    "dot": "250 2.0.0 OK: queued as 4XyZ12abc",
    "rset": "250 2.0.0 OK",
    "quit": "221 2.0.0 bye",
}

# The greeting of a server that takes several commands at once (RFC 2920).
PIPELINING = "250-scripted.example\r\n250-SIZE 10000000\r\n250-PIPELINING\r\n250 8BITMIME"


@dataclass(frozen=True)
class Received:
    """One mail that was taken: its envelope and its bytes, dots unstuffed, in the order of the final dots."""

    mail_from: str
    rcpt_to: tuple[str, ...]
    data: bytes


class ScriptedServer:
    """Listens on loopback from `with` to its end, one thread for each connection."""

    def __init__(
        self,
        script: Mapping[str, str | list[str]] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        security: Security = "plain",
        **replies: str | list[str],
    ) -> None:
        self.received: list[Received] = []
        self.abandoned: list[bytes] = []
        self.behind_dots: list[bytes] = []
        self.commands: list[str] = []
        self.connections = 0
        self.go_on = threading.Event()
        self._script = {
            phase: list(reply) if isinstance(reply, list) else [reply]
            for phase, reply in {**USUAL, **(script or {}), **replies}.items()
        }
        self._tls = tls
        self._security = security
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._sessions: list[_ScriptedSession] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def smtp_server(
        self, *, host: str = "localhost", user: str | None = None, password: str | None = None
    ) -> SmtpServer:
        return SmtpServer(host=host, port=self.port, security=self._security, user=user, password=password)

    def __enter__(self) -> Self:
        self._threads.append(threading.Thread(target=self._listen, daemon=True))
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.go_on.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=5)

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        session = _ScriptedSession(self, connection)
        self._sessions.append(session)
        try:
            if self._security == "tls" and self._tls is not None:
                session.secure(self._tls)
            session.run(self._tls)
        except (OSError, EOFError):
            pass
        finally:
            session.close()

    def next_reply(self, phase: str) -> str:
        with self._lock:
            replies = self._script[phase]
            return replies.pop(0) if len(replies) > 1 else replies[0]

    def answer(self, phase: str, reply: str) -> None:
        """From now on."""
        with self._lock:
            self._script[phase] = [reply]

    def hang_up(self) -> None:
        """End all connections, whatever their phase."""
        for session in self._sessions:
            session.hang_up()

    def wait_until_closing(self, seconds: float | None = None) -> bool:
        return self._closing.wait(seconds)


class _ScriptedSession:
    def __init__(self, server: ScriptedServer, connection: socket.socket) -> None:
        self._server = server
        self._socket = connection
        self._read = b""
        self._sender = ""
        self._recipients: list[str] = []

    def secure(self, tls: ssl.SSLContext) -> None:
        self._socket = tls.wrap_socket(self._socket, server_side=True)

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def run(self, tls: ssl.SSLContext | None) -> None:
        self._reply("banner")
        while True:
            line = self._line()
            self._server.commands.append(line)
            verb, _, rest = line.partition(" ")
            phase = {"HELO": "ehlo"}.get(verb.upper(), verb.lower())
            if phase not in USUAL:
                self._send("500 5.5.1 unknown")
                continue
            reply = self._reply(phase)
            if phase == "starttls" and reply.startswith("220") and tls is not None:
                self.secure(tls)
            elif phase == "auth" and reply.startswith("334"):
                self._login()
            elif phase == "mail" and reply.startswith("2"):
                self._sender, self._recipients = rest, []
            elif phase == "rcpt" and reply.startswith("2"):
                self._recipients.append(rest)
            elif phase == "data" and reply.startswith("354"):
                self._take()
            elif phase == "quit":
                return

    def _login(self) -> None:
        for _ in range(2):
            self._server.commands.append(self._line())
            reply = self._reply("auth")
            if not reply.startswith("334"):
                return

    def _take(self) -> None:
        lines: list[bytes] = []
        try:
            while (line := self._raw_line()) != b".\r\n":
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        except (EOFError, OSError):
            self._server.abandoned.append(b"".join(lines))
            raise
        self._server.received.append(Received(self._sender, tuple(self._recipients), b"".join(lines)))
        self._server.behind_dots.append(self._read)
        self._reply("dot")

    def _reply(self, phase: str) -> str:
        reply = self._server.next_reply(phase)
        if reply == EOF:
            raise EOFError
        if reply == RESET:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise EOFError
        if reply == HOLD:
            self._server.go_on.wait()
            reply = USUAL[phase]
        if reply == SLOW:
            self._server.wait_until_closing(1)
            reply = USUAL[phase]
        if reply == STALL:
            self._server.wait_until_closing()
            raise EOFError
        if reply in (DRIP, ENDLESS_LINE, ENDLESS_LINES):
            self._pour({DRIP: b"2", ENDLESS_LINE: b"2" * 65_536, ENDLESS_LINES: b"250-more\r\n" * 1_000}[reply], reply)
        self._send(reply.removesuffix(EOF))
        if reply.endswith(EOF):
            raise EOFError
        return reply

    def _pour(self, data: bytes, fault: str) -> None:
        while not self._server.wait_until_closing(0.05 if fault == DRIP else 0):
            self._socket.sendall(data)
        raise EOFError

    def _send(self, reply: str) -> None:
        self._socket.sendall(reply.encode() + b"\r\n")

    def _line(self) -> str:
        return self._raw_line().rstrip(b"\r\n").decode("utf-8", "replace")

    def _raw_line(self) -> bytes:
        while b"\n" not in self._read:
            data = self._socket.recv(65_536)
            if not data:
                raise EOFError
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line + b"\n"


def phases_in_order() -> Sequence[str]:
    """The phases of one delivery without TLS and login."""
    return ("banner", "ehlo", "mail", "rcpt", "data", "dot")
