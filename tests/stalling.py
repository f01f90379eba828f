"""A way to the database that stalls: connections stay open, and what is sent on them is held back until it flows."""

import socket
from contextlib import suppress
from threading import Event, Thread
from typing import Self

from sqlalchemy import URL, make_url


class StallingWay:
    """A port on loopback that leads to the server of `url`; `url` of the way itself is `self.url`.

    While `asks` or `answers` is not set, nothing of that direction arrives; it does once it is set again, also what
    was sent by a client that closed its connection meanwhile.
    """

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.asks, self.answers = Event(), Event()
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.flow()
        Thread(target=self._open, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._door, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.flow()

    @property
    def url(self) -> str:
        there: URL = self._target.set(host="127.0.0.1", port=self._door.getsockname()[1])
        return there.render_as_string(hide_password=False)

    def stall(self) -> None:
        self.asks.clear()
        self.answers.clear()

    def flow(self) -> None:
        self.asks.set()
        self.answers.set()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection((self._target.host, self._target.port))
                self._sockets += [client, server]
                for source, sink, gate in ((client, server, self.asks), (server, client, self.answers)):
                    Thread(target=_carry, args=(source, sink, gate), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket, gate: Event) -> None:
    with suppress(OSError):
        while chunk := source.recv(65_536):
            gate.wait()
            sink.sendall(chunk)
    gate.wait()
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
