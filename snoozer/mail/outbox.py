"""Connections to the mail server, kept for the next reminder while they are fresh, and left alone when it is down."""

import asyncio
import time
from collections import deque
from contextlib import suppress

from snoozer.mail.gate import Gate
from snoozer.mail.relay import Relay
from snoozer.mail.smtp import Refused, RelayDown, Session

MOST_MESSAGES = 100
FRESH_SECONDS = 5.0


class Outbox:
    """Hands out sessions with one relay, as many as are asked for at once while the relay answers.

    For one event loop; a session that nobody used for `FRESH_SECONDS` is parted with.
    """

    def __init__(self, relay: Relay, *, helo: str, mail_from: str, connect_deadline: float, gate: Gate) -> None:
        self.relay = relay
        self.gate = gate
        self._mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._idle: deque[tuple[Session, int, float]] = deque()
        self._uses: dict[Session, int] = {}
        self._sweeping: asyncio.TimerHandle | None = None

    async def hand_over_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        """A session that has taken everything but the final dot. Raises RelayDown, Refused or Shut.

        A connection that went stale while it was kept says nothing about the server, so a fresh one is tried.
        """
        session = self._kept()
        if session is not None:
            with suppress(RelayDown):
                return await self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
        async with self.gate.attempt():
            session = await Session.open(self.relay, helo=self._helo, deadline=self._connect_deadline)
        self._uses[session] = 0
        try:
            return await self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except RelayDown as down:
            self.gate.failed(str(down))
            raise

    def keep(self, session: Session) -> None:
        """The session's mail was accepted: it may carry another one."""
        uses = self._uses.pop(session, 0) + 1
        if uses >= MOST_MESSAGES or not session.usable:
            session.quit()
            return
        self._idle.append((session, uses, time.monotonic()))
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(FRESH_SECONDS, self._part_with_stale)

    def drop(self, session: Session) -> None:
        """Hang up without another word: what was not finished with a dot does not exist for the server."""
        self._uses.pop(session, None)
        session.hang_up()

    def close(self) -> None:
        """Say goodbye to the idle connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._idle:
            self._idle.popleft()[0].quit()

    def _part_with_stale(self) -> None:
        while self._idle and not _is_fresh(self._idle[0][2]):
            self._idle.popleft()[0].quit()
        self._sweeping = None
        if self._idle:
            wait = FRESH_SECONDS - (time.monotonic() - self._idle[0][2])
            self._sweeping = asyncio.get_running_loop().call_later(max(wait, 0.0), self._part_with_stale)

    def _kept(self) -> Session | None:
        while self._idle:
            session, uses, since = self._idle.pop()
            if _is_fresh(since):
                self._uses[session] = uses
                return session
            session.quit()
        return None

    async def _hand_over(self, session: Session, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        try:
            await session.hand_over_body(mail_from=self._mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
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
