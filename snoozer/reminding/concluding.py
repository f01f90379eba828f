"""The end of what went well: the server's word in the ledger, the snooze over or promised anew, its message on top."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Engine

from snoozer.domain.reminder import Claim, Verdict
from snoozer.domain.times import promise_after
from snoozer.postgres import clock, events, kept, ledger, queue
from snoozer.postgres.journal import Journal
from snoozer.postgres.ledger import Fact
from snoozer.reminding.taking import ROUTE

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A reminder that the server took, and the claim it was sent under."""

    claim: Claim
    fact: Fact


def conclude(engine: Engine, many: Sequence[Taken], *, actor: str) -> list[Verdict]:
    """Write down the facts and finish the snoozes, in one commit; LOST where the claim was no longer ours.

    The snoozes come first, because whoever else locks both locks them in that order.
    """
    with engine.begin() as connection:
        ours = finalize(connection, [taken.claim for taken in many])
        write_facts(connection, [taken.fact for taken in many], actor=actor)
    return [Verdict.SENT if (taken.claim.id, taken.claim.claim_token) in ours else Verdict.LOST for taken in many]


def finalize(connection: Connection, claims: Sequence[Claim]) -> set[tuple[int, UUID]]:
    """The snoozes are over, or promised anew where they recur, and their kept messages lie on top of the inbox.

    Answers the claims that were still ours.
    """
    once = [(claim.id, claim.claim_token) for claim in claims if claim.recurrence is None]
    again = [claim for claim in claims if claim.recurrence is not None]
    ours = queue.finalize(connection, held=once) if once else set()
    ours |= {(claim.id, claim.claim_token) for claim in again if _rearm(connection, claim)}
    if ours:
        kept.surface(connection, snooze_ids=[id for id, _ in ours])
    return ours


def write_facts(connection: Connection, facts: Sequence[Fact], *, actor: str) -> set[str]:
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


def write_inherited_facts(engine: Engine, *, journal: Journal, actor: str) -> int:
    """Write down what dead workers heard and could not tell; answers how many facts there were."""
    count = 0
    for path, facts in journal.inherited():
        known = [_write_fact(engine, fact, actor=actor) for fact in facts]
        count += sum(known)
        if all(known):
            path.unlink(missing_ok=True)
        else:
            log.warning("%s tells of reminders this database does not know; it is kept as .unknown", path.name)
            with suppress(FileNotFoundError):  # Whoever starts in the same moment may have been quicker.
                path.rename(path.with_suffix(".unknown"))
    return count


def _write_fact(engine: Engine, fact: Fact, *, actor: str) -> bool:
    with engine.begin() as connection:
        return bool(write_facts(connection, [fact], actor=actor))


def _rearm(connection: Connection, claim: Claim) -> bool:
    again = _next_promise(connection, claim)
    if again is None:
        return bool(queue.finalize(connection, held=[(claim.id, claim.claim_token)]))
    return queue.rearm(connection, id=claim.id, claim_token=claim.claim_token, remind_at=again)


def _next_promise(connection: Connection, claim: Claim) -> datetime | None:
    """The next occurrence of a recurring snooze. Occurrences missed during an outage are not made up for."""
    if claim.recurrence is None:
        return None
    try:
        now = clock.now(connection)
        return promise_after(claim.recurrence, promised=claim.scheduled_for, now=now, zone=claim.zone)
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence was its last", claim.id)
        return None
