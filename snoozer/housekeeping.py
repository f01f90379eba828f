"""USE CASE of the clock: bury workers, recover their claims, retire what is spent, doubt what was abandoned, archive
what is over, tidy.

Each chore is one short transaction under a lock that only one clock gets; what another clock is at is left to it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.postgres import archive as shelf
from snoozer.postgres import events, ledger, people, queue, workers
from snoozer.postgres.archive import Ripe
from snoozer.postgres.changes import Recovered
from snoozer.postgres.engine import may_pass
from snoozer.postgres.housekeeping import BATCH_SIZE, MOST_BATCHES, alone, in_batches, meet
from snoozer.postgres.ledger import MOST_RESENDS, Uncertainty

log = logging.getLogger(__name__)

MOST_CRASHES = 5
ACTOR = "clock"
# At once, of each kind: a second or so.
MOST_FORGOTTEN = 10_000


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
    meet(engine)
    buried = alone(engine, "bury", lambda connection: workers.bury(connection, dead_after=terms.dead_after)) or []
    return Swept(
        buried=buried,
        recovered=in_batches(engine, "recover", partial(_recover, terms=terms)),
        retired=in_batches(engine, "retire", _retire),
        doubted=in_batches(engine, "doubt", partial(_doubt, terms=terms)),
        abandoned=in_batches(engine, "abandon", partial(_abandon, terms=terms)),
        verified=in_batches(engine, "verify", partial(_verify, terms=terms)),
    )


def archive(engine: Engine, *, terms: Retention) -> int:
    """The chore of every minute: what is over moves to the archive; answers how many snoozes did."""
    moved, last = 0, None
    for _ in range(MOST_BATCHES):
        batch = alone(engine, "archive", partial(_archive, terms=terms, after=last))
        moved += batch.moved if batch else 0
        if batch is None or batch.last is None:
            break
        last = batch.last
    return moved


def keep_months(engine: Engine, *, terms: Retention) -> list[str]:
    """The chore of every day: partitions for the months to come, none for the months that were kept long enough.

    Answers the partitions that were dropped.
    """
    alone(engine, "prepare months", lambda connection: shelf.prepare(connection, months=shelf.ahead(connection)))
    dropped = alone(engine, "expire months", lambda connection: shelf.expire(connection, keep_months=terms.keep_months))
    # A day brings more events than one go takes; there is nobody whom this keeps waiting.
    while len(in_batches(engine, "forget events", partial(_forget_events, terms=terms))) == MOST_BATCHES * BATCH_SIZE:
        pass
    return dropped or []


def tidy(engine: Engine) -> None:
    """The chores of every hour: what is over and of no use to anybody."""
    alone(engine, "forget workers", workers.forget)
    forget = partial(people.forget_expired, batch_size=MOST_FORGOTTEN)
    while (alone(engine, "forget sign-ins", forget) or 0) >= MOST_FORGOTTEN:
        pass


def _recover(connection: Connection, among: range, *, terms: Terms) -> list[Recovered]:
    found = queue.recover(
        connection,
        batch_size=BATCH_SIZE,
        lease=terms.lease,
        delay=terms.delay,
        hold=terms.uncertainty.hold,
        hold_for_operator=terms.uncertainty.for_operator,
        most_crashes=MOST_CRASHES,
        most_resends=MOST_RESENDS,
        among=among,
    )
    _write_down(connection, "recovered", [(row.id, {"worker": row.worker}) for row in found])
    _write_down(connection, "uncertain", [(row.id, {"worker": row.worker}) for row in found if row.uncertain])
    _write_down(connection, "retired", [(row.id, {}) for row in found if row.retired])
    return found


def _retire(connection: Connection, among: range) -> list[int]:
    found = queue.retire(connection, batch_size=BATCH_SIZE, among=among)
    _write_down(connection, "retired", [(id, {}) for id in found])
    return found


def _doubt(connection: Connection, among: range, *, terms: Terms) -> list[int]:
    found = ledger.doubt_orphans(connection, deadline=terms.deadline, batch_size=BATCH_SIZE, among=among)
    _write_down(connection, "uncertain", [(id, {}) for id in found])
    return found


def _abandon(connection: Connection, among: range, *, terms: Terms) -> list[int]:
    return ledger.abandon(connection, hold=terms.uncertainty.hold, batch_size=BATCH_SIZE, among=among)


def _verify(connection: Connection, among: range, *, terms: Terms) -> list[int]:
    if not terms.uncertainty.looks:
        return []
    looked = ledger.verify(connection, uncertainty=terms.uncertainty, batch_size=BATCH_SIZE, among=among)
    found = [id for id, there in looked if there]
    _write_down(connection, "verified", [(id, {}) for id in found])
    return found


def _forget_events(connection: Connection, among: range, *, terms: Retention) -> list[int]:
    return shelf.forget_events(connection, keep_months=terms.keep_months, batch_size=BATCH_SIZE, among=among)


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


def _write_down(connection: Connection, kind: str, lines: Sequence[tuple[int, Mapping[str, object]]]) -> None:
    events.append_each(connection, kind=kind, actor=ACTOR, route=ACTOR, lines=lines)
