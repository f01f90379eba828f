"""A server that only greets, as IMAP servers do or otherwise, and keeps what it was sent."""

import contextlib
import socket
import ssl
import threading
from typing import Literal, Self

GREETING = b"* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n"


class Greeter:
    """Listens on loopback from `with` to its end; `received` is all that clients sent besides TLS."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, *, begin: Literal["tls", "plain"] = "tls", greeting: bytes = GREETING
    ) -> None:
        self._tls = tls
        self._begin = begin
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self.received: list[bytes] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exception: object) -> None:
        # A thread in accept() is not woken by close() alone.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if self._begin == "tls" and self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                connection.sendall(self._greeting)
                while line := connection.recv(4096):
                    self.received.append(line)
                    if line == b"a1 STARTTLS\r\n" and self._tls is not None:
                        connection.sendall(b"a1 OK begin\r\n")
                        self._tls.wrap_socket(connection, server_side=True).close()
                        return
                    connection.sendall(b"a1 BAD\r\n")
