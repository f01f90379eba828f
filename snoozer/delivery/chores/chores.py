"""USE CASE of the clock: declare silent workers dead, recover their claims, retire exhausted rows, archive, prune.

Each chore is one short transaction under an advisory lock; a chore that another clock holds is skipped.
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
from snoozer.db import (
    accounts,
    audit,
    imports,
    list_changes,
    mailbox_store,
    minutes,
    operations,
    push,
    quotas,
    webhooks,
)
from snoozer.db.audit import Entry
from snoozer.db.errors import error_text, is_transient
from snoozer.db.roles import GROUP_ROLE_LIFETIME
from snoozer.delivery.chores.chore_runner import (
    BATCH_SIZE,
    MAX_BATCHES,
    in_batches,
    record_server_start,
    run_exclusive,
    run_if_due,
)
from snoozer.queue import archive as archive_db
from snoozer.queue import digests, events, ledger, queue, workers
from snoozer.queue.archive import Archivable
from snoozer.queue.ledger import UncertainPolicy
from snoozer.queue.limits import MAX_CRASHES, MAX_RESENDS
from snoozer.queue.reminder import Recovered
from snoozer.settings import Settings

log = logging.getLogger(__name__)

ACTOR = "clock"
# Rows of each kind in one transaction: about a second.
MAX_PRUNED = 10_000
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# How long to keep the result of each row of an operation; the audit log keeps the acts.
KEEP_OPERATIONS = timedelta(days=90)
# A page that has had no update for longer, such as on a laptop that slept, fetches its list anyway.
KEEP_CHANGES = timedelta(minutes=5)
# By then a minute's last transactions are committed; and most uncertain sends are settled.
RECORD_AGAIN, SETTLED_AFTER = timedelta(minutes=2), timedelta(hours=3)


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """When a sweep acts. `delay` is how long a row whose worker was lost waits before its next claim."""

    lease: timedelta
    dead_after: timedelta
    delay: timedelta
    uncertainty: UncertainPolicy
    deadline: timedelta

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The intervals of the settings."""
        return cls(
            lease=timedelta(seconds=settings.lease),
            dead_after=timedelta(seconds=settings.worker_dead),
            delay=timedelta(seconds=settings.poll),
            uncertainty=settings.uncertainty,
            deadline=timedelta(seconds=settings.deadline),
        )


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long finished rows stay in the queue's tables, and for how many whole months the archive keeps them."""

    archive_after: timedelta
    keep_months: int

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The ages of the settings."""
        return cls(archive_after=timedelta(days=settings.archive_after_days), keep_months=settings.keep_months)


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """Ids of the snoozes and workers that one sweep changed."""

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


def sweep(engine: Engine, *, config: SweepConfig) -> SweepResult:
    """Run the chores that are due every few seconds."""
    record_server_start(engine)
    dead = run_exclusive(engine, "bury", lambda connection: workers.mark_dead(connection, dead_after=config.dead_after))
    result = SweepResult(
        dead_workers=dead or [],
        recovered=in_batches(engine, "recover", partial(_recover, config=config)),
        retired=in_batches(engine, "retire", _retire),
        orphans=in_batches(engine, "doubt", partial(_expire_orphans, config=config)),
        abandoned=in_batches(engine, "abandon", partial(_abandon, config=config)),
        verified=in_batches(engine, "verify", partial(_verify, config=config)),
    )
    telemetry.count_sweep(recovered=result.recovered, retired=len(result.retired))
    return result


def archive(engine: Engine, *, config: Retention) -> int:
    """Run the minutely chore: move finished snoozes to the archive; returns how many."""
    moved, last = 0, None
    for _ in range(MAX_BATCHES):
        batch = run_exclusive(engine, "archive", partial(_archive, config=config, after=last))
        moved += batch.moved if batch else 0
        if batch is None or batch.last is None:
            break
        last = batch.last
    return moved


def maintain_partitions(engine: Engine, *, config: Retention) -> list[str]:
    """Create the partitions of coming months, drop expired ones, old events and old digests; returns the partitions
    dropped."""
    run_exclusive(
        engine,
        "prepare months",
        lambda connection: archive_db.create_partitions(connection, months=archive_db.upcoming_months(connection)),
    )
    dropped = run_exclusive(
        engine, "expire months", lambda connection: archive_db.drop_expired(connection, keep_months=config.keep_months)
    )
    prune_digests = partial(digests.prune, older_than=config.archive_after, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget digests", prune_digests) or 0) >= MAX_PRUNED:
        pass
    # One call deletes fewer events than may be added in a day.
    while len(in_batches(engine, "forget events", partial(_prune_events, config=config))) == MAX_BATCHES * BATCH_SIZE:
        pass
    return dropped or []


def run_daily(engine: Engine, *, config: Retention) -> bool:
    """Run the daily chore if it is due by its last record; returns whether it ran."""
    return run_if_due(engine, "daily", every=DAY, chore=lambda: maintain_partitions(engine, config=config))


def run_hourly(engine: Engine) -> bool:
    """Run the hourly chore if it is due by its last record; returns whether it ran."""
    return run_if_due(engine, "hourly", every=HOUR, chore=lambda: _hourly(engine))


def record_minutes(engine: Engine) -> None:
    """Run the minutely chore that records statistics, even of minutes in which no clock ran."""
    run_exclusive(engine, "minutes", lambda connection: minutes.record(connection, again=RECORD_AGAIN))


def roll_minutes(engine: Engine) -> None:
    """Run the hourly chore for statistics: record minutes with late-known sends again, and roll old minutes into
    hours."""
    run_exclusive(engine, "minutes", lambda connection: minutes.record(connection, again=SETTLED_AFTER))
    while len(run_exclusive(engine, "minutes", minutes.roll) or ()) >= minutes.MAX_HOURS:
        pass


def forget_changes(engine: Engine) -> bool:
    """Run the five-minute chore if it is due by its last record; returns whether it ran."""
    return run_if_due(engine, "list changes", every=KEEP_CHANGES, chore=lambda: prune_changes(engine))


def prune_changes(engine: Engine) -> None:
    """Delete notes of changed lists that are older than the last call."""
    run_exclusive(engine, "advance list changes", list_changes.advance)
    prune_batch = partial(list_changes.prune, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget list changes", prune_batch) or 0) >= MAX_PRUNED:
        pass


def prune(engine: Engine) -> None:
    """Delete dead workers, old sign-ins, sessions, idempotency keys, usage of quotas, messages that are back, pushes,
    webhooks and operations that ended long ago, and unconfirmed imports; end roles by groups that are a day old; enter
    in the ledger the reminders of digests."""
    run_exclusive(engine, "forget workers", workers.prune)
    settle_digests = partial(digests.settle, batch_size=BATCH_SIZE)
    while (run_exclusive(engine, "settle digests", settle_digests) or 0) >= BATCH_SIZE:
        pass
    prune_operations = partial(operations.prune, older_than=KEEP_OPERATIONS, batch_size=MAX_PRUNED)
    while run_exclusive(engine, "forget operations", prune_operations):
        pass
    prune_messages = partial(mailbox_store.prune, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget mailbox messages", prune_messages) or 0) >= MAX_PRUNED:
        pass
    prune_batch = partial(accounts.prune_expired, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget sign-ins", prune_batch) or 0) >= MAX_PRUNED:
        pass
    # Small batches, because an import may have thousands of rows.
    while (run_exclusive(engine, "forget imports", partial(imports.prune, batch_size=10)) or 0) >= 10:
        pass
    prune_usage = partial(quotas.prune, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget usage", prune_usage) or 0) >= MAX_PRUNED:
        pass
    while (run_exclusive(engine, "end group roles", _end_group_roles) or 0) >= BATCH_SIZE:
        pass
    prune_pushes = partial(push.prune, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget pushes", prune_pushes) or 0) >= MAX_PRUNED:
        pass
    prune_webhooks = partial(webhooks.prune, batch_size=MAX_PRUNED)
    while (run_exclusive(engine, "forget webhooks", prune_webhooks) or 0) >= MAX_PRUNED:
        pass


def _hourly(engine: Engine) -> None:
    prune(engine)
    roll_minutes(engine)


def _end_group_roles(connection: Connection) -> int:
    ended = accounts.end_group_roles(connection, lifetime=GROUP_ROLE_LIFETIME, batch_size=BATCH_SIZE)
    entries = [
        Entry(target=f"account:{each.id}", before={"role": each.role_before}, after={"role": None}) for each in ended
    ]
    audit.append(connection, actor=ACTOR, act="change_group_role", entries=entries)
    return len(ended)


def _recover(connection: Connection, id_range: range, *, config: SweepConfig) -> list[Recovered]:
    found = queue.recover(
        connection,
        batch_size=BATCH_SIZE,
        lease=config.lease,
        delay=config.delay,
        hold=config.uncertainty.hold,
        hold_for_operator=config.uncertainty.for_operator,
        max_crashes=MAX_CRASHES,
        max_resends=MAX_RESENDS,
        id_range=id_range,
    )
    _append_events(connection, "recovered", [(row.id, {"worker": row.worker}) for row in found])
    _append_events(connection, "uncertain", [(row.id, {"worker": row.worker}) for row in found if row.uncertain])
    _append_events(connection, "retired", [(row.id, {}) for row in found if row.retired])
    return found


def _retire(connection: Connection, id_range: range) -> list[int]:
    found = queue.retire(connection, batch_size=BATCH_SIZE, id_range=id_range)
    _append_events(connection, "retired", [(id, {}) for id in found])
    return found


def _expire_orphans(connection: Connection, id_range: range, *, config: SweepConfig) -> list[int]:
    found = ledger.expire_orphans(connection, deadline=config.deadline, batch_size=BATCH_SIZE, id_range=id_range)
    _append_events(connection, "uncertain", [(id, {}) for id in found])
    return found


def _abandon(connection: Connection, id_range: range, *, config: SweepConfig) -> list[int]:
    return ledger.abandon(connection, hold=config.uncertainty.hold, batch_size=BATCH_SIZE, id_range=id_range)


def _verify(connection: Connection, id_range: range, *, config: SweepConfig) -> list[int]:
    if not config.uncertainty.lookups or config.uncertainty.only_connected:
        return []
    checked = ledger.verify(connection, uncertainty=config.uncertainty, batch_size=BATCH_SIZE, id_range=id_range)
    found = [id for id, was_found in checked if was_found]
    _append_events(connection, "verified", [(id, {}) for id in found])
    return found


def _prune_events(connection: Connection, id_range: range, *, config: Retention) -> list[int]:
    return archive_db.prune_events(connection, keep_months=config.keep_months, batch_size=BATCH_SIZE, id_range=id_range)


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """How many rows of a batch moved, and the last one read; None at the end."""

    moved: int
    last: Archivable | None


def _archive(connection: Connection, *, config: Retention, after: Archivable | None) -> _Batch:
    found = archive_db.list_archivable(connection, older_than=config.archive_after, batch_size=BATCH_SIZE, after=after)
    moved = _move(connection, found, config=config)
    return _Batch(moved=moved, last=found[-1] if len(found) == BATCH_SIZE else None)


def _move(connection: Connection, rows: Sequence[Archivable], *, config: Retention) -> int:
    """Move a batch; if that fails, row by row, so that one bad row or month does not stop the others."""
    try:
        with connection.begin_nested():
            archive_db.create_partitions(connection, months=sorted({row.month for row in rows}))
            return len(queue.archive(connection, ids=[row.id for row in rows], older_than=config.archive_after))
    except DBAPIError as error:
        if is_transient(error):
            raise
        if len(rows) == 1:
            log.warning("snooze %d cannot be archived: %s; it stays in the queue", rows[0].id, error_text(error))
            return 0
    return sum(_move(connection, [row], config=config) for row in rows)


def _append_events(connection: Connection, kind: str, lines: Sequence[tuple[int, Mapping[str, object]]]) -> None:
    events.append_many(connection, kind=kind, actor=ACTOR, route=ACTOR, lines=lines)
