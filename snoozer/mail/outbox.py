"""Connections to the mail server, kept for the next reminder while they are fresh, and left alone when it is down."""

import asyncio
import time
from collections import deque

from snoozer.mail.gate import Gate, Shut
from snoozer.mail.manners import Manners
from snoozer.mail.relay import Relay
from snoozer.mail.smtp import Refused, RelayDown, Session

FRESH_SECONDS = 5.0
# So long a mail waits for its turn with a server that bears no more; far less than a lease.
MOST_PATIENCE = 30.0


class Outbox:
    """Hands out sessions with one relay, as many as are asked for at once while the relay bears them.

    For one event loop; a session that nobody used for `FRESH_SECONDS` is parted with.
    """

    def __init__(self, relay: Relay, *, helo: str, mail_from: str, connect_deadline: float, gate: Gate) -> None:
        self.relay = relay
        self.gate = gate
        self.manners = Manners()
        self._mail_from = mail_from
        self._helo = helo
        self._connect_deadline = connect_deadline
        self._idle: deque[tuple[Session, int, float]] = deque()
        self._uses: dict[Session, int] = {}
        self._opening = self._turned_away = 0
        self._bore = self.manners.connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None

    async def hand_over_body(self, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        """A session that has taken everything but the final dot. Raises RelayDown, Refused or Shut.

        A connection that went stale while it was kept says nothing about the server, so a fresh one is tried. Where
        the server bears no more for so long that the mail's turn does not come, it is Shut.
        """
        await self._turn()
        while True:
            session = await self._session()
            carried = self._uses[session]
            try:
                return await self._hand_over(session, rcpt_to=rcpt_to, message=message, deadline=deadline)
            except RelayDown as down:
                if down.asks_for_less:
                    self._learn(carried)
                if not carried:
                    self.gate.failed(str(down))
                    raise

    def keep(self, session: Session) -> None:
        """The session's mail was accepted: it may carry another one."""
        self.gate.heard()
        uses = self._uses.pop(session, 0) + 1
        if uses >= self.manners.messages or not session.usable:
            session.quit()
        else:
            self._idle.append((session, uses, time.monotonic()))
            if self._sweeping is None:
                self._sweeping = asyncio.get_running_loop().call_later(FRESH_SECONDS, self._part_with_stale)
        self._next_please()

    def refused(self, session: Session, refused: Refused) -> None:
        """The session's mail was refused, so the server is there, unless it says that it closes."""
        if refused.asks_for_less:
            self.manners.too_fast(now=time.monotonic())
        if refused.of_the_server:
            self.gate.failed(str(refused))
        else:
            self.gate.heard()
        self.drop(session)

    def lost(self, session: Session, *, reason: str) -> None:
        """No answer to the session's mail will come. A server that is like that with mail after mail is down."""
        self.gate.failed(reason)
        self.drop(session)

    def drop(self, session: Session) -> None:
        """Hang up without another word: what was not finished with a dot does not exist for the server."""
        self._uses.pop(session, None)
        session.hang_up()
        self._next_please()

    def close(self) -> None:
        """Say goodbye to the idle connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._idle:
            self._idle.popleft()[0].quit()

    async def _turn(self) -> None:
        wait = self.manners.turn(now=time.monotonic(), most=MOST_PATIENCE)
        if wait != 0:
            await asyncio.sleep(MOST_PATIENCE if wait is None else wait)
        if wait is None:
            # Not before that sleep: what is handed back may be claimed again at once.
            raise Shut

    async def _session(self) -> Session:
        """A kept session, or a new one, or the next that is free where the server bears no more."""
        until = time.monotonic() + MOST_PATIENCE
        while True:
            session = self._kept() or await self._open() or self._kept()
            if session is not None:
                return session
            free = asyncio.get_running_loop().create_future()
            self._waiting.append(free)
            try:
                async with asyncio.timeout_at(until):
                    await free
            except TimeoutError:
                if not free.cancelled():
                    self._next_please()
                raise Shut from None

    def _kept(self) -> Session | None:
        while self._idle:
            session, uses, since = self._idle.pop()
            if session.usable and _is_fresh(since):
                self._uses[session] = uses
                return session
            session.quit()
        return None

    @property
    def _standing(self) -> int:
        return len(self._uses) + len(self._idle)

    @property
    def _enough(self) -> bool:
        return self._standing + self._opening >= self.manners.connections

    async def _open(self) -> Session | None:
        """A new session; None where the server bears no more of them than stand or are being opened."""
        if self._enough:
            return None
        try:
            async with self.gate.attempt():
                return None if self._enough else await self._connect()
        except Shut:
            self._next_please()
            raise

    async def _connect(self) -> Session | None:
        self._opening += 1
        try:
            session = await Session.open(self.relay, helo=self._helo, deadline=self._connect_deadline)
        except RelayDown as down:
            others = self._standing + self._opening - 1
            if not others:
                self._nobody_was_taken(str(down))
            if not (down.asks_for_less and others):
                raise
            self._turned_away_beside(others)
            return None
        finally:
            self._opening -= 1
            self._next_please()
        self._turned_away = 0
        self._uses[session] = 0
        return session

    def _turned_away_beside(self, others: int) -> None:
        """A refusal comes sooner than a greeting ends: those that are being opened may yet be taken, and the last that
        is turned away sees who was."""
        if not self._turned_away:
            self._bore = self.manners.connections
        self._turned_away = 0 if self._standing else self._turned_away + 1
        self.manners.too_many_connections(others, now=time.monotonic())

    def _nobody_was_taken(self, reason: str) -> None:
        """Those that were turned away while others were being opened were failures, as it turns out now, and taught
        nothing of how many the server bears."""
        if self._turned_away:
            self.manners.connections = self._bore
        for _ in range(self._turned_away):
            self.gate.failed(reason)
        self._turned_away = 0

    def _learn(self, carried: int) -> None:
        if carried:
            self.manners.too_many_messages(carried, now=time.monotonic())
        else:
            self.manners.too_fast(now=time.monotonic())

    def _next_please(self) -> None:
        while self._waiting:
            free = self._waiting.popleft()
            if not free.done():
                free.set_result(None)
                return

    def _part_with_stale(self) -> None:
        while self._idle and not _is_fresh(self._idle[0][2]):
            self._idle.popleft()[0].quit()
        self._sweeping = None
        if self._idle:
            wait = FRESH_SECONDS - (time.monotonic() - self._idle[0][2])
            self._sweeping = asyncio.get_running_loop().call_later(max(wait, 0.0), self._part_with_stale)

    async def _hand_over(self, session: Session, *, rcpt_to: str, message: bytes, deadline: float) -> Session:
        try:
            await session.hand_over_body(mail_from=self._mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
        except Refused as refused:
            self.refused(session, refused)
            raise
        except BaseException:
            self.drop(session)
            raise
        return session


def _is_fresh(since: float) -> bool:
    return time.monotonic() - since < FRESH_SECONDS
