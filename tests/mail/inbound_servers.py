"""Servers for incoming mail, and clients of them."""

import select
import smtplib
import socket
from collections.abc import Callable
from typing import Any

from snoozer.mailboxes.inbound.lmtp_server import InboundServer, IncomingMail

KEPT = "250 2.0.0 Kept"
StartServer = Callable[..., "RunningServer"]


class RunningServer:
    """A server that stores mail in a list, and clients of it."""

    def __init__(self, **changes: Any) -> None:
        self.stored: list[IncomingMail] = []
        settled: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": 0,
            "recipient_exists": lambda address: not address.startswith("unknown"),
            "deliver": self._store,
            "max_bytes": 25 * 1024 * 1024,
        }
        self.inbound = InboundServer(**(settled | changes))
        self.inbound.start()

    def _store(self, incoming: IncomingMail) -> list[str]:
        self.stored.append(incoming)
        return [KEPT] * len(incoming.rcpt_to)

    def client(self, kind: type[smtplib.SMTP] = smtplib.LMTP) -> smtplib.SMTP:
        return kind("127.0.0.1", self.inbound.port, local_hostname="test.example")

    def connect(self) -> "RawClient":
        return RawClient(self.inbound.port)


class RawClient:
    """The protocol line by line."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rb")
        assert self.read_reply().startswith("220 ")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_reply(self) -> str:
        """The last line of the next reply."""
        while True:
            line = self._file.readline().decode()
            if line[3:4] != "-":
                return line.rstrip("\r\n")

    def is_silent(self, *, seconds: float) -> bool:
        """True when nothing is received for so long."""
        return not select.select([self._socket], [], [], seconds)[0]

    def command(self, line: str) -> str:
        self.send(line.encode() + b"\r\n")
        return self.read_reply()

    def open_data(self, *recipients: str, greeting: str = "LHLO x") -> list[str]:
        lines = [greeting, "MAIL FROM:<a@b.example>", *(f"RCPT TO:<{recipient}>" for recipient in recipients), "DATA"]
        return [self.command(line) for line in lines]

    def close(self) -> None:
        self._file.close()
        self._socket.close()
