"""Doors for mail that comes in, and ways to talk to them."""

import smtplib
import socket
from collections.abc import Callable
from typing import Any

from snoozer.inbound.lmtp_server import InboundServer, IncomingMail

KEPT = "250 2.0.0 Kept"
Opening = Callable[..., "Opened"]


class Opened:
    """A door with a list behind it, and ways to talk to it."""

    def __init__(self, **changes: Any) -> None:
        self.kept: list[IncomingMail] = []
        settled: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": 0,
            "recipient_exists": lambda address: not address.startswith("nobody"),
            "deliver": self._keep,
            "max_bytes": 25 * 1024 * 1024,
        }
        self.door = InboundServer(**(settled | changes))
        self.door.start()

    def _keep(self, incoming: IncomingMail) -> list[str]:
        self.kept.append(incoming)
        return [KEPT] * len(incoming.rcpt_to)

    def client(self, kind: type[smtplib.SMTP] = smtplib.LMTP) -> smtplib.SMTP:
        return kind("127.0.0.1", self.door.port, local_hostname="test.example")

    def talk(self) -> "Talk":
        return Talk(self.door.port)


class Talk:
    """The protocol by hand."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._file = self._socket.makefile("rb")
        assert self.hears().startswith("220 ")

    def says(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hears(self) -> str:
        """The last line of the next reply."""
        while True:
            line = self._file.readline().decode()
            if line[3:4] != "-":
                return line.rstrip("\r\n")

    def asks(self, line: str) -> str:
        self.says(line.encode() + b"\r\n")
        return self.hears()

    def opens_data(self, *recipients: str, greeting: str = "LHLO x") -> list[str]:
        lines = [greeting, "MAIL FROM:<a@b.example>", *(f"RCPT TO:<{recipient}>" for recipient in recipients), "DATA"]
        return [self.asks(line) for line in lines]

    def close(self) -> None:
        self._file.close()
        self._socket.close()
