"""USE CASE of the clock: archive, prune, record statistics.

Each chore is one short transaction under an advisory lock; a chore that another clock holds is skipped.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Self

from sqlalchemy import Connection, Engine

from snoozer.db import (
    accounts,
    audit,
    imports,
    list_changes,
    mail_acts,
    mailbox_store,
    minutes,
    notifications,
    operations,
    quotas,
)
from snoozer.db.audit import Entry
from snoozer.db.bisection import bisect
from snoozer.db.errors import error_text, is_transient
from snoozer.db.roles import GROUP_ROLE_LIFETIME
from snoozer.delivery.chores.chore_runner import (
    BATCH_SIZE,
    MAX_BATCHES,
    in_batches,
    run_exclusive,
    run_if_due,
)
from snoozer.delivery.chores.recovery import ACTOR
from snoozer.queue import archive as archive_db
from snoozer.queue import digests, queue, workers
from snoozer.queue.archive import Archivable
from snoozer.settings import Settings

log = logging.getLogger(__name__)

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
class Retention:
    """How long finished rows stay in the queue's tables, and for how many whole months the archive keeps them."""

    archive_after: timedelta
    keep_months: int

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The ages of the settings."""
        return cls(archive_after=timedelta(days=settings.archive_after_days), keep_months=settings.keep_months)


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
    """Delete dead workers, old sign-ins, sessions, idempotency keys, usage of quotas, messages that are back, mails
    that acted, pushes, webhooks and operations that ended long ago, and unconfirmed imports; end roles by groups that
    are a day old; enter in the ledger the reminders of digests."""
    run_exclusive(engine, "forget workers", workers.prune)
    prune_operations = partial(operations.prune, older_than=KEEP_OPERATIONS, batch_size=MAX_PRUNED)
    while run_exclusive(engine, "forget operations", prune_operations):
        pass
    while (run_exclusive(engine, "end group roles", _end_group_roles) or 0) >= BATCH_SIZE:
        pass
    for name, chore, size in (
        ("settle digests", digests.settle, BATCH_SIZE),
        ("forget mailbox messages", mailbox_store.prune, MAX_PRUNED),
        ("forget mail acts", mail_acts.prune, MAX_PRUNED),
        ("forget sign-ins", accounts.prune_expired, MAX_PRUNED),
        # Small batches, because an import may have thousands of rows.
        ("forget imports", imports.prune, 10),
        ("forget usage", quotas.prune, MAX_PRUNED),
        ("forget pushes", partial(notifications.prune, channel="push"), MAX_PRUNED),
        ("forget webhooks", partial(notifications.prune, channel="webhooks"), MAX_PRUNED),
    ):
        while (run_exclusive(engine, name, partial(chore, batch_size=size)) or 0) >= size:
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
    """Move a batch without the rows that fail: one bad row or month does not stop the others."""

    def move(part: Sequence[Archivable]) -> int:
        archive_db.create_partitions(connection, months=sorted({row.month for row in part}))
        return len(queue.archive(connection, ids=[row.id for row in part], older_than=config.archive_after))

    moved, failed = bisect(connection, rows, move, is_row_error=lambda error: not is_transient(error))
    for row, error in failed:
        log.warning("snooze %d cannot be archived: %s; it stays in the queue", row.id, error_text(error))
    return sum(moved)
