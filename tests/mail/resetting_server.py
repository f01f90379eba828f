"""A mail server that resets its one connection within a message, when a test calls `reset`, or hangs up after DATA."""

import socket
import ssl
import struct
import threading
from typing import Self

from snoozer.mail.smtp.url import Security, SmtpServer

REPLIES = {b"EHLO": b"250 x\r\n", b"MAIL": b"250 ok\r\n", b"RCPT": b"250 ok\r\n"}
LONG_ENOUGH = 20


class ResettingServer:
    """Takes everything but the final dot; with `reads_the_body` false it stops reading after DATA.

    `data` is its reply to DATA; with `hangs_up` it then ends its side of the connection.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        *,
        reads_the_body: bool = True,
        data: bytes = b"354 go\r\n",
        hangs_up: bool = False,
    ) -> None:
        self._tls = tls
        self._reads_the_body = reads_the_body
        self._replies = {**REPLIES, b"DATA": data}
        self._hangs_up = hangs_up
        self._reset_requested, self._reset_done = threading.Event(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._reset_requested.set()
        self._thread.join()
        self._listener.close()

    def smtp_server(self) -> SmtpServer:
        security: Security = "plain" if self._tls is None else "tls"
        return SmtpServer(host="localhost", port=self.port, security=security)

    def reset(self) -> None:
        """Once this returns, the client's system knows that the connection is gone."""
        self._reset_requested.set()
        self._reset_done.wait(LONG_ENOUGH)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rb") as lines:
            connection.sendall(b"220 x\r\n")
            verb = b""
            while verb != b"DATA":
                verb = lines.readline()[:4]
                connection.sendall(self._replies[verb])
            if self._hangs_up:
                connection.shutdown(socket.SHUT_WR)
            while self._reads_the_body and lines.readline() != b"end\r\n":
                pass
            self._reset_requested.wait(LONG_ENOUGH)
        self._reset_done.set()
