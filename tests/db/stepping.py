"""One step of a delivery at a time, each in a transaction that its actor may leave open."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db.statements import ALL_IDS
from snoozer.queue import ledger, queue
from snoozer.queue.limits import MAX_RESENDS
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from tests.db.transitions import LEASE, SHA, a_fact, mark_uncertain_one, refuse_one, release_one

NO_HOLD = UncertainPolicy(hold=timedelta(0))
AT_ONCE = timedelta(seconds=-1)
SNOOZES = 2
LOCK_NOT_AVAILABLE, DEADLOCK, UNIQUE_VIOLATION = "55P03", "40P01", "23505"


@dataclass
class Job:
    """One delivery of a worker, and how far it has come as far as the worker knows."""

    claim: Claim
    send: Send
    marked: bool = False
    dotted: bool = False
    replied: bool = False


@dataclass
class Actor:
    """A worker, the clock or a person, with a connection. What it learns counts once committed."""

    name: str
    connection: Connection
    learnt: list[Callable[[], None]] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    def commit(self) -> None:
        self.connection.commit()
        for learn in self.learnt:
            learn()
        self.learnt.clear()

    def roll_back(self) -> None:
        self.connection.rollback()
        self.learnt.clear()

    def forget(self, job: Job) -> None:
        if job in self.jobs:
            self.jobs.remove(job)


def next_step(connection: Connection, *, actor: Actor, job: Job) -> None:
    """Execute it; the worker knows of it once it is committed."""
    held = [(job.claim.id, job.claim.claim_token)]
    if not job.marked:
        if ledger.authorise(connection, dots=[(job.send, SHA)], uncertainty=NO_HOLD):
            actor.learnt.append(lambda: setattr(job, "marked", True))
        elif not queue.owned(connection, held=held):
            actor.learnt.append(lambda: actor.forget(job))
    elif not job.replied:
        if ledger.record(connection, facts=[a_fact(job.send)]):
            actor.learnt.append(lambda: setattr(job, "replied", True))
        else:
            assert ledger.exists(connection, reminder_message_ids=[job.send.reminder_message_id]), "it is locked"
    elif queue.finalize(connection, held=held) or not queue.owned(connection, held=held):
        actor.learnt.append(lambda: actor.forget(job))


def get_no_reply(connection: Connection, *, actor: Actor, job: Job) -> None:
    mark_uncertain_one(connection, job.send)
    _release(connection, job.claim, spent=0)
    actor.learnt.append(lambda: actor.forget(job))


def fail(connection: Connection, *, actor: Actor, job: Job) -> None:
    refuse_one(connection, job.send, reply="451 later")
    _release(connection, job.claim, spent=1)
    actor.learnt.append(lambda: actor.forget(job))


def resolve_known(connection: Connection, claim: Claim) -> None:
    """As a worker does with a claim whose mail must not be sent."""
    known = ledger.lookup(connection, snooze_id=claim.id, uncertainty=NO_HOLD)
    if known is not None and known.state == "sent":
        queue.finalize(connection, held=[(claim.id, claim.claim_token)])
    else:
        exhausted = known is not None and known.resends >= MAX_RESENDS
        _release(connection, claim, spent=0, permanent=exhausted)


def _release(connection: Connection, claim: Claim, *, spent: int, permanent: bool = False) -> None:
    release_one(
        connection,
        claim,
        error="451 later",
        attempts_used=spent,
        delay=AT_ONCE,
        permanent=permanent,
    )


def recover(connection: Connection) -> None:
    queue.recover(
        connection,
        batch_size=SNOOZES,
        lease=LEASE,
        delay=AT_ONCE,
        hold=AT_ONCE,
        hold_for_operator=False,
        max_crashes=1000,
        max_resends=MAX_RESENDS,
        id_range=ALL_IDS,
    )


def unless_locked(act: Callable[[], object]) -> bool:
    """Returns False when another actor held the lock."""
    try:
        act()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in (LOCK_NOT_AVAILABLE, DEADLOCK, UNIQUE_VIOLATION):
            raise
        return False
    return True
