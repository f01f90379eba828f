"""How a delivery ends: what the server said is written down, and the claim is settled by showing its token.

Every act is repeated until the database is there to hear it. Repeating is harmless: facts stay what they are, and a
claim that was settled or lost in the meantime answers with no row.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.domain import backoff
from snoozer.domain.reminder import Claim, Send, Verdict
from snoozer.domain.times import Recurrence, next_occurrence
from snoozer.mail.smtp import Refused, Reply
from snoozer.postgres import clock, events, kept, ledger, queue
from snoozer.postgres.engine import may_pass
from snoozer.postgres.journal import Journal
from snoozer.postgres.ledger import MOST_RESENDS, Fact
from snoozer.reminding.taking import ROUTE, Terms

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
NEVER_SENT = "The final dot was never sent"


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """Settles the claims of one worker, from any of its threads. `giving_up` ends the wait for an absent database."""

    engine: Engine
    journal: Journal
    terms: Terms
    giving_up: Callable[[], bool]
    rng: Random

    def record(self, send: Send, reply: Reply) -> None:
        """The server took it: in the ledger when this returns, or in the journal when the worker gives up waiting."""
        fact = Fact(
            reminder_message_id=send.reminder_message_id,
            snooze_id=send.snooze_id,
            claim_token=send.claim_token,
            smtp_code=reply.code,
            enhanced_code=reply.enhanced,
            reply=reply.text,
            queue_id=reply.queue_id,
        )
        try:
            write_fact(self.engine, fact=fact, actor=self.terms.actor)
        except Exception:
            # Whatever went wrong, what the server said must not be forgotten.
            self.journal.append(fact)
            self._until_done(lambda connection: _write_fact(connection, fact=fact, actor=self.terms.actor))
            self.journal.settle(fact)

    def finalize(self, claim: Claim, *, verdict: Verdict = Verdict.SENT) -> Verdict:
        """The snooze is over, or promised anew when it recurs, and its kept message lies on top of the inbox."""

        def finalize(connection: Connection) -> bool:
            again = _next_promise(connection, claim)
            if again is None:
                ours = queue.finalize(connection, id=claim.id, claim_token=claim.claim_token)
            else:
                ours = queue.rearm(connection, id=claim.id, claim_token=claim.claim_token, remind_at=again)
            if not ours:
                return False
            kept.surface(connection, user_email=claim.user_email, message_id=claim.message_id)
            return True

        return verdict if self._until_done(finalize) else Verdict.LOST

    def withdraw(self, send: Send) -> None:
        """No dot left, so there is nothing uncertain, and if the claim is still ours it goes back untouched."""

        def withdraw(connection: Connection) -> None:
            ledger.refuse(connection, send=send, permanent=False, reply=NEVER_SENT)
            queue.hand_back(connection, held=[(send.snooze_id, send.claim_token)])

        self._until_done(withdraw)

    def refuse(self, claim: Claim, send: Send, refused: Refused) -> Verdict:
        """The server refused the mail: an attempt is spent, and a permanent refusal ends in a case."""
        self._until_done(
            lambda connection: ledger.refuse(
                connection,
                send=send,
                permanent=refused.permanent,
                reply=refused.text,
                smtp_code=refused.code,
                enhanced_code=refused.enhanced,
            )
        )
        return self.release(claim, error=str(refused), spent=1, permanent=refused.permanent)

    def doubt(self, claim: Claim, send: Send, *, reason: str) -> Verdict:
        """No answer came after the dot: it may have been sent, and waits out the hold before it is sent again."""

        def doubt(connection: Connection) -> int | None:
            resends = ledger.doubt(connection, send=send, reply=reason)
            if resends is not None:
                self._write_down(connection, claim.id, "uncertain", reason=reason)
            return resends

        exhausted = (self._until_done(doubt) or 0) >= MOST_RESENDS
        self.release(
            claim,
            error=f"{may_have_been_sent(exhausted)}: {reason}",
            spent=0,
            delay=self.terms.uncertainty.hold,
            permanent=exhausted or self.terms.uncertainty.for_operator,
        )
        return Verdict.UNCERTAIN

    def postpone(self, claim: Claim, *, error: str) -> Verdict:
        """The mail server is away. That is not this reminder's fault: no attempt is spent."""
        verdict = self.release(claim, error=error, spent=0)
        return Verdict.POSTPONED if verdict is Verdict.RELEASED else verdict

    def hand_back(self, claim: Claim) -> Verdict:
        """It was not tried, so nothing is spent and nothing is written down."""
        held = [(claim.id, claim.claim_token)]
        back = self._until_done(lambda connection: queue.hand_back(connection, held=held))
        return Verdict.HANDED_BACK if back else Verdict.LOST

    def release(
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

        state = self._until_done(release)
        if state is None:
            return Verdict.LOST
        return Verdict.RETIRED if state == "retired" else Verdict.RELEASED

    def _write_down(self, connection: Connection, snooze_id: int, kind: str, **detail: object) -> None:
        events.append(connection, snooze_id=snooze_id, kind=kind, actor=self.terms.actor, route=ROUTE, **detail)

    def _until_done(self, act: Callable[[Connection], T]) -> T:
        pause = FIRST_PAUSE
        while True:
            try:
                with self.engine.begin() as connection:
                    return act(connection)
            except SQLAlchemyError as error:
                if not may_pass(error) or self.giving_up():
                    raise
            time.sleep(pause * (0.5 + self.rng.random()))
            pause = min(pause * 2, LONGEST_PAUSE)


def write_fact(engine: Engine, *, fact: Fact, actor: str) -> bool:
    """Write down that the server took a reminder, and leave a trace when that came late; False when it is unknown."""
    with engine.begin() as connection:
        return _write_fact(connection, fact=fact, actor=actor)


def write_inherited_facts(engine: Engine, *, journal: Journal, actor: str) -> int:
    """Write down what dead workers heard and could not tell; answers how many facts there were."""
    count = 0
    for path, facts in journal.inherited():
        known = [write_fact(engine, fact=fact, actor=actor) for fact in facts]
        count += sum(known)
        if all(known):
            path.unlink(missing_ok=True)
        else:
            log.warning("%s tells of reminders this database does not know; it is kept as .unknown", path.name)
            path.rename(path.with_suffix(".unknown"))
    return count


def may_have_been_sent(exhausted: bool) -> str:
    """The sentence for an uncertain reminder; `exhausted` when it is not sent again by itself."""
    if exhausted:
        return "It may have been sent, and was sent again twice without an answer"
    return "It may have been sent: no answer came after the end of the message"


def _next_promise(connection: Connection, claim: Claim) -> datetime | None:
    """The next occurrence of a recurring snooze. Occurrences missed during an outage are not made up for."""
    if claim.recurrence is None:
        return None
    try:
        recurrence = Recurrence.from_json(claim.recurrence)
        after = max(claim.scheduled_for, clock.now(connection))
        return next_occurrence(recurrence, after=after, zone=claim.zone or "UTC")
    except (KeyError, TypeError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence was its last", claim.id)
        return None


def _write_fact(connection: Connection, *, fact: Fact, actor: str) -> bool:
    told = ledger.record(connection, fact=fact)
    if told is None:
        return False
    if told.late or told.second_copy:
        events.append(
            connection,
            snooze_id=fact.snooze_id,
            kind="late",
            actor=actor,
            route=ROUTE,
            second_copy=told.second_copy,
        )
    return True
