"""Many thousand rows, while the database ends sessions all the time: no worker, table or index grows out of measure.

Growth per 1,000 rows is printed and stands in the report.
"""

from collections.abc import Iterator, Sequence

import psycopg
import pytest

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.ground import Ground
from tests.chaos.storm.growth import memory, relations, slope
from tests.chaos.storm.stage import Stage

ROWS, BATCHES = (1_000, 30) if FULL else (250, 10)
TERMINATOR, TERMINATIONS = "pg_terminate_backend", 1_500 if FULL else 60
# The first batches fill pools, caches and free lists.
WARM_UP = BATCHES // 5
# Of one worker, by the slope over all batches after that. A short run shows little more than how an allocator rounds.
MOST_KILOBYTES = 120.0 if FULL else 1_000.0
MOST_BLOAT = 3.0
SHOWN = 12
# A minute between two looks is made as short as the storm's other times.
SETTINGS = {"autovacuum_naptime": "1s", "autovacuum_vacuum_cost_delay": "0"}
# Long enough that no worker ends, and its memory with it.
PATIENT = {"SNOOZER_WORKER_DEAD_SECONDS": "20", "SNOOZER_LEASE_SECONDS": "40"}


@pytest.fixture
def frequent_vacuum(ground: Ground) -> Iterator[None]:
    configure(ground, [f"SET {name} = '{value}'" for name, value in SETTINGS.items()])
    yield
    configure(ground, [f"RESET {name}" for name in SETTINGS])


@pytest.mark.usefixtures("frequent_vacuum")
def test_a_soak_with_terminated_sessions(stage: Stage) -> None:
    fleet = ("--batch", "50", "--concurrency", "16")
    with stage.act(workers=2, arguments=fleet, settings=PATIENT, rate=0, think=0.005) as act:
        # A worker that loses its sessions before it is up ends, and is started again.
        act.scene.load.pour(ROWS)
        assert act.scene.drained(seconds=stage.timeout)
        workers = act.fleet.workers
        terminator = nemeses.terminator(act.scene)
        act.storm.let_loose(TERMINATOR, terminator, times=TERMINATIONS, pace=(0.02, 0.12))
        used: dict[int, list[tuple[float, float]]] = {pid: [] for pid in workers}
        batch = 1
        # It strikes only while mails are accepted.
        while batch < BATCHES or act.storm.struck[TERMINATOR] < TERMINATIONS:
            batch += 1
            act.scene.load.pour(ROWS)
            assert act.scene.drained(seconds=stage.timeout)
            for pid, points in used.items():
                points.append((batch * ROWS / 1_000, memory(pid) / 1024))
        assert act.fleet.workers == workers, "a worker ended, and its memory with it"
        found = relations(act.scene.database_url)
    grown = round(max(slope(points[WARM_UP:]) for points in used.values()), 1)
    thousands = batch * ROWS / 1_000
    sizes = {one.name: round(one.bytes / 1024 / thousands, 1) for one in found}
    bloat = {one.name: one.bloat for one in found}
    stage.report.note(stage.name, worker_kilobytes_per_1000=grown, kilobytes_per_1000=sizes, bloat=bloat)
    print(f"a worker's memory grows by {grown} kB in 1,000 rows; tables and indexes, and how much too large they are:")
    for one in found[:SHOWN]:
        print(f"  {one.name:42} {sizes[one.name]:8} kB  {one.bloat:5}")
    assert grown <= MOST_KILOBYTES
    assert max(one.bloat for one in found) <= MOST_BLOAT


def configure(ground: Ground, changes: Sequence[str]) -> None:
    with psycopg.connect(ground.server.url, autocommit=True) as connection:
        for change in changes:
            connection.execute(f"ALTER SYSTEM {change}")
        connection.execute("SELECT pg_reload_conf()")
