"""One step of a delivery at a time, each in a transaction that its actor may leave open."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db import ledger, queue
from snoozer.db.ledger import UncertainPolicy
from snoozer.db.statements import ALL_IDS
from snoozer.domain.reminder import MAX_RESENDS, Claim, Send
from tests.db.transitions import LEASE, SHA, a_fact

NO_HOLD = UncertainPolicy(hold=timedelta(0))
AT_ONCE = timedelta(seconds=-1)
SNOOZES = 2
LOCK_NOT_AVAILABLE, DEADLOCK, UNIQUE_VIOLATION = "55P03", "40P01", "23505"


@dataclass
class Job:
    """One delivery of a worker: how far it is, as far as the worker knows."""

    claim: Claim
    send: Send
    marked: bool = False
    dotted: bool = False
    replied: bool = False


@dataclass
class Actor:
    """A process with a connection. What it learns in a transaction holds once that is committed."""

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
    """Do it; the worker knows of it once it is committed."""
    if not job.marked:
        if ledger.mark(connection, dots=[(job.send, SHA)]):
            actor.learnt.append(lambda: setattr(job, "marked", True))
        else:
            actor.learnt.append(lambda: actor.forget(job))
    elif not job.replied:
        assert ledger.record(connection, facts=[a_fact(job.send)])
        actor.learnt.append(lambda: setattr(job, "replied", True))
    else:
        queue.finalize(connection, held=[(job.claim.id, job.claim.claim_token)])
        actor.learnt.append(lambda: actor.forget(job))


def hear_nothing(connection: Connection, *, actor: Actor, job: Job) -> None:
    ledger.mark_uncertain(connection, send=job.send, reply="the connection was closed")
    _release(connection, job.claim, spent=0)
    actor.learnt.append(lambda: actor.forget(job))


def fail(connection: Connection, *, actor: Actor, job: Job) -> None:
    ledger.refuse(connection, send=job.send, permanent=False, reply="451 later")
    _release(connection, job.claim, spent=1)
    actor.learnt.append(lambda: actor.forget(job))


def settle_known(connection: Connection, claim: Claim) -> None:
    """As a delivery does with what the ledger did not reserve."""
    known = ledger.lookup(connection, snooze_id=claim.id, uncertainty=NO_HOLD)
    if known is not None and known.state == "sent":
        queue.finalize(connection, held=[(claim.id, claim.claim_token)])
    else:
        exhausted = known is not None and known.resends >= MAX_RESENDS
        _release(connection, claim, spent=0, permanent=exhausted)


def _release(connection: Connection, claim: Claim, *, spent: int, permanent: bool = False) -> None:
    queue.release(
        connection,
        id=claim.id,
        claim_token=claim.claim_token,
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


def whatever_is_locked(act: Callable[[], object]) -> bool:
    """Returns False when a lock was in the way."""
    try:
        act()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in (LOCK_NOT_AVAILABLE, DEADLOCK, UNIQUE_VIOLATION):
            raise
        return False
    return True
