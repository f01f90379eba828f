"""Records outcomes: the mail server's reply in the ledger, and the end of the claim.

A reply is a fact and always recorded; decisions about a claim count only while it is held (fenced by its token).
"""

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
from snoozer.delivery.claiming import ROUTE, DeliveryConfig
from snoozer.delivery.executor import BatchExecutor, DatabaseRetry
from snoozer.domain.reminder import MAX_RESENDS, NO_ANSWER, RESENT_WITHOUT_ANSWER, Claim, DeliveryOutcome, Send
from snoozer.runtime import backoff
from snoozer.smtp.errors import Rejected
from snoozer.smtp.transport import Reply
from snoozer.timephrase import next_reminder_after

log = logging.getLogger(__name__)

DOT_NOT_SENT = "The final dot was never sent"


@dataclass(frozen=True, kw_only=True)
class AcceptedSend:
    """A reminder that the mail server accepted, and the claim it was sent under."""

    claim: Claim
    fact: Fact


@dataclass(frozen=True, kw_only=True)
class OutcomeRecorder:
    """Ends the claims of one worker, on its event loop.

    Waits for an absent database, until `shutting_down()` is true.
    """

    engine: Engine
    journal: FactJournal
    config: DeliveryConfig
    shutting_down: Callable[[], bool]
    rng: Random

    @cached_property
    def db_retry(self) -> DatabaseRetry:
        return DatabaseRetry(engine=self.engine, shutting_down=self.shutting_down, rng=self.rng)

    @cached_property
    def _completions(self) -> BatchExecutor[AcceptedSend, DeliveryOutcome]:
        return BatchExecutor(partial(complete_batch, self.engine, actor=self.config.actor), name="completions")

    @cached_property
    def _facts(self) -> BatchExecutor[Fact, None]:
        return BatchExecutor(self._record_facts, name="facts")

    def expecting(self) -> AbstractContextManager[None]:
        """A reply is awaited: completions wait a little for it."""
        return self._completions.expecting()

    async def complete(
        self, claim: Claim, send: Send, reply: Reply, *, recorded: Callable[[], None]
    ) -> DeliveryOutcome:
        """The server accepted the mail: record that and end the snooze, in one batch with others.

        `recorded` is called once the reply is in the ledger, or in the journal when the worker gives up waiting. A
        recurring snooze is finalized alone, so that a recurrence that cannot be computed delays no other.
        """
        fact = _fact(send, reply)
        outcome = None
        try:
            if claim.recurrence is None:
                outcome = await self._completions(AcceptedSend(claim=claim, fact=fact))
            else:
                await self._facts(fact)
        except Exception:
            # Whatever failed, the reply must not be lost.
            with self._journaled(fact):
                await self.db_retry.until_repaired(self._record_facts, [fact])
        recorded()
        return outcome or await self.finalize(claim)

    async def finalize(self, claim: Claim, *, outcome: DeliveryOutcome = DeliveryOutcome.SENT) -> DeliveryOutcome:
        """End the snooze, as the function `finalize` does; returns `outcome`, or LOST."""
        held = await self.db_retry.transaction(lambda connection: finalize(connection, [claim]))
        return outcome if held else DeliveryOutcome.LOST

    async def abort_send(self, send: Send) -> None:
        """No dot was sent, so nothing is uncertain; a claim that is still held is given back as it was."""

        def abort(connection: Connection) -> None:
            queue.unclaim(connection, held=[(send.snooze_id, send.claim_token)])
            ledger.refuse(connection, send=send, permanent=False, reply=DOT_NOT_SENT)

        await self.db_retry.transaction(abort)

    async def reject(self, claim: Claim, send: Send, rejected: Rejected) -> DeliveryOutcome:
        """The server rejected the mail: an attempt is spent, unless the reply is about the server itself; a permanent
        rejection becomes a case."""
        await self.db_retry.transaction(
            lambda connection: ledger.refuse(
                connection,
                send=send,
                permanent=rejected.permanent,
                reply=rejected.reply.text,
                smtp_code=rejected.reply.code,
                enhanced_code=rejected.reply.enhanced_code,
            )
        )
        if rejected.is_server_wide:
            return await self.defer(claim, error=str(rejected))
        return await self.release(claim, error=str(rejected), attempts_used=1, permanent=rejected.permanent)

    async def mark_uncertain(self, claim: Claim, send: Send, *, reason: str) -> DeliveryOutcome:
        """No reply came after the dot: it may have been sent, and is held before it is sent again."""
        resends = await self.db_retry.transaction(partial(self._mark_uncertain, send=send, reason=reason))
        return await self._hold(claim, resends=resends or 0, reason=reason)

    async def record_crash(self, claim: Claim, send: Send, *, error: str) -> DeliveryOutcome:
        """Our own code failed: an attempt is spent; where the dot was authorised, it may have been sent."""
        resends = await self.db_retry.transaction(partial(self._mark_uncertain, send=send, reason=error))
        if resends is None:
            return await self.release(claim, error=error, attempts_used=1)
        return await self._hold(claim, resends=resends, reason=error)

    async def defer(self, claim: Claim, *, error: str) -> DeliveryOutcome:
        """The mail server is unavailable, which is not this reminder's fault: no attempt is spent."""
        outcome = await self.release(claim, error=error, attempts_used=0)
        return DeliveryOutcome.DEFERRED if outcome is DeliveryOutcome.RELEASED else outcome

    async def unclaim(self, claim: Claim) -> DeliveryOutcome:
        """It was not tried: no attempt is spent and no event appended."""
        held = [(claim.id, claim.claim_token)]
        unclaimed = await self.db_retry.transaction(lambda connection: queue.unclaim(connection, held=held))
        return DeliveryOutcome.UNCLAIMED if unclaimed else DeliveryOutcome.LOST

    async def release(
        self,
        claim: Claim,
        *,
        error: str,
        attempts_used: int,
        delay: timedelta | None = None,
        permanent: bool = False,
        is_failure: bool = True,
    ) -> DeliveryOutcome:
        """The snooze is due again after `delay` (by default an exponential backoff), or becomes a case. A failure
        appends an event."""
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
            if state is not None and is_failure:
                kind = "retired" if state == "retired" else "failed"
                attempts = claim.attempts + attempts_used
                _append_event(connection, claim.id, kind, actor=self.config.actor, error=error, attempts=attempts)
            return state

        state = await self.db_retry.transaction(release)
        if state is None:
            return DeliveryOutcome.LOST
        return DeliveryOutcome.RETIRED if state == "retired" else DeliveryOutcome.RELEASED

    @contextmanager
    def _journaled(self, fact: Fact) -> Iterator[None]:
        """Keep the fact in the journal until the ledger has it. A full disk hinders nothing else."""
        try:
            self.journal.append(fact)
        except OSError as error:
            log.error(
                "the mail server's reply cannot be kept on disk (%s), so only this worker knows it", error.strerror
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
            _append_event(connection, send.snooze_id, "uncertain", actor=self.config.actor, reason=reason)
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


def complete_batch(engine: Engine, accepted: Sequence[AcceptedSend], *, actor: str) -> list[DeliveryOutcome]:
    """End the snoozes and record the facts, in one commit; LOST where the claim was no longer held.

    The snoozes come first, because every other transaction locks them before their sends.
    """
    with engine.begin() as connection:
        held = finalize(connection, [one.claim for one in accepted])
        record_facts(connection, [one.fact for one in accepted], actor=actor)
    return [
        DeliveryOutcome.SENT if (one.claim.id, one.claim.claim_token) in held else DeliveryOutcome.LOST
        for one in accepted
    ]


def finalize(connection: Connection, claims: Sequence[Claim]) -> set[tuple[int, UUID]]:
    """End these snoozes, or schedule the next occurrence where they recur, and return their kept messages to the inbox.

    Returns the claims that were still held.
    """
    once = [(claim.id, claim.claim_token) for claim in claims if claim.recurrence is None]
    recurring = [claim for claim in claims if claim.recurrence is not None]
    held = queue.finalize(connection, held=once) if once else set()
    held |= {(claim.id, claim.claim_token) for claim in recurring if _schedule_next(connection, claim)}
    if held:
        mailbox_store.return_to_inbox(connection, snooze_ids=[id for id, _ in held])
    return held


def record_facts(connection: Connection, facts: Sequence[Fact], *, actor: str) -> set[str]:
    """Record that the server accepted these, with an event for late replies and second copies.

    Returns the reminders' Message-IDs that this database knows.
    """
    recorded = ledger.record(connection, facts=facts)
    for fact in facts:
        entry = recorded.get(fact.reminder_message_id)
        if entry is not None and (entry.late or entry.second_copy):
            _append_event(connection, fact.snooze_id, "late", actor=actor, second_copy=entry.second_copy)
    return set(recorded)


def record_inherited_facts(engine: Engine, *, journal: FactJournal, actor: str) -> int:
    """Record what dead workers left in their journals; returns how many facts the database knows."""
    count = 0
    for path, facts in journal.inherited():
        known = [_record_fact(engine, fact, actor=actor) for fact in facts]
        count += sum(known)
        if all(known):
            path.unlink(missing_ok=True)
        else:
            log.warning("%s names reminders this database does not know; it is kept as .unknown", path.name)
            with suppress(FileNotFoundError):  # Another worker that starts at the same moment may have been quicker.
                path.rename(path.with_suffix(".unknown"))
    return count


def _append_event(connection: Connection, snooze_id: int, kind: str, *, actor: str, **detail: object) -> None:
    events.append(connection, snooze_id=snooze_id, kind=kind, actor=actor, route=ROUTE, **detail)


def _record_fact(engine: Engine, fact: Fact, *, actor: str) -> bool:
    with engine.begin() as connection:
        return bool(record_facts(connection, [fact], actor=actor))


def _schedule_next(connection: Connection, claim: Claim) -> bool:
    remind_at = _next_occurrence(connection, claim)
    if remind_at is None:
        return bool(queue.finalize(connection, held=[(claim.id, claim.claim_token)]))
    return queue.schedule_next(connection, id=claim.id, claim_token=claim.claim_token, remind_at=remind_at)


def _next_occurrence(connection: Connection, claim: Claim) -> datetime | None:
    """The next occurrence of a recurring snooze. Occurrences missed during an outage are skipped."""
    if claim.recurrence is None:
        return None
    try:
        now = statements.database_time(connection)
        return next_reminder_after(claim.recurrence, promised=claim.scheduled_for, now=now, zone=claim.zone)
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence was its last", claim.id)
        return None


def uncertain_error(exhausted: bool) -> str:
    """The sentence for an uncertain reminder; `exhausted` when it is not sent again automatically."""
    return RESENT_WITHOUT_ANSWER if exhausted else NO_ANSWER


def _fact(send: Send, reply: Reply) -> Fact:
    return Fact(
        reminder_message_id=send.reminder_message_id,
        snooze_id=send.snooze_id,
        claim_token=send.claim_token,
        smtp_code=reply.code,
        enhanced_code=reply.enhanced_code,
        reply=reply.text,
        queue_id=reply.queue_id,
    )
