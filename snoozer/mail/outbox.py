"""Connections to the mail server, kept for the next reminder while they are fresh, and left alone when it is down."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from snoozer.mail.gate import Gate
from snoozer.mail.relay import Relay
from snoozer.mail.smtp import Refused, RelayDown, Session

MOST_MESSAGES = 100
FRESH_SECONDS = 5.0


class Outbox:
    """Hands out sessions with one relay, as many as are asked for at once while the relay answers."""

    def __init__(self, relay: Relay, *, helo: str, mail_from: str, connect_deadline: float, gate: Gate) -> None:
        self.relay = relay
        self.gate = gate
        self._mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._idle: deque[tuple[Session, int, float]] = deque()
        self._uses: dict[Session, int] = {}
        self._lock = Lock()

    def hand_over_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        """A session that has taken everything but the final dot. Raises RelayDown, Refused or Shut.

        A connection that went stale while it was kept says nothing about the server, so a fresh one is tried.
        """
        session = self._kept()
        if session is not None:
            with suppress(RelayDown):
                return self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
        with self.gate.attempt():
            session = Session.open(self.relay, helo=self._helo, deadline=self._connect_deadline)
        self._uses[session] = 0
        try:
            return self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except RelayDown as down:
            self.gate.failed(str(down))
            raise

    def keep(self, session: Session) -> None:
        """The session's mail was accepted: it may carry another one."""
        uses = self._uses.pop(session, 0) + 1
        if uses >= MOST_MESSAGES or not session.usable:
            session.quit()
            return
        with self._lock:
            self._idle.append((session, uses, time.monotonic()))

    def drop(self, session: Session) -> None:
        """Hang up without another word: what was not finished with a dot does not exist for the server."""
        self._uses.pop(session, None)
        session.hang_up()

    def close(self) -> None:
        """Say goodbye to the idle connections."""
        self._part_with(lambda since: True)

    def close_stale(self) -> None:
        """Say goodbye to connections that nobody used for a while."""
        self._part_with(lambda since: not _is_fresh(since))

    def _part_with(self, unwanted: Callable[[float], bool]) -> None:
        with self._lock:
            leaving = [entry for entry in self._idle if unwanted(entry[2])]
            self._idle = deque(entry for entry in self._idle if not unwanted(entry[2]))
        for session, _, _ in leaving:
            session.quit()

    def _kept(self) -> Session | None:
        with self._lock:
            while self._idle:
                session, uses, since = self._idle.pop()
                if _is_fresh(since):
                    self._uses[session] = uses
                    return session
                session.hang_up()
        return None

    def _hand_over(self, session: Session, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        try:
            session.hand_over_body(mail_from=self._mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except Refused:
            self.gate.heard()
            self.drop(session)
            raise
        except BaseException:
            self.drop(session)
            raise
        self.gate.heard()
        return session


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < FRESH_SECONDS
