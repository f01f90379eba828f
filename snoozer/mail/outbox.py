"""Connections to the mail server, kept for the next reminder while they are fresh."""

import time
from collections import deque
from contextlib import suppress
from threading import Lock

from snoozer.mail.relay import Relay
from snoozer.mail.smtp import RelayDown, Session

MOST_MESSAGES = 100
FRESH_SECONDS = 5.0


class Outbox:
    """Hands out sessions with one relay; as many as are asked for at once."""

    def __init__(self, relay: Relay, *, helo: str, mail_from: str, connect_deadline: float) -> None:
        self.relay = relay
        self.mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._idle: deque[tuple[Session, int, float]] = deque()
        self._uses: dict[Session, int] = {}
        self._lock = Lock()

    def hand_over_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        """A session that has taken everything but the final dot. Raises RelayDown or Refused.

        A connection that went stale while it was kept says nothing about the server, so a fresh one is tried.
        """
        session = self._kept()
        if session is not None:
            with suppress(RelayDown):
                return self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
        session = Session.open(self.relay, helo=self._helo, deadline=self._connect_deadline)
        self._uses[session] = 0
        return self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)

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
        with self._lock:
            idle, self._idle = list(self._idle), deque()
        for session, _, _ in idle:
            session.quit()

    def close_stale(self) -> None:
        """Say goodbye to connections that nobody used for a while."""
        with self._lock:
            stale = [entry for entry in self._idle if not _is_fresh(entry[2])]
            self._idle = deque(entry for entry in self._idle if _is_fresh(entry[2]))
        for session, _, _ in stale:
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
            session.hand_over_body(mail_from=self.mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except BaseException:
            self.drop(session)
            raise
        return session


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < FRESH_SECONDS
