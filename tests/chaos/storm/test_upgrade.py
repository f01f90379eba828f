"""A release takes over from the one before under load: `migrate` runs, workers and web processes of both work side by
side, the old ones are stopped.

How long writes, mails and answers stall is printed and stands in the report.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from snoozer.db.schema import LOCKED_SECONDS
from snoozer.dev.ports import any_free
from tests.chaos.storm import history
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import Ground, Scene
from tests.chaos.storm.programs import Visitor
from tests.chaos.storm.releases import OlderPlace, Release, commit_of_previous_release
from tests.chaos.storm.stage import Stage
from tests.conftest import missing
from tests.process.conftest import ROOT

TIMEOUT = 120.0
AT_REST = 1_000_000 if FULL else 5_000
RUNS = 10 if FULL else 1
SILENCE = 3.0 if FULL else 30.0
ANN = "ann@rest.example"
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
    commit = commit_of_previous_release()
    if commit is None:
        missing("the git history")
        return
    release = Release.check_out(commit, tmp_path)
    yield release
    release.kill()


@pytest.mark.parametrize("run", range(RUNS))
def test_a_release_takes_over_under_load(stage: Stage, ground: Ground, release: Release, run: int) -> None:
    # This release's processes are there from the beginning, and wait for its schema.
    with replace(stage, ground=OlderPlace(ground, release)).act(workers=2) as act:
        scene, ports = act.scene, (any_free(), any_free())
        release.start(scene, ("worker",), ("worker",), ("clock",), web(ports[0]))
        release.run(scene, "account", "create", ANN)
        token = release.run(scene, "token", "create", ANN).split()[-1]
        scene.ask(FAR_AWAY, AT_REST)
        scene.ask("ANALYZE email_snoozes")
        with this_web(scene, ports[1]):
            old, new = (Visitor(port, token) for port in ports)
            assert all(until(partial(answers, port), seconds=TIMEOUT) for port in ports)
            at_work(scene, release.pids, since=time.time())
            with old.visiting(), new.visiting():
                began = time.time()
                done = scene.run("migrate", within=LOCKED_SECONDS)
                migrated = time.time()
                assert done.returncode == 0, done.stderr
                for pids in (release.pids, act.fleet.workers):
                    at_work(scene, pids, since=migrated)
        assert set(release.stop()) == {0}, scene.log.read_text()[-4000:]
        at_work(scene, act.fleet.workers, since=time.time())
        scene.ask(LEFT_OUT)
        silent_for = longest_silence(scene, since=began - 1, until=migrated + 5)
        figures = {
            "migrated_in": round(migrated - began, 2),
            "writes_stalled": longest_write(scene, since=began),
            "silent_for": silent_for,
            "tried_again": len(done.stderr.splitlines()),
            "answers": {name: dict(visitor.answers) for name, visitor in (("old", old), ("new", new))},
            "longest_answer": round(max(old.longest, new.longest), 2),
        }
        stage.report.note(stage.name, rows_at_rest=AT_REST, **figures)
        print(f"{AT_REST} rows at rest: {figures}\n{done.stderr}")
    assert act.verdict.duplicated == 0, act.verdict
    assert silent_for <= SILENCE
    assert old.failures == new.failures == []
    assert old.answers[201] > 0
    assert new.answers[201] > 0


def web(port: int) -> tuple[str, ...]:
    return "web", "--bind", f"127.0.0.1:{port}"


@contextmanager
def this_web(scene: Scene, port: int) -> Iterator[None]:
    """A web process of this release."""
    with scene.log.open("ab") as log:
        line = [sys.executable, "-m", "snoozer", *web(port)]
        process = subprocess.Popen(line, cwd=ROOT, env=dict(scene.environment), stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(TIMEOUT)


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def longest_silence(scene: Scene, *, since: float, until: float) -> float:
    """The longest time around the upgrade in which the mail server was given nothing, while every second brought new
    reminders."""
    mails = sorted(line["at"] for line in history.read(scene.sink.path) if since < line["at"] < until)
    return round(max((later - earlier for earlier, later in pairwise([since, *mails, until])), default=0.0), 2)


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
