"""IDLE (RFC 2177) for a selector: events are read without waiting, and a dead connection is noticed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.session import Session

Kind = Literal["exists", "expunged", "flags", "folder", "other"]

_KINDS: dict[bytes, Kind] = {b"EXISTS": "exists", b"EXPUNGE": "expunged", b"FETCH": "flags"}
_UNNUMBERED: dict[bytes, Kind] = {b"VANISHED": "expunged", b"STATUS": "folder", b"LIST": "folder"}
_NUMBERED = re.compile(rb"\* (\d{1,10}) ([A-Z]+)\b(.*)\Z", re.IGNORECASE | re.DOTALL)
_FLAGS = re.compile(rb"\bFLAGS \(([^()]*)\)", re.IGNORECASE)


@dataclass(frozen=True)
class Event:
    """One line that the server sent on its own. `number` is the message's sequence number, or the count of messages;
    `flags` are its flags now, in lower case. `folder` is about a folder that is not selected."""

    kind: Kind
    number: int | None = None
    deleted: bool = False
    flags: frozenset[str] = frozenset()


class Idle:
    """From IDLE to DONE on one session. Raises ImapError."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._awaits_name = False
        self._tag, before = session.begin("IDLE")
        # Some servers send changes before "+".
        self._unread = [line for line in before if _is_news(line)]

    @property
    def has_input(self) -> bool:
        """Whether input has arrived that a selector will not report."""
        return bool(self._unread) or self._session.transport.has_input()

    def read(self) -> list[Event]:
        """Return the events received so far, without waiting. Raise ImapError if the server or the
        connection is gone."""
        lines, self._unread = self._unread, []
        return self._events([*lines, *self._session.transport.available_lines()])

    def end(self) -> list[Event]:
        """End IDLE and return the events received until then."""
        transport = self._session.transport
        transport.begin_reply()
        transport.send(b"DONE\r\n")
        lines, self._unread = self._unread, []
        while not (line := transport.readline()).startswith(self._tag + b" "):
            lines.append(line)
        return self._events(lines)

    def _events(self, lines: Iterable[bytes]) -> list[Event]:
        events = []
        for line in lines:
            if line[:6].upper() == b"* BYE ":
                self._session.transport.close()
                raise ImapError.from_bye(line[6:].strip())
            if self._awaits_name:
                # The rest of an event whose folder's name is a literal.
                self._awaits_name = False
                continue
            event = event_of(line)
            self._awaits_name = line.rstrip().endswith(b"}")
            if not line.startswith(b"* ") or (self._awaits_name and event.kind != "folder"):
                # The server ended IDLE by itself, or began a literal, which no other event may contain.
                self._session.transport.close()
                raise ImapError("gone", "The mail server stopped reporting changes.")
            events.append(event)
        return events


def event_of(line: bytes) -> Event:
    """Parse an untagged line into an event."""
    found = _NUMBERED.match(line.rstrip())
    kind = _KINDS.get(found[2].upper()) if found else None
    if found and kind:
        flags = _flags(found[3]) if kind == "flags" else frozenset()
        return Event(kind=kind, number=int(found[1]), deleted=r"\deleted" in flags, flags=flags)
    name = line[2:].split(b" ", 1)[0].upper()
    return Event(kind=_UNNUMBERED.get(name, "other"))


def _flags(data: bytes) -> frozenset[str]:
    found = _FLAGS.search(data)
    return frozenset(found[1].decode("ascii", "replace").lower().split()) if found else frozenset()


def _is_news(line: bytes) -> bool:
    return event_of(line).kind != "other"
