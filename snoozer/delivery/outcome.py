"""The end of what went well: the server's word in the ledger, the snooze over or promised anew, its message on top."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from random import Random
from uuid import UUID

from sqlalchemy import Connection, Engine

from snoozer.db import events, ledger, mailbox_store, queue, statements
from snoozer.db.fact_journal import FactJournal
from snoozer.db.ledger import Fact
from snoozer.delivery.batching import BatchExecutor
from snoozer.delivery.claiming import ROUTE, DeliveryConfig
from snoozer.delivery.db_retry import DatabaseRetry
from snoozer.domain.reminder import (
    MAX_RESENDS,
    NO_ANSWER,
    RESENT_WITHOUT_ANSWER,
    Claim,
    DeliveryOutcome,
    Send,
)
from snoozer.runtime import backoff
from snoozer.smtp.session import Rejected, Reply
from snoozer.timephrase import next_reminder_after

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AcceptedSend:
    """A reminder that the server took, and the claim it was sent under."""

    claim: Claim
    fact: Fact


def complete_batch(engine: Engine, many: Sequence[AcceptedSend], *, actor: str) -> list[DeliveryOutcome]:
    """Write down the facts and finish the snoozes, in one commit; LOST where the claim was no longer ours.

    The snoozes come first, because whoever else locks both locks them in that order.
    """
    with engine.begin() as connection:
        ours = finalize(connection, [taken.claim for taken in many])
        record_facts(connection, [taken.fact for taken in many], actor=actor)
    return [
        DeliveryOutcome.SENT if (taken.claim.id, taken.claim.claim_token) in ours else DeliveryOutcome.LOST
        for taken in many
    ]


def finalize(connection: Connection, claims: Sequence[Claim]) -> set[tuple[int, UUID]]:
    """The snoozes are over, or promised anew where they recur, and their kept messages lie on top of the inbox.

    Answers the claims that were still ours.
    """
    once = [(claim.id, claim.claim_token) for claim in claims if claim.recurrence is None]
    again = [claim for claim in claims if claim.recurrence is not None]
    ours = queue.finalize(connection, held=once) if once else set()
    ours |= {(claim.id, claim.claim_token) for claim in again if _schedule_next(connection, claim)}
    if ours:
        mailbox_store.return_to_inbox(connection, snooze_ids=[id for id, _ in ours])
    return ours


def record_facts(connection: Connection, facts: Sequence[Fact], *, actor: str) -> set[str]:
    """Write down that the server took these, and leave a trace of what came late; answers what is known, by
    Message-ID of the reminder."""
    told = ledger.record(connection, facts=facts)
    for fact in facts:
        recorded = told.get(fact.reminder_message_id)
        if recorded is not None and (recorded.late or recorded.second_copy):
            events.append(
                connection,
                snooze_id=fact.snooze_id,
                kind="late",
                actor=actor,
                route=ROUTE,
                second_copy=recorded.second_copy,
            )
    return set(told)


def record_inherited_facts(engine: Engine, *, journal: FactJournal, actor: str) -> int:
    """Write down what dead workers heard and could not tell; answers how many facts there were."""
    count = 0
    for path, facts in journal.inherited():
        known = [_record_fact(engine, fact, actor=actor) for fact in facts]
        count += sum(known)
        if all(known):
            path.unlink(missing_ok=True)
        else:
            log.warning("%s tells of reminders this database does not know; it is kept as .unknown", path.name)
            with suppress(FileNotFoundError):  # Whoever starts in the same moment may have been quicker.
                path.rename(path.with_suffix(".unknown"))
    return count


def _record_fact(engine: Engine, fact: Fact, *, actor: str) -> bool:
    with engine.begin() as connection:
        return bool(record_facts(connection, [fact], actor=actor))


def _schedule_next(connection: Connection, claim: Claim) -> bool:
    again = _next_occurrence(connection, claim)
    if again is None:
        return bool(queue.finalize(connection, held=[(claim.id, claim.claim_token)]))
    return queue.schedule_next(connection, id=claim.id, claim_token=claim.claim_token, remind_at=again)


def _next_occurrence(connection: Connection, claim: Claim) -> datetime | None:
    """The next occurrence of a recurring snooze. Occurrences missed during an outage are not made up for."""
    if claim.recurrence is None:
        return None
    try:
        now = statements.database_time(connection)
        return next_reminder_after(claim.recurrence, promised=claim.scheduled_for, now=now, zone=claim.zone)
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence was its last", claim.id)
        return None


DOT_NOT_SENT = "The final dot was never sent"


@dataclass(frozen=True, kw_only=True)
class OutcomeRecorder:
    """Settles the claims of one worker, on its event loop.

    `giving_up` ends the wait for an absent database.
    """

    engine: Engine
    journal: FactJournal
    config: DeliveryConfig
    shutting_down: Callable[[], bool]
    rng: Random

    @cached_property
    def db_retry(self) -> DatabaseRetry:
        """How the database is asked."""
        return DatabaseRetry(engine=self.engine, shutting_down=self.shutting_down, rng=self.rng)

    @cached_property
    def _completions(self) -> BatchExecutor[AcceptedSend, DeliveryOutcome]:
        return BatchExecutor(partial(complete_batch, self.engine, actor=self.config.actor), name="conclusions")

    @cached_property
    def _facts(self) -> BatchExecutor[Fact, None]:
        return BatchExecutor(self._record_facts, name="facts")

    def expecting(self) -> AbstractContextManager[None]:
        """A reply is waited for: conclusions linger for it a little."""
        return self._completions.expecting()

    async def complete(
        self, claim: Claim, send: Send, reply: Reply, *, recorded: Callable[[], None]
    ) -> DeliveryOutcome:
        """The server took it: written down, and the snooze is over, together with what else is taken at this moment.

        What the server said is in the ledger when `recorded` is called, or in the journal when the worker gives up
        waiting. A recurring snooze goes alone, so that a recurrence that cannot be reckoned keeps nobody waiting.
        """
        fact = _fact(send, reply)
        verdict = None
        try:
            if claim.recurrence is None:
                verdict = await self._completions(AcceptedSend(claim=claim, fact=fact))
            else:
                await self._facts(fact)
        except Exception:
            # Whatever went wrong, what the server said must not be forgotten.
            with self._journaled(fact):
                await self.db_retry.until_repaired(self._record_facts, [fact])
        recorded()
        return verdict or await self.finalize(claim)

    async def finalize(self, claim: Claim, *, verdict: DeliveryOutcome = DeliveryOutcome.SENT) -> DeliveryOutcome:
        """The snooze is over, or promised anew when it recurs, and its kept message lies on top of the inbox."""
        ours = await self.db_retry.transaction(lambda connection: finalize(connection, [claim]))
        return verdict if ours else DeliveryOutcome.LOST

    async def abort_send(self, send: Send) -> None:
        """No dot left, so there is nothing uncertain, and if the claim is still ours it goes back untouched."""

        def withdraw(connection: Connection) -> None:
            queue.unclaim(connection, held=[(send.snooze_id, send.claim_token)])
            ledger.refuse(connection, send=send, permanent=False, reply=DOT_NOT_SENT)

        await self.db_retry.transaction(withdraw)

    async def reject(self, claim: Claim, send: Send, refused: Rejected) -> DeliveryOutcome:
        """The server refused the mail: an attempt is spent, unless it spoke of itself, and a permanent refusal ends in
        a case."""
        await self.db_retry.transaction(
            lambda connection: ledger.refuse(
                connection,
                send=send,
                permanent=refused.permanent,
                reply=refused.text,
                smtp_code=refused.code,
                enhanced_code=refused.enhanced,
            )
        )
        if refused.is_server_wide:
            return await self.defer(claim, error=str(refused))
        return await self.release(claim, error=str(refused), attempts_used=1, permanent=refused.permanent)

    async def mark_uncertain(self, claim: Claim, send: Send, *, reason: str) -> DeliveryOutcome:
        """No answer came after the dot: it may have been sent, and waits out the hold before it is sent again."""
        resends = await self.db_retry.transaction(partial(self._mark_uncertain, send=send, reason=reason))
        return await self._hold(claim, resends=resends or 0, reason=reason)

    async def record_crash(self, claim: Claim, send: Send, *, error: str) -> DeliveryOutcome:
        """Our own code failed: an attempt is spent, or where the dot was authorised, it may have been sent."""
        resends = await self.db_retry.transaction(partial(self._mark_uncertain, send=send, reason=error))
        if resends is None:
            return await self.release(claim, error=error, attempts_used=1)
        return await self._hold(claim, resends=resends, reason=error)

    async def defer(self, claim: Claim, *, error: str) -> DeliveryOutcome:
        """The mail server is away. That is not this reminder's fault: no attempt is spent."""
        verdict = await self.release(claim, error=error, attempts_used=0)
        return DeliveryOutcome.DEFERRED if verdict is DeliveryOutcome.RELEASED else verdict

    async def retry_later(self, claim: Claim, *, reason: str, delay: timedelta) -> DeliveryOutcome:
        """Nothing can be done about it before `delay`; that is no failure, so no event tells of it."""

        def wait(connection: Connection) -> str | None:
            return queue.release(
                connection, id=claim.id, claim_token=claim.claim_token, error=reason, attempts_used=0, delay=delay
            )

        return DeliveryOutcome.LOST if await self.db_retry.transaction(wait) is None else DeliveryOutcome.RELEASED

    async def unclaim(self, claim: Claim) -> DeliveryOutcome:
        """It was not tried, so nothing is spent and nothing is written down."""
        held = [(claim.id, claim.claim_token)]
        back = await self.db_retry.transaction(lambda connection: queue.unclaim(connection, held=held))
        return DeliveryOutcome.UNCLAIMED if back else DeliveryOutcome.LOST

    async def release(
        self, claim: Claim, *, error: str, attempts_used: int, delay: timedelta | None = None, permanent: bool = False
    ) -> DeliveryOutcome:
        """The snooze comes back after `delay` (the backoff's, unless told), or becomes a case."""
        if delay is None:
            delay = backoff.delay(claim.attempts + 1, first=self.config.first_delay, rng=self.rng)

        def release(connection: Connection) -> str | None:
            state = queue.release(
                connection,
                id=claim.id,
                claim_token=claim.claim_token,
                error=error,
                attempts_used=attempts_used,
                delay=delay,
                permanent=permanent,
            )
            if state is not None:
                kind = "retired" if state == "retired" else "failed"
                self._append_event(connection, claim.id, kind, error=error, attempts=claim.attempts + attempts_used)
            return state

        state = await self.db_retry.transaction(release)
        if state is None:
            return DeliveryOutcome.LOST
        return DeliveryOutcome.RETIRED if state == "retired" else DeliveryOutcome.RELEASED

    @contextmanager
    def _journaled(self, fact: Fact) -> Iterator[None]:
        """In the journal until the database knows it. A disk that takes no more keeps it from nothing else."""
        try:
            self.journal.append(fact)
        except OSError as error:
            log.error(
                "the mail server's word cannot be kept on disk (%s), so only this worker knows it", error.strerror
            )
        yield
        self.journal.discard(fact)

    def _record_facts(self, facts: Sequence[Fact]) -> list[None]:
        with self.engine.begin() as connection:
            record_facts(connection, facts, actor=self.config.actor)
        return [None] * len(facts)

    def _mark_uncertain(self, connection: Connection, send: Send, *, reason: str) -> int | None:
        resends = ledger.mark_uncertain(connection, send=send, reply=reason)
        if resends is not None:
            self._append_event(connection, send.snooze_id, "uncertain", reason=reason)
        return resends

    async def _hold(self, claim: Claim, *, resends: int, reason: str) -> DeliveryOutcome:
        exhausted = resends >= MAX_RESENDS
        await self.release(
            claim,
            error=f"{uncertain_error(exhausted)}: {reason}",
            attempts_used=0,
            delay=self.config.uncertainty.hold,
            permanent=exhausted or self.config.uncertainty.for_operator,
        )
        return DeliveryOutcome.UNCERTAIN

    def _append_event(self, connection: Connection, snooze_id: int, kind: str, **detail: object) -> None:
        events.append(connection, snooze_id=snooze_id, kind=kind, actor=self.config.actor, route=ROUTE, **detail)


def uncertain_error(exhausted: bool) -> str:
    """The sentence for an uncertain reminder; `exhausted` when it is not sent again by itself."""
    return RESENT_WITHOUT_ANSWER if exhausted else NO_ANSWER


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
