"""USE CASE of the clock, and of a worker that drains: declare silent workers dead, recover their claims, retire rows
whose attempts are spent, settle what is uncertain. Of a worker that starts: record what dead workers of its machine
left in their journals."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Self

from sqlalchemy import Connection, Engine

from snoozer import telemetry
from snoozer.delivery.chores.chore_runner import BATCH_SIZE, in_batches, record_server_start, run_exclusive
from snoozer.delivery.settling import MAX_BACKOFF, record_facts
from snoozer.queue import events, ledger, queue, workers
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.ledger import Fact
from snoozer.queue.limits import MAX_CRASHES, MAX_RESENDS
from snoozer.queue.reminder import Recovered, UncertainPolicy
from snoozer.settings import Settings

log = logging.getLogger(__name__)

ACTOR = "clock"


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


def _append_events(connection: Connection, kind: str, lines: Sequence[tuple[int, Mapping[str, object]]]) -> None:
    events.append_many(connection, kind=kind, actor=ACTOR, route=ACTOR, lines=lines)


def record_inherited_facts(engine: Engine, *, journal: FactJournal, actor: str) -> int:
    """Record what dead workers left in their journals; returns how many facts the database knows."""
    count = 0
    for path, facts in journal.inherited():
        known = [_record_fact(engine, fact, actor=actor) for fact in facts]
        count += sum(known)
        if all(known):
            path.unlink(missing_ok=True)
        else:
            log.warning("%s names reminders this database does not know; it is kept as .unknown", path.name)
            with suppress(FileNotFoundError):  # Another worker that starts at the same moment may have been quicker.
                path.rename(path.with_suffix(".unknown"))
    return count


def _record_fact(engine: Engine, fact: Fact, *, actor: str) -> bool:
    """Returns whether the database knows the reminder; waits for another transaction that has locked its entry."""
    while True:
        with engine.begin() as connection:
            if record_facts(connection, [fact], actor=actor):
                return True
            if not ledger.exists(connection, reminder_message_ids=[fact.reminder_message_id]):
                return False
        time.sleep(MAX_BACKOFF)
