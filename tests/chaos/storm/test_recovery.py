"""What a killed worker held is claimed again soon: within lease + sweep + poll always, and within 15 s by default."""

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from fakes.smtp_server import STALL
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import Fleet, hurt, until
from tests.chaos.storm.ground import DEFAULTS, SHORT, Ground, Scene
from tests.chaos.storm.report import Report

TIMEOUT = 60.0
WORKERS = 6
HELD = "SELECT count(DISTINCT claimed_by) AS holders FROM email_snoozes WHERE claimed_at IS NOT NULL"
LEASE_SWEEP_AND_POLL = sum(float(SHORT[f"SNOOZER_{word}_SECONDS"]) for word in ("LEASE", "SWEEP", "POLL"))
UNTIL_CLAIMED_AGAIN = 15.0


Times = tuple[Mapping[str, str], float, int, float]

SHORT_TIMES: Times = ({}, LEASE_SWEEP_AND_POLL, 12 if FULL else 2, 1.0)
DEFAULT_TIMES: Times = (DEFAULTS, UNTIL_CLAIMED_AGAIN, 4, 6.0)


@pytest.mark.parametrize(
    "settings, bound, rounds, age",
    [SHORT_TIMES, DEFAULT_TIMES] if FULL else [SHORT_TIMES],
    ids=["short", "default"] if FULL else ["short"],
)
def test_what_a_killed_worker_held_is_claimed_again(
    scene_name: str,
    ground: Ground,
    report: Report,
    folder: Path,
    seed: int,
    settings: Mapping[str, str],
    bound: float,
    rounds: int,
    age: float,
) -> None:
    """Six workers each hold one row at a mail server that does not answer, are killed at random ages, and replaced."""
    began, rng = time.time(), Random(seed)
    with ground.scene(folder, seed=seed) as scene:
        fleet = scene.fleet(workers=WORKERS, arguments=("--batch", "1", "--concurrency", "1"), settings=settings)
        try:
            fleet.start()
            for _ in range(rounds):
                _round(scene, fleet, rng=rng, age=age)
            fleet.retire()
        finally:
            fleet.close()
        verdict = scene.judged()
    report.add(scene_name, strikes={"kill -9": WORKERS * rounds}, verdict=verdict, seconds=time.time() - began)
    assert verdict.keeps_the_promise, verdict
    assert verdict.recovery.claims == WORKERS * rounds
    assert verdict.recovery.reclaimed["max"] <= (bound if FULL else TIMEOUT), verdict.recovery


def _round(scene: Scene, fleet: Fleet, *, rng: Random, age: float) -> None:
    scene.sink.order(fault=["data", STALL, None])
    scene.load.pour(WORKERS)
    assert until(lambda: scene.ask(HELD)[0]["holders"] == WORKERS, seconds=TIMEOUT)
    for pid in fleet.workers:
        time.sleep(rng.uniform(0, age / WORKERS))
        hurt(pid, how=signal.SIGKILL)
    scene.sink.order(heal=True)
    assert scene.drained(seconds=TIMEOUT)
