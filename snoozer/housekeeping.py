"""USE CASE of the clock: bury workers, recover their claims, retire what is spent, doubt what was abandoned, tidy.

Each chore is one short transaction under a lock that only one clock gets; what another clock is at is left to it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import Connection, Engine

from snoozer.postgres import events, housekeeping, ledger, people, queue, workers
from snoozer.postgres.ledger import MOST_RESENDS
from snoozer.postgres.queue import Recovered

T = TypeVar("T")

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
    hold: timedelta
    hold_for_operator: bool
    deadline: timedelta


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What one sweep found."""

    recovered: list[Recovered] = field(default_factory=list)
    retired: list[int] = field(default_factory=list)
    doubted: list[int] = field(default_factory=list)
    buried: list[str] = field(default_factory=list)

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
    )


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
        hold=terms.hold,
        hold_for_operator=terms.hold_for_operator,
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
