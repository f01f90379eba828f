"""USE CASE of the clock: bury workers, recover their claims, retire what is spent, doubt what was abandoned, archive
what is over, tidy.

Each chore is one short transaction under a lock that only one clock gets; what another clock is at is left to it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.postgres import archive as shelf
from snoozer.postgres import events, housekeeping, ledger, people, queue, workers
from snoozer.postgres.archive import Ripe
from snoozer.postgres.engine import may_pass
from snoozer.postgres.ledger import MOST_RESENDS, Uncertainty
from snoozer.postgres.queue import Recovered

T = TypeVar("T")

log = logging.getLogger(__name__)

BATCH_SIZE = 500
MOST_BATCHES = 20
MOST_CRASHES = 5
ACTOR = "clock"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How long the clock waits before it acts. `delay` is the pause of a row whose worker was lost."""

    lease: timedelta
    dead_after: timedelta
    delay: timedelta
    uncertainty: Uncertainty
    deadline: timedelta


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long what is over stays in the queue's tables, and how many whole months the archive keeps it after that."""

    archive_after: timedelta
    keep_months: int


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What one sweep found."""

    recovered: list[Recovered] = field(default_factory=list)
    retired: list[int] = field(default_factory=list)
    doubted: list[int] = field(default_factory=list)
    buried: list[str] = field(default_factory=list)
    verified: list[int] = field(default_factory=list)
    abandoned: list[int] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many rows became cases."""
        return len(self.retired) + sum(row.retired for row in self.recovered)


def sweep(engine: Engine, *, terms: Terms) -> Swept:
    """The chores of every few seconds."""
    buried = _alone(engine, "bury", lambda connection: workers.bury(connection, dead_after=terms.dead_after)) or []
    return Swept(
        buried=buried,
        recovered=_in_batches(engine, "recover", lambda connection: _recover(connection, terms=terms)),
        retired=_in_batches(engine, "retire", _retire),
        doubted=_in_batches(engine, "doubt", lambda connection: _doubt(connection, terms=terms)),
        abandoned=_in_batches(engine, "abandon", lambda connection: _abandon(connection, terms=terms)),
        verified=_in_batches(engine, "verify", lambda connection: _verify(connection, terms=terms)),
    )


def archive(engine: Engine, *, terms: Retention) -> int:
    """The chore of every minute: what is over moves to the archive; answers how many snoozes did."""
    moved, last = 0, None
    for _ in range(MOST_BATCHES):
        batch = _alone(engine, "archive", partial(_archive, terms=terms, after=last))
        moved += batch.moved if batch else 0
        if batch is None or batch.last is None:
            break
        last = batch.last
    return moved


def keep_months(engine: Engine, *, terms: Retention) -> list[str]:
    """The chore of every day: partitions for the months to come, none for the months that were kept long enough.

    Answers the partitions that were dropped.
    """
    _alone(engine, "prepare months", lambda connection: shelf.prepare(connection, months=shelf.ahead(connection)))
    dropped = _alone(
        engine, "expire months", lambda connection: shelf.expire(connection, keep_months=terms.keep_months)
    )
    _in_batches(
        engine,
        "forget events",
        lambda connection: shelf.forget_events(connection, keep_months=terms.keep_months, batch_size=BATCH_SIZE),
    )
    return dropped or []


def tidy(engine: Engine) -> None:
    """The chores of every hour: what is over and of no use to anybody."""
    _alone(engine, "forget workers", workers.forget)
    _alone(engine, "forget sign-ins", people.forget_expired)


def _recover(connection: Connection, *, terms: Terms) -> list[Recovered]:
    found = queue.recover(
        connection,
        batch_size=BATCH_SIZE,
        lease=terms.lease,
        delay=terms.delay,
        hold=terms.uncertainty.hold,
        hold_for_operator=terms.uncertainty.for_operator,
        most_crashes=MOST_CRASHES,
        most_resends=MOST_RESENDS,
    )
    for row in found:
        _write_down(connection, row.id, "recovered", worker=row.worker)
        if row.uncertain:
            _write_down(connection, row.id, "uncertain", worker=row.worker)
        if row.retired:
            _write_down(connection, row.id, "retired")
    return found


def _retire(connection: Connection) -> list[int]:
    found = queue.retire(connection, batch_size=BATCH_SIZE)
    for id in found:
        _write_down(connection, id, "retired")
    return found


def _doubt(connection: Connection, *, terms: Terms) -> list[int]:
    found = ledger.doubt_orphans(connection, deadline=terms.deadline, batch_size=BATCH_SIZE)
    for id in found:
        _write_down(connection, id, "uncertain")
    return found


def _abandon(connection: Connection, *, terms: Terms) -> list[int]:
    return ledger.abandon(connection, hold=terms.uncertainty.hold, batch_size=BATCH_SIZE)


def _verify(connection: Connection, *, terms: Terms) -> list[int]:
    if not terms.uncertainty.looks:
        return []
    found = [
        id for id, there in ledger.verify(connection, uncertainty=terms.uncertainty, batch_size=BATCH_SIZE) if there
    ]
    for id in found:
        _write_down(connection, id, "verified")
    return found


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """How many of a batch moved, and where the next one goes on; None at the end."""

    moved: int
    last: Ripe | None


def _archive(connection: Connection, *, terms: Retention, after: Ripe | None) -> _Batch:
    found = shelf.ripe(connection, older_than=terms.archive_after, batch_size=BATCH_SIZE, after=after)
    shelf.prepare(connection, months=sorted({row.month for row in found}))
    moved = _move(connection, [row.id for row in found], terms=terms)
    return _Batch(moved=moved, last=found[-1] if len(found) == BATCH_SIZE else None)


def _move(connection: Connection, ids: Sequence[int], *, terms: Retention) -> int:
    """Move a batch, or row by row what of it can be moved: one bad row keeps nobody else back."""
    try:
        with connection.begin_nested():
            return len(queue.archive(connection, ids=ids, older_than=terms.archive_after))
    except DBAPIError as error:
        if may_pass(error):
            raise
        if len(ids) == 1:
            log.warning("snooze %d cannot be archived: %s; it stays in the queue", ids[0], type(error.orig).__name__)
            return 0
    return sum(_move(connection, [id], terms=terms) for id in ids)


def _write_down(connection: Connection, snooze_id: int, kind: str, **detail: object) -> None:
    events.append(connection, snooze_id=snooze_id, kind=kind, actor=ACTOR, route=ACTOR, **detail)


def _in_batches(engine: Engine, chore: str, act: Callable[[Connection], list[T]]) -> list[T]:
    found: list[T] = []
    for _ in range(MOST_BATCHES):
        batch = _alone(engine, chore, act) or []
        found += batch
        if len(batch) < BATCH_SIZE:
            break
    return found


def _alone(engine: Engine, chore: str, act: Callable[[Connection], T]) -> T | None:
    with engine.begin() as connection:
        if not housekeeping.alone(connection, chore=chore):
            return None
        result = act(connection)
        housekeeping.finished(connection, chore=chore)
        return result
