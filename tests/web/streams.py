"""Streams of events to open lists, as a browser reads them."""

from sqlalchemy import Engine

from snoozer.db import list_changes
from snoozer.db.list_changes import UNKNOWN
from tests.factories import Person
from tests.web.live_site import LiveSite


def snapshot(engine: Engine) -> str:
    with engine.begin() as connection:
        list_changes.begin(connection)
    with engine.connect() as connection:
        return list_changes.present(connection).snapshot


class Stream:
    """A browser's connection to /live."""

    def __init__(self, site: LiveSite, person: Person, *, seen: str = UNKNOWN, last: str | None = None) -> None:
        self._socket = site.connect()
        again = f"Last-Event-ID: {last}\r\n" if last else ""
        head = f"GET /live?seen={seen} HTTP/1.1\r\nHost: snoozer.example\r\n{again}"
        self._socket.sendall(f"{head}Cookie: snoozer_session={person.session}\r\n\r\n".encode())
        self.received = b""

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def until(self, words: str) -> str:
        """Reads until these words have come; returns what came before them, and them."""
        while words.encode() not in self.received:
            piece = self._socket.recv(65_536)
            assert piece, self.received
            self.received += piece
        before, found, self.received = self.received.partition(words.encode())
        return (before + found).decode()

    def to_the_end(self) -> str:
        for piece in iter(lambda: self._socket.recv(65_536), b""):
            self.received += piece
        return self.received.decode()
