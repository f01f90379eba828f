"""A release takes over from an earlier one under load: `migrate` runs, both work side by side, the old one is stopped.

How long writes stall meanwhile is printed and stands in the report.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.storm import history
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import Ground, Scene
from tests.chaos.storm.releases import OlderPlace, Release, commit_before_newest_migration
from tests.chaos.storm.stage import Stage
from tests.conftest import missing

TIMEOUT = 120.0
AT_REST = 400_000 if FULL else 5_000
DELIVERED = 40
FAR_AWAY = """
INSERT INTO email_snoozes (user_email, message_id, remind_at)
SELECT 'p' || mod(n, 1000) || '@rest.example', '<' || n || '@rest.example>', now() + INTERVAL '1 year'
FROM generate_series(1, %s) AS n
"""
LEFT_OUT = "DELETE FROM email_snoozes WHERE remind_at > now() + INTERVAL '1 month'"
CLAIMS = r"""
SELECT count(*) AS claims FROM storm_claims
WHERE at > to_timestamp(%s) AND CAST(substring(worker FROM '-(\d+)-[^-]+$') AS int) = ANY(%s)
"""


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    commit = commit_before_newest_migration()
    if commit is None:
        missing("the git history")
        return
    release = Release.check_out(commit, tmp_path)
    yield release
    release.kill()


def test_a_release_takes_over_under_load(stage: Stage, ground: Ground, release: Release) -> None:
    # This release's processes are there from the beginning, and wait for its schema.
    with replace(stage, ground=OlderPlace(ground, release)).act(workers=2) as act:
        scene = act.scene
        release.start(scene, ("worker",), ("worker",), ("clock",))
        scene.ask(FAR_AWAY, AT_REST)
        at_work(scene, release.pids, since=time.time())
        began = time.time()
        done = scene.run("migrate")
        migrated = time.time()
        assert done.returncode == 0, done.stderr
        for pids in (release.pids, act.fleet.workers):
            at_work(scene, pids, since=migrated)
        assert set(release.stop()) == {0}, scene.log.read_text()[-4000:]
        at_work(scene, act.fleet.workers, since=time.time())
        scene.ask(LEFT_OUT)
        figures = {"migrated_in": round(migrated - began, 2), "writes_stalled": longest_write(scene, since=began)}
        stage.report.note(stage.name, rows_at_rest=AT_REST, **figures)
        print(f"{AT_REST} rows at rest: {figures}")
    assert act.verdict.duplicated == 0, act.verdict


def at_work(scene: Scene, pids: Sequence[int], *, since: float) -> None:
    """Return when these processes have claimed some more rows."""
    assert until(lambda: scene.ask(CLAIMS, since, list(pids))[0]["claims"] >= DELIVERED, seconds=TIMEOUT)


def longest_write(scene: Scene, *, since: float) -> float:
    """The longest time that a snooze took to be acknowledged."""
    facts = history.read(scene.history.path)
    asked = _times([fact for fact in facts if fact["kind"] == "attempt" and fact["at"] > since])
    acknowledged = _times([fact for fact in facts if fact["kind"] == "ack"])
    return round(max(acknowledged[name] - asked[name] for name in asked.keys() & acknowledged.keys()), 2)


def _times(facts: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {fact["message_id"]: fact["at"] for fact in facts}
