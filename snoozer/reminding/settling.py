"""How a delivery ends: what the server said is written down, and the claim is settled by showing its token.

Every act is repeated until the database is there to hear it. Repeating is harmless: facts stay what they are, and a
claim that was settled or lost in the meantime answers with no row.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from random import Random

from sqlalchemy import Connection, Engine

from snoozer.domain import backoff
from snoozer.domain.reminder import Claim, Send, Verdict
from snoozer.mail.smtp import Refused, Reply
from snoozer.postgres import events, ledger, queue
from snoozer.postgres.journal import Journal
from snoozer.postgres.ledger import MOST_RESENDS, Fact
from snoozer.reminding.concluding import Taken, conclude, finalize, write_facts
from snoozer.reminding.patience import Patience
from snoozer.reminding.taking import ROUTE, Terms
from snoozer.reminding.together import Together

log = logging.getLogger(__name__)

NEVER_SENT = "The final dot was never sent"


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """Settles the claims of one worker, on its event loop.

    `giving_up` ends the wait for an absent database.
    """

    engine: Engine
    journal: Journal
    terms: Terms
    giving_up: Callable[[], bool]
    rng: Random

    @cached_property
    def patience(self) -> Patience:
        """How the database is asked."""
        return Patience(engine=self.engine, giving_up=self.giving_up, rng=self.rng)

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
                await self.patience.until_put_right(self._write_facts, [fact])
        recorded()
        return verdict or await self.finalize(claim)

    async def finalize(self, claim: Claim, *, verdict: Verdict = Verdict.SENT) -> Verdict:
        """The snooze is over, or promised anew when it recurs, and its kept message lies on top of the inbox."""
        ours = await self.patience.until_done(lambda connection: finalize(connection, [claim]))
        return verdict if ours else Verdict.LOST

    async def withdraw(self, send: Send) -> None:
        """No dot left, so there is nothing uncertain, and if the claim is still ours it goes back untouched."""

        def withdraw(connection: Connection) -> None:
            queue.hand_back(connection, held=[(send.snooze_id, send.claim_token)])
            ledger.refuse(connection, send=send, permanent=False, reply=NEVER_SENT)

        await self.patience.until_done(withdraw)

    async def refuse(self, claim: Claim, send: Send, refused: Refused) -> Verdict:
        """The server refused the mail: an attempt is spent, unless it spoke of itself, and a permanent refusal ends in
        a case."""
        await self.patience.until_done(
            lambda connection: ledger.refuse(
                connection,
                send=send,
                permanent=refused.permanent,
                reply=refused.text,
                smtp_code=refused.code,
                enhanced_code=refused.enhanced,
            )
        )
        if refused.of_the_server:
            return await self.postpone(claim, error=str(refused))
        return await self.release(claim, error=str(refused), spent=1, permanent=refused.permanent)

    async def doubt(self, claim: Claim, send: Send, *, reason: str) -> Verdict:
        """No answer came after the dot: it may have been sent, and waits out the hold before it is sent again."""
        resends = await self.patience.until_done(partial(self._doubt, send=send, reason=reason))
        return await self._hold(claim, resends=resends or 0, reason=reason)

    async def break_down(self, claim: Claim, send: Send, *, error: str) -> Verdict:
        """Our own code failed: an attempt is spent, or where the dot was authorised, it may have been sent."""
        resends = await self.patience.until_done(partial(self._doubt, send=send, reason=error))
        if resends is None:
            return await self.release(claim, error=error, spent=1)
        return await self._hold(claim, resends=resends, reason=error)

    async def postpone(self, claim: Claim, *, error: str) -> Verdict:
        """The mail server is away. That is not this reminder's fault: no attempt is spent."""
        verdict = await self.release(claim, error=error, spent=0)
        return Verdict.POSTPONED if verdict is Verdict.RELEASED else verdict

    async def wait(self, claim: Claim, *, reason: str, delay: timedelta) -> Verdict:
        """Nothing can be done about it before `delay`; that is no failure, so no event tells of it."""

        def wait(connection: Connection) -> str | None:
            return queue.release(
                connection, id=claim.id, claim_token=claim.claim_token, error=reason, spent=0, delay=delay
            )

        return Verdict.LOST if await self.patience.until_done(wait) is None else Verdict.RELEASED

    async def hand_back(self, claim: Claim) -> Verdict:
        """It was not tried, so nothing is spent and nothing is written down."""
        held = [(claim.id, claim.claim_token)]
        back = await self.patience.until_done(lambda connection: queue.hand_back(connection, held=held))
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

        state = await self.patience.until_done(release)
        if state is None:
            return Verdict.LOST
        return Verdict.RETIRED if state == "retired" else Verdict.RELEASED

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

    def _doubt(self, connection: Connection, send: Send, *, reason: str) -> int | None:
        resends = ledger.doubt(connection, send=send, reply=reason)
        if resends is not None:
            self._write_down(connection, send.snooze_id, "uncertain", reason=reason)
        return resends

    async def _hold(self, claim: Claim, *, resends: int, reason: str) -> Verdict:
        exhausted = resends >= MOST_RESENDS
        await self.release(
            claim,
            error=f"{may_have_been_sent(exhausted)}: {reason}",
            spent=0,
            delay=self.terms.uncertainty.hold,
            permanent=exhausted or self.terms.uncertainty.for_operator,
        )
        return Verdict.UNCERTAIN

    def _write_down(self, connection: Connection, snooze_id: int, kind: str, **detail: object) -> None:
        events.append(connection, snooze_id=snooze_id, kind=kind, actor=self.terms.actor, route=ROUTE, **detail)


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
