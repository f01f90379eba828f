"""Behind pgbouncer in transaction mode workers are killed, and the pooler with all its connections."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.ground import Ground
from tests.chaos.storm.pooler import PooledPlace, Pooler, program
from tests.chaos.storm.stage import Stage
from tests.conftest import missing

SESSIONS = """
SELECT count(*) AS open FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def pooler(ground: Ground) -> Iterator[Pooler]:
    if program() is None:
        missing("pgbouncer")
    with tempfile.TemporaryDirectory(prefix="snoozer-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        pooler = Pooler(folder, server_url=ground.server.url)
        pooler.start()
        yield pooler
        pooler.kill()


def test_a_storm_of_kills_behind_a_pooler(stage: Stage, ground: Ground, pooler: Pooler) -> None:
    def restart() -> bool:
        pooler.kill()
        pooler.start()
        return True

    behind = replace(stage, ground=PooledPlace(ground, pooler))
    with behind.act(think=0.04) as act:
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=300 if FULL else 20, pace=(0.1, 0.5))
        act.storm.let_loose("kill -9 the pooler", restart, times=20 if FULL else 2, pace=(2.0, 4.0))
