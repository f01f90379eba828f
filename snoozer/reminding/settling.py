"""How a delivery ends: what the server said is written down, and the claim is settled by showing its token.

Every act is repeated until the database is there to hear it. Repeating is harmless: facts stay what they are, and a
claim that was settled or lost in the meantime answers with no row.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from random import Random
from typing import ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.domain import backoff
from snoozer.domain.reminder import Claim, Send, Verdict
from snoozer.mail.smtp import Refused, Reply
from snoozer.postgres import events, ledger, queue
from snoozer.postgres.engine import may_pass
from snoozer.postgres.journal import Journal
from snoozer.postgres.ledger import MOST_RESENDS, Fact
from snoozer.reminding.concluding import Taken, conclude, finalize, write_facts
from snoozer.reminding.taking import ROUTE, Terms
from snoozer.reminding.together import Together

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

# Threads that may wait for the database or for somebody's lock.
THREADS = 4

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
NEVER_SENT = "The final dot was never sent"


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """Settles the claims of one worker, on its event loop; the database is spoken to in a few threads.

    `giving_up` ends the wait for an absent database.
    """

    engine: Engine
    journal: Journal
    terms: Terms
    giving_up: Callable[[], bool]
    rng: Random

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(THREADS, thread_name_prefix="settling")

    @cached_property
    def _conclusions(self) -> Together[Taken, Verdict]:
        return Together(partial(conclude, self.engine, actor=self.terms.actor), name="conclusions")

    @cached_property
    def _facts(self) -> Together[Fact, None]:
        return Together(self._write_facts, name="facts")

    def coming(self) -> AbstractContextManager[None]:
        """A reply is waited for: conclusions linger for it a little."""
        return self._conclusions.coming()

    async def conclude(self, claim: Claim, send: Send, reply: Reply, *, recorded: Callable[[], None]) -> Verdict:
        """The server took it: written down, and the snooze is over, together with what else is taken at this moment.

        What the server said is in the ledger when `recorded` is called, or in the journal when the worker gives up
        waiting. A recurring snooze goes alone, so that a recurrence that cannot be reckoned keeps nobody waiting.
        """
        fact = _fact(send, reply)
        verdict = None
        try:
            if claim.recurrence is None:
                verdict = await self._conclusions(Taken(claim=claim, fact=fact))
            else:
                await self._facts(fact)
        except Exception:
            # Whatever went wrong, what the server said must not be forgotten.
            with self._kept_on_disk(fact):
                await self._patiently(self._write_facts, [fact])
        recorded()
        return verdict or await self.finalize(claim)

    async def finalize(self, claim: Claim, *, verdict: Verdict = Verdict.SENT) -> Verdict:
        """The snooze is over, or promised anew when it recurs, and its kept message lies on top of the inbox."""
        ours = await self._until_done(lambda connection: finalize(connection, [claim]))
        return verdict if ours else Verdict.LOST

    async def withdraw(self, send: Send) -> None:
        """No dot left, so there is nothing uncertain, and if the claim is still ours it goes back untouched."""

        def withdraw(connection: Connection) -> None:
            queue.hand_back(connection, held=[(send.snooze_id, send.claim_token)])
            ledger.refuse(connection, send=send, permanent=False, reply=NEVER_SENT)

        await self._until_done(withdraw)

    async def refuse(self, claim: Claim, send: Send, refused: Refused) -> Verdict:
        """The server refused the mail: an attempt is spent, and a permanent refusal ends in a case."""
        await self._until_done(
            lambda connection: ledger.refuse(
                connection,
                send=send,
                permanent=refused.permanent,
                reply=refused.text,
                smtp_code=refused.code,
                enhanced_code=refused.enhanced,
            )
        )
        return await self.release(claim, error=str(refused), spent=1, permanent=refused.permanent)

    async def doubt(self, claim: Claim, send: Send, *, reason: str) -> Verdict:
        """No answer came after the dot: it may have been sent, and waits out the hold before it is sent again."""

        def doubt(connection: Connection) -> int | None:
            resends = ledger.doubt(connection, send=send, reply=reason)
            if resends is not None:
                self._write_down(connection, claim.id, "uncertain", reason=reason)
            return resends

        exhausted = ((await self._until_done(doubt)) or 0) >= MOST_RESENDS
        await self.release(
            claim,
            error=f"{may_have_been_sent(exhausted)}: {reason}",
            spent=0,
            delay=self.terms.uncertainty.hold,
            permanent=exhausted or self.terms.uncertainty.for_operator,
        )
        return Verdict.UNCERTAIN

    async def postpone(self, claim: Claim, *, error: str) -> Verdict:
        """The mail server is away. That is not this reminder's fault: no attempt is spent."""
        verdict = await self.release(claim, error=error, spent=0)
        return Verdict.POSTPONED if verdict is Verdict.RELEASED else verdict

    async def hand_back(self, claim: Claim) -> Verdict:
        """It was not tried, so nothing is spent and nothing is written down."""
        held = [(claim.id, claim.claim_token)]
        back = await self._until_done(lambda connection: queue.hand_back(connection, held=held))
        return Verdict.HANDED_BACK if back else Verdict.LOST

    async def release(
        self, claim: Claim, *, error: str, spent: int, delay: timedelta | None = None, permanent: bool = False
    ) -> Verdict:
        """The snooze comes back after `delay` (the backoff's, unless told), or becomes a case."""
        if delay is None:
            delay = backoff.delay(claim.attempts + 1, first=self.terms.first_delay, rng=self.rng)

        def release(connection: Connection) -> str | None:
            state = queue.release(
                connection,
                id=claim.id,
                claim_token=claim.claim_token,
                error=error,
                spent=spent,
                delay=delay,
                permanent=permanent,
            )
            if state is not None:
                kind = "retired" if state == "retired" else "failed"
                self._write_down(connection, claim.id, kind, error=error, attempts=claim.attempts + spent)
            return state

        state = await self._until_done(release)
        if state is None:
            return Verdict.LOST
        return Verdict.RETIRED if state == "retired" else Verdict.RELEASED

    async def apart(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it in one of the threads that may wait for the database, within the span of this delivery."""
        within = partial(copy_context().run, act, *values, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, within)

    @contextmanager
    def _kept_on_disk(self, fact: Fact) -> Iterator[None]:
        """In the journal until the database knows it. A disk that takes no more keeps it from nothing else."""
        try:
            self.journal.append(fact)
        except OSError as error:
            log.error(
                "the mail server's word cannot be kept on disk (%s), so only this worker knows it", error.strerror
            )
        yield
        self.journal.settle(fact)

    def _write_facts(self, facts: Sequence[Fact]) -> list[None]:
        with self.engine.begin() as connection:
            write_facts(connection, facts, actor=self.terms.actor)
        return [None] * len(facts)

    def _write_down(self, connection: Connection, snooze_id: int, kind: str, **detail: object) -> None:
        events.append(connection, snooze_id=snooze_id, kind=kind, actor=self.terms.actor, route=ROUTE, **detail)

    async def _until_done(self, act: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self.engine.begin() as connection:
                return act(connection)

        return await self._patiently(once)

    async def _patiently(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it with the database there, however long that takes, unless the worker is giving up."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.apart(act, *values, **named)
            except SQLAlchemyError as error:
                if not may_pass(error) or self.giving_up():
                    raise
            await asyncio.sleep(pause * (0.5 + self.rng.random()))
            pause = min(pause * 2, LONGEST_PAUSE)


def may_have_been_sent(exhausted: bool) -> str:
    """The sentence for an uncertain reminder; `exhausted` when it is not sent again by itself."""
    if exhausted:
        return "It may have been sent, and was sent again twice without an answer"
    return "It may have been sent: no answer came after the end of the message"


def _fact(send: Send, reply: Reply) -> Fact:
    return Fact(
        reminder_message_id=send.reminder_message_id,
        snooze_id=send.snooze_id,
        claim_token=send.claim_token,
        smtp_code=reply.code,
        enhanced_code=reply.enhanced,
        reply=reply.text,
        queue_id=reply.queue_id,
    )
