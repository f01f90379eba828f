"""What many reminders leave behind: they are put down as sent, wave by wave, and housekeeping archives each wave."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from snoozer.bench import filling, floor
from snoozer.bench.ground import Ground
from snoozer.bench.run import counters, settle
from snoozer.db.statements import execute, rows_as
from snoozer.housekeeping import chores

WAVES = 10
RETENTION = chores.Retention(archive_after=timedelta(days=35), keep_months=24)
AGE = timedelta(days=40)


@dataclass(frozen=True, kw_only=True)
class Stored:
    """One table with its partitions."""

    name: str
    rows: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Where the rows of so many reminders lie at the end; `rate` and `wal_bytes` are the move's, for each snooze.

    `over_bytes` is what each took in the queue's own tables and indexes before it moved.
    """

    reminders: int
    over_bytes: float
    rate: float
    wal_bytes: float
    stored: tuple[Stored, ...]


def shelve(ground: Ground, *, reminders: int, progress: Callable[[int], None]) -> Shelf:
    """Let so many reminders come and go; each wave finds the room that the one before has left."""
    chores.maintain_partitions(ground.engine, config=RETENTION)
    moved, seconds, wal, over = 0, 0.0, 0.0, 0.0
    for wave in range(WAVES):
        with floor.bare(ground.url) as database:
            filling.sent(database, rows=(wave + 1) * reminders // WAVES - wave * reminders // WAVES, age=AGE)
        settle(ground.engine, whole=True)
        if not wave:
            over = _bytes(ground) / (reminders // WAVES)
        before, began = counters(ground.engine)["wal"], time.monotonic()
        while batch := chores.archive(ground.engine, config=RETENTION):
            moved += batch
            progress(moved)
        seconds += time.monotonic() - began
        wal += counters(ground.engine)["wal"] - before
    settle(ground.engine, whole=True)
    return Shelf(
        reminders=moved, over_bytes=over, rate=moved / seconds, wal_bytes=wal / max(1, moved), stored=_stored(ground)
    )


def _stored(ground: Ground) -> tuple[Stored, ...]:
    with ground.engine.connect() as connection:
        return tuple(rows_as(execute(connection, "bench/sizes"), Stored))


def _bytes(ground: Ground) -> float:
    return sum(one.table_bytes + one.index_bytes for one in _stored(ground) if not one.name.endswith("_archive"))
