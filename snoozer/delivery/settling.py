"""Settles claims, whatever their outcome, many in one transaction that waits for no lock.

Requests of an event loop to the database run many at once, so that only those concerned wait for a commit.
A reply of the mail server is a fact and always recorded; the end of a claim counts only while the claim is held (fenced
by its token).
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db import mailbox_store, statements
from snoozer.db.engine import on_loop
from snoozer.db.errors import error_text, is_row_error, is_transient, is_unavailable
from snoozer.delivery import holds
from snoozer.delivery.claiming import ROUTE, DeliveryConfig
from snoozer.delivery.holds import Hold
from snoozer.queue import digests, events, ledger, queue
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.ledger import Fact, Refusal
from snoozer.queue.reminder import Claim, DeliveryOutcome, Failure, Send
from snoozer.runtime.backoff import Backoff
from snoozer.timephrase.recurrence import next_reminder_after

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Result = TypeVar("Result")

INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 2.0
# How long to retry a row that another transaction has locked before leaving it to recovery.
LOCKED_SECONDS = 10.0


class BatchExecutor(Generic[Request, Result]):
    """`execute` is called with all gathered requests, then `on_result` with each of them.

    While one batch runs, the next one gathers: until there are `full` requests, or for `linger` seconds. A batch that
    raises is halved down to the one request that raises, whose result is the exception; if the database is unavailable,
    all requests get the exception at once. `on_result` must not raise. For one event loop.
    """

    def __init__(
        self,
        execute: Callable[[Sequence[Request]], Sequence[Result]],
        *,
        on_result: Callable[[Request, Result | Exception], None],
        full: Callable[[], int],
        linger: float,
    ) -> None:
        self._execute = execute
        self._on_result = on_result
        self._full = full
        self._linger = linger
        self._gathered: list[Request] = []
        self._running = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Requests that are not being executed yet."""
        return len(self._gathered)

    def add(self, request: Request, *, at_once: bool = False) -> None:
        """Execute the request with others, or `at_once` if no other is expected."""
        self._gathered.append(request)
        if at_once:
            self._start()
        else:
            self._schedule()

    def _schedule(self) -> None:
        if self._running or not self._gathered:
            return
        if len(self._gathered) >= self._full():
            self._start()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._linger, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running or not self._gathered:
            return
        self._running = True
        batch, self._gathered = self._gathered, []
        self._task = asyncio.get_running_loop().create_task(self._run(batch))

    async def _run(self, batch: Sequence[Request]) -> None:
        results = await on_loop(self._results, batch)
        self._running = False
        for request, result in zip(batch, results, strict=True):
            self._on_result(request, result)
        self._schedule()

    def _results(self, batch: Sequence[Request]) -> Sequence[Result | Exception]:
        try:
            return self._execute(batch)
        except BaseException as error:
            # Give every request a result, whatever ended the batch.
            problem = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            if len(batch) == 1 or (isinstance(problem, SQLAlchemyError) and is_unavailable(problem)):
                return [problem] * len(batch)
        middle = len(batch) // 2
        return [*self._results(batch[:middle]), *self._results(batch[middle:])]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How one delivery ended: the ledger entry to record, and what happens to the claim.

    `outcome` None asks the database why no mail may be sent. A claim is finished for SENT, ALREADY_SENT and
    RETURNED (its message is back, and no reminder is wanted), released with a `failure`, else given back, to be due
    again when its `hold` ends. `silence` is why no reply came after the dot.
    """

    claim: Claim
    outcome: DeliveryOutcome | None
    fact: Fact | None = None
    failure: Failure | None = None
    refusal: Refusal | None = None
    silence: tuple[Send, str] | None = None
    appends_event: bool = True
    hold: Hold | None = None

    @property
    def is_finished(self) -> bool:
        return self.outcome in (DeliveryOutcome.SENT, DeliveryOutcome.ALREADY_SENT, DeliveryOutcome.RETURNED)

    @property
    def is_return(self) -> bool:
        return self.outcome is DeliveryOutcome.RETURNED

    @property
    def other_send(self) -> Send | None:
        """The send whose entry changes for another reason than a fact."""
        if self.refusal is not None:
            return self.refusal.send
        return None if self.silence is None else self.silence[0]

    @property
    def reminder_message_id(self) -> str | None:
        """The Message-ID of the entry that changes."""
        changes = self.fact or self.other_send
        return None if changes is None else changes.reminder_message_id


class EntriesLocked(Exception):
    """Another transaction has locked the ledger's entries of these reminders."""

    def __init__(self, reminder_message_ids: set[str]) -> None:
        super().__init__()
        self.reminder_message_ids = reminder_message_ids


@dataclass(kw_only=True)
class PendingEnding:
    """An ending to be settled; `on_settled` is called with the outcome: LOST if the claim is no longer owned or the
    database stayed unavailable until the shutdown."""

    ending: Ending
    on_settled: Callable[[DeliveryOutcome], None]
    backoff: Backoff
    since: float
    is_on_disk: bool = False


class Settler:
    """Settles the endings of one worker.

    Endings that cannot be settled are to be tried again for as long as the database is unavailable, until
    `shutting_down()` is true; until then facts are kept in the journal.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        journal: FactJournal,
        config: DeliveryConfig,
        shutting_down: Callable[[], bool],
        rng: Random,
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._config = config
        self._shutting_down = shutting_down
        self._rng = rng

    def pending(self, ending: Ending, on_settled: Callable[[DeliveryOutcome], None]) -> PendingEnding:
        """The ending, to be passed to `settle` soon."""
        backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, rng=self._rng)
        return PendingEnding(ending=ending, on_settled=on_settled, backoff=backoff, since=time.monotonic())

    def settle(self, pending: Sequence[PendingEnding]) -> list[DeliveryOutcome | None]:
        """Settle these in one transaction; returns each one's outcome, None if another transaction has locked it."""
        try:
            with self._engine.begin() as connection:
                return settle(connection, [one.ending for one in pending], config=self._config)
        except EntriesLocked as locked:
            free = [one for one in pending if one.ending.reminder_message_id not in locked.reminder_message_ids]
        settled = iter(self.settle(free) if free else [])
        return [next(settled) if one in free else None for one in pending]

    def retry_after(self, pending: PendingEnding, result: DeliveryOutcome | Exception | None) -> float | None:
        """Called with the result or exception of `settle`: seconds until the ending is to be settled again, or None if
        it is over and `on_settled` was called."""
        fact = pending.ending.fact
        if isinstance(result, DeliveryOutcome):
            if fact is not None and pending.is_on_disk:
                self._forget_on_disk(fact)
            pending.on_settled(result)
            return None
        if self._may_retry(pending, result):
            return pending.backoff.next_wait()
        if isinstance(result, Exception):
            log.warning("snooze %d is left to recovery: %s", pending.ending.claim.id, error_text(result))
        pending.on_settled(DeliveryOutcome.LOST)
        return None

    def _may_retry(self, pending: PendingEnding, problem: Exception | None) -> bool:
        """Whether to try again: always for a fact, unless the database refuses its values."""
        fact = pending.ending.fact
        # A lock held by another transaction is mostly gone at the next try.
        is_urgent = problem is not None or pending.backoff.failures > 0 or self._shutting_down()
        if fact is not None and not pending.is_on_disk and is_urgent:
            pending.is_on_disk = True
            self._keep_on_disk(fact)
        if self._shutting_down():
            return False
        if problem is None:
            return fact is not None or time.monotonic() - pending.since < LOCKED_SECONDS
        if not isinstance(problem, SQLAlchemyError):
            return False
        if is_transient(problem):
            return True
        return fact is not None and isinstance(problem, DBAPIError) and not is_row_error(problem)

    def _forget_on_disk(self, fact: Fact) -> None:
        """Remove the fact from the journal. If that fails, it is recorded once more, which changes nothing."""
        try:
            self._journal.discard(fact)
        except OSError as error:
            log.warning("the journal keeps a reply that the database has, too (%s)", error.strerror)

    def _keep_on_disk(self, fact: Fact) -> None:
        """Keep the fact in the journal; a full disk hinders nothing else."""
        try:
            self._journal.append(fact)
        except OSError as error:
            log.error(
                "the mail server's reply cannot be kept on disk (%s), so only this worker knows it", error.strerror
            )


def settle(
    connection: Connection, endings: Sequence[Ending], *, config: DeliveryConfig
) -> list[DeliveryOutcome | None]:
    """End the claims of these deliveries and record the results of their mails, in the caller's transaction.

    Returns each one's outcome: LOST if the claim was no longer owned, None if another transaction has locked the row,
    so that it must be settled again. Raises EntriesLocked. Snoozes are locked before their sends, like in every other
    transaction.
    """
    if unknown := [one.claim for one in endings if one.outcome is None]:
        found = holds.resolve(connection, unknown, config=config)
        endings = [replace(one, **vars(found[one.claim.id])) if one.outcome is None else one for one in endings]
    ended = finish(connection, [one.claim for one in endings if one.is_finished])
    failures = [one.failure for one in endings if one.failure is not None]
    retired = queue.release(connection, failures=failures) if failures else {}
    unfinished = [(one.claim, one.hold) for one in endings if one.failure is None and not one.is_finished]
    if unfinished:
        ended |= holds.give_back(connection, unfinished, actor=config.actor)
    _record_in_ledger(connection, endings, config=config)
    _record_returns(
        connection, [one.claim for one in endings if one.claim.id in ended and one.is_return], config=config
    )
    digested = [one.claim for one in endings if one.claim.id in ended and one.outcome is DeliveryOutcome.ALREADY_SENT]
    if digested:
        digests.record(connection, claims=digested)
    _append_failures(connection, endings, retired, actor=config.actor)
    left = [one.claim for one in endings if one.claim.id not in ended and one.claim.id not in retired]
    owned = queue.owned(connection, held=queue.held(left)) if left else set()

    def outcome(ending: Ending) -> DeliveryOutcome | None:
        id = ending.claim.id
        if id in owned:
            return None
        if retired.get(id):
            is_uncertain = ending.outcome is DeliveryOutcome.UNCERTAIN
            return DeliveryOutcome.UNCERTAIN_CASE if is_uncertain else DeliveryOutcome.RETIRED
        return ending.outcome if id in ended or id in retired else DeliveryOutcome.LOST

    return [outcome(one) for one in endings]


def _record_returns(connection: Connection, claims: Sequence[Claim], *, config: DeliveryConfig) -> None:
    if claims:
        ledger.mark_alone(connection, claims=claims)
        lines: list[tuple[int, dict[str, object]]] = [(claim.id, {}) for claim in claims]
        events.append_many(connection, kind="returned", actor=config.actor, route=ROUTE, lines=lines)


def finish(connection: Connection, claims: Sequence[Claim]) -> set[int]:
    """End these snoozes, or schedule the next occurrence of recurring ones, once the message of this one is back.

    Returns the ids of the snoozes that were still owned and not locked.
    """
    occurrences = [(claim, _next_occurrence(connection, claim)) for claim in claims]
    once = [claim for claim, next_one in occurrences if next_one is None]
    recurring = [(claim, next_one) for claim, next_one in occurrences if next_one is not None]
    ended = queue.finalize(connection, held=queue.held(once)) if once else set()
    if not recurring:
        return ended
    mailbox_store.return_due(connection, batch_size=len(recurring), snooze_ids=[claim.id for claim, _ in recurring])
    return ended | queue.schedule_next(connection, occurrences=recurring)


def record_facts(connection: Connection, facts: Sequence[Fact], *, actor: str) -> set[str]:
    """Record that the server accepted these, with an event for late replies and second copies.

    Returns the reminders' Message-IDs that were recorded.
    """
    recorded = ledger.record(connection, facts=facts)
    for fact in facts:
        entry = recorded.get(fact.reminder_message_id)
        if entry is not None and (entry.late or entry.second_copy):
            detail = {"second_copy": entry.second_copy}
            events.append(connection, snooze_id=fact.snooze_id, kind="late", actor=actor, route=ROUTE, **detail)
    return set(recorded)


def _record_in_ledger(connection: Connection, endings: Iterable[Ending], *, config: DeliveryConfig) -> None:
    facts = [one.fact for one in endings if one.fact is not None]
    others = [send for one in endings if (send := one.other_send) is not None]
    missing = {one.reminder_message_id for one in facts} | {send.reminder_message_id for send in others}
    if facts:
        missing -= record_facts(connection, facts, actor=config.actor)
    if others:
        missing -= ledger.lock(connection, sends=others)
    if missing and (locked := ledger.exists(connection, reminder_message_ids=sorted(missing))):
        raise EntriesLocked(locked)
    refusals = [one.refusal for one in endings if one.refusal is not None]
    if refusals:
        ledger.refuse(connection, refusals=refusals)
    silences = [one.silence for one in endings if one.silence is not None]
    if silences:
        uncertain = ledger.mark_uncertain(connection, silences=silences)
        lines = [
            (send.snooze_id, {"reason": reason}) for send, reason in silences if send.reminder_message_id in uncertain
        ]
        events.append_many(connection, kind="uncertain", actor=config.actor, route=ROUTE, lines=lines)


def _append_failures(
    connection: Connection, endings: Iterable[Ending], retired: Mapping[int, bool], *, actor: str
) -> None:
    """Append an event for each failure that was recorded: `retired` tells which, and whether its row is retired now."""
    lines: dict[str, list[tuple[int, dict[str, object]]]] = defaultdict(list)
    for one in endings:
        failure = one.failure
        if failure is not None and one.appends_event and failure.id in retired:
            attempts = one.claim.attempts + failure.attempts_used
            kind = "retired" if retired[failure.id] else "failed"
            lines[kind].append((failure.id, {"error": failure.error, "attempts": attempts}))
    for kind, details in lines.items():
        events.append_many(connection, kind=kind, actor=actor, route=ROUTE, lines=details)


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
