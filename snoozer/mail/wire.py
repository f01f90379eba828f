"""A line of bytes to a mail server whose every wait has an absolute end.

A socket's own timeout starts anew with each byte, so a server that drips could hold a worker for ever. Here each read
and write gets only what is left until the deadline, and replies are bounded in lines and bytes.
"""

import re
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

MOST_REPLY_BYTES = 16_384
MOST_REPLY_LINES = 100

_LINE = re.compile(rb"([2-5][0-9]{2})([ -]|$)(.*)", re.DOTALL)

Addresses = Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]]


class Broken(Exception):
    """The connection ended, went silent past its deadline, or said something that is no SMTP."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True)
class Answer:
    """One reply of the server: its code and its lines without the codes, as they came."""

    code: int
    lines: tuple[str, ...]


class Wire:
    """One TCP or TLS connection. Deadlines are points on `time.monotonic()`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._read = bytearray()

    @classmethod
    def connect(cls, host: str, port: int, *, until: float) -> Self:
        """Try each address of the host in turn. Broken when none answers in time."""
        problem = "the mail server's name has no address"
        for family, kind, protocol, _, address in _resolved(host, port, until=until):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(_left(until))
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return cls(connection)
            except TimeoutError:
                connection.close()
                problem = "the mail server did not take the connection in time"
            except OSError as error:
                connection.close()
                refused = isinstance(error, ConnectionRefusedError)
                problem = f"the mail server {'refused the connection' if refused else 'could not be reached'}"
        raise Broken(problem)

    def secure(self, host: str, *, until: float) -> None:
        """Start TLS with the system's certificate authorities. Broken when the certificate does not hold."""
        if self._read:
            raise Broken("the mail server sent something unprotected in front of TLS")
        try:
            self._socket.settimeout(_left(until))
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise Broken(f"the mail server's certificate was not accepted: {error.verify_message}") from error
        except TimeoutError as error:
            raise Broken("TLS with the mail server was not ready in time") from error
        except (OSError, ValueError) as error:
            raise Broken("TLS with the mail server failed") from error

    def send(self, data: bytes, *, until: float) -> None:
        """Every byte, or Broken."""
        view = memoryview(data)
        try:
            while view:
                self._socket.settimeout(_left(until))
                view = view[self._socket.send(view) :]
        except TimeoutError as error:
            raise Broken("the mail server took nothing more until the deadline") from error
        except (OSError, ValueError) as error:
            raise Broken("the connection to the mail server broke") from error

    def answer(self, *, until: float) -> Answer:
        """The next reply. Broken for EOF, silence, a line without a code, two codes in one reply, or too much."""
        lines: list[str] = []
        code = b""
        size = 0
        while True:
            line = self._line(until=until)
            size += len(line)
            found = _LINE.fullmatch(line)
            if found is None or (code and found.group(1) != code):
                raise Broken("the mail server's reply was no SMTP")
            code = found.group(1)
            lines.append(found.group(3).decode("utf-8", "replace"))
            if found.group(2) != b"-":
                return Answer(int(code), tuple(lines))
            if len(lines) >= MOST_REPLY_LINES or size > MOST_REPLY_BYTES:
                raise Broken("the mail server's reply did not end")

    def has_spoken(self) -> bool:
        """True when the server has said something, or hung up, without being asked. Waits for nothing."""
        if self._read:
            return True
        try:
            self._socket.settimeout(0)
            self._read += self._socket.recv(4_096)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except (OSError, ValueError):
            return True
        return True

    def close(self) -> None:
        """Let go at once. Never raises."""
        try:
            self._socket.close()
        except OSError:
            return

    def _line(self, *, until: float) -> bytes:
        while (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MOST_REPLY_BYTES:
                raise Broken("the mail server's reply did not end")
            try:
                self._socket.settimeout(_left(until))
                data = self._socket.recv(4_096)
            except TimeoutError as error:
                raise Broken("the mail server gave no answer in time") from error
            except (OSError, ValueError) as error:
                raise Broken("the connection to the mail server broke") from error
            if not data:
                raise Broken("the mail server hung up")
            self._read += data
        line = bytes(self._read[:end]).removesuffix(b"\r")
        del self._read[: end + 1]
        return line


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _resolved(host: str, port: int, *, until: float) -> Addresses:
    """The host's addresses. The resolver knows no deadline, so it is asked in a thread that may be left behind."""
    found: list[Addresses] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            found.append([])

    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(max(0.0, until - time.monotonic()))
    if not found:
        raise Broken("the mail server's name was not resolved in time")
    return found[0]
