"""USE CASE of the clock: bury workers, recover their claims, retire what is spent, doubt what was abandoned, archive
what is over, tidy.

Each chore is one short transaction under a lock that only one clock gets; what another clock is at is left to it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import telemetry
from snoozer.db import accounts, events, ledger, queue, workers
from snoozer.db import archive as shelf
from snoozer.db.archive import Archivable
from snoozer.db.errors import is_transient
from snoozer.db.ledger import UncertainPolicy
from snoozer.db.queue import Recovered
from snoozer.domain.reminder import MAX_RESENDS
from snoozer.housekeeping.exclusive import BATCH_SIZE, MAX_BATCHES, in_batches, record_server_start, run_exclusive
from snoozer.settings import Settings

log = logging.getLogger(__name__)

MAX_CRASHES = 5
ACTOR = "clock"
# At once, of each kind: a second or so.
MAX_PRUNED = 10_000


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """How long the clock waits before it acts. `delay` is the pause of a row whose worker was lost."""

    lease: timedelta
    dead_after: timedelta
    delay: timedelta
    uncertainty: UncertainPolicy
    deadline: timedelta

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The intervals that the environment sets."""
        return cls(
            lease=timedelta(seconds=settings.lease),
            dead_after=timedelta(seconds=settings.worker_dead),
            delay=timedelta(seconds=settings.poll),
            uncertainty=settings.uncertainty,
            deadline=timedelta(seconds=settings.deadline),
        )


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long what is over stays in the queue's tables, and how many whole months the archive keeps it after that."""

    archive_after: timedelta
    keep_months: int

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The ages that the environment sets."""
        return cls(archive_after=timedelta(days=settings.archive_after_days), keep_months=settings.keep_months)


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """What one sweep found."""

    recovered: list[Recovered] = field(default_factory=list)
    retired: list[int] = field(default_factory=list)
    orphans: list[int] = field(default_factory=list)
    dead_workers: list[str] = field(default_factory=list)
    verified: list[int] = field(default_factory=list)
    abandoned: list[int] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many rows became cases."""
        return len(self.retired) + sum(row.retired for row in self.recovered)


def sweep(engine: Engine, *, terms: SweepConfig) -> SweepResult:
    """The chores of every few seconds."""
    record_server_start(engine)
    buried = (
        run_exclusive(engine, "bury", lambda connection: workers.mark_dead(connection, dead_after=terms.dead_after))
        or []
    )
    result = SweepResult(
        dead_workers=buried,
        recovered=in_batches(engine, "recover", partial(_recover, terms=terms)),
        retired=in_batches(engine, "retire", _retire),
        orphans=in_batches(engine, "doubt", partial(_expire_orphans, terms=terms)),
        abandoned=in_batches(engine, "abandon", partial(_abandon, terms=terms)),
        verified=in_batches(engine, "verify", partial(_verify, terms=terms)),
    )
    telemetry.count_sweep(recovered=len(result.recovered), cases=result.cases)
    return result


def archive(engine: Engine, *, terms: Retention) -> int:
    """The chore of every minute: what is over moves to the archive; answers how many snoozes did."""
    moved, last = 0, None
    for _ in range(MAX_BATCHES):
        batch = run_exclusive(engine, "archive", partial(_archive, terms=terms, after=last))
        moved += batch.moved if batch else 0
        if batch is None or batch.last is None:
            break
        last = batch.last
    return moved


def maintain_partitions(engine: Engine, *, terms: Retention) -> list[str]:
    """The chore of every day: partitions for the months to come, none for the months that were kept long enough.

    Answers the partitions that were dropped.
    """
    run_exclusive(
        engine,
        "prepare months",
        lambda connection: shelf.create_partitions(connection, months=shelf.upcoming_months(connection)),
    )
    dropped = run_exclusive(
        engine, "expire months", lambda connection: shelf.drop_expired(connection, keep_months=terms.keep_months)
    )
    # A day brings more events than one go takes; there is nobody whom this keeps waiting.
    while len(in_batches(engine, "forget events", partial(_prune_events, terms=terms))) == MAX_BATCHES * BATCH_SIZE:
        pass
    return dropped or []


def prune(engine: Engine) -> None:
    """The chores of every hour: what is over and of no use to anybody."""
    run_exclusive(engine, "forget workers", workers.prune)
    forget = partial(accounts.prune_expired, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget sign-ins", forget) or 0) >= MAX_PRUNED:
        pass


def _recover(connection: Connection, among: range, *, terms: SweepConfig) -> list[Recovered]:
    found = queue.recover(
        connection,
        batch_size=BATCH_SIZE,
        lease=terms.lease,
        delay=terms.delay,
        hold=terms.uncertainty.hold,
        hold_for_operator=terms.uncertainty.for_operator,
        max_crashes=MAX_CRASHES,
        max_resends=MAX_RESENDS,
        id_range=among,
    )
    _append_events(connection, "recovered", [(row.id, {"worker": row.worker}) for row in found])
    _append_events(connection, "uncertain", [(row.id, {"worker": row.worker}) for row in found if row.uncertain])
    _append_events(connection, "retired", [(row.id, {}) for row in found if row.retired])
    return found


def _retire(connection: Connection, among: range) -> list[int]:
    found = queue.retire(connection, batch_size=BATCH_SIZE, id_range=among)
    _append_events(connection, "retired", [(id, {}) for id in found])
    return found


def _expire_orphans(connection: Connection, among: range, *, terms: SweepConfig) -> list[int]:
    found = ledger.expire_orphans(connection, deadline=terms.deadline, batch_size=BATCH_SIZE, id_range=among)
    _append_events(connection, "uncertain", [(id, {}) for id in found])
    return found


def _abandon(connection: Connection, among: range, *, terms: SweepConfig) -> list[int]:
    return ledger.abandon(connection, hold=terms.uncertainty.hold, batch_size=BATCH_SIZE, id_range=among)


def _verify(connection: Connection, among: range, *, terms: SweepConfig) -> list[int]:
    if not terms.uncertainty.lookups:
        return []
    looked = ledger.verify(connection, uncertainty=terms.uncertainty, batch_size=BATCH_SIZE, id_range=among)
    found = [id for id, there in looked if there]
    _append_events(connection, "verified", [(id, {}) for id in found])
    return found


def _prune_events(connection: Connection, among: range, *, terms: Retention) -> list[int]:
    return shelf.prune_events(connection, keep_months=terms.keep_months, batch_size=BATCH_SIZE, id_range=among)


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """How many of a batch moved, and where the next one goes on; None at the end."""

    moved: int
    last: Archivable | None


def _archive(connection: Connection, *, terms: Retention, after: Archivable | None) -> _Batch:
    found = shelf.list_archivable(connection, older_than=terms.archive_after, batch_size=BATCH_SIZE, after=after)
    shelf.create_partitions(connection, months=sorted({row.month for row in found}))
    moved = _move(connection, [row.id for row in found], terms=terms)
    return _Batch(moved=moved, last=found[-1] if len(found) == BATCH_SIZE else None)


def _move(connection: Connection, ids: Sequence[int], *, terms: Retention) -> int:
    """Move a batch, or row by row what of it can be moved: one bad row keeps nobody else back."""
    try:
        with connection.begin_nested():
            return len(queue.archive(connection, ids=ids, older_than=terms.archive_after))
    except DBAPIError as error:
        if is_transient(error):
            raise
        if len(ids) == 1:
            log.warning("snooze %d cannot be archived: %s; it stays in the queue", ids[0], type(error.orig).__name__)
            return 0
    return sum(_move(connection, [id], terms=terms) for id in ids)


def _append_events(connection: Connection, kind: str, lines: Sequence[tuple[int, Mapping[str, object]]]) -> None:
    events.append_many(connection, kind=kind, actor=ACTOR, route=ACTOR, lines=lines)
