"""The wall clocks of workers are an hour off, before or behind: only the database's clock decides when and whether."""

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import Dress, Fleet
from tests.chaos.storm.load import ATTACK
from tests.chaos.storm.stage import Stage
from tests.conftest import missing

OFFSETS = ("+1h", "-1h", "+0")


def library() -> Path:
    """libfaketime, which changes the wall clock of one process."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        missing("libfaketime")
    return found[0]


def another_clock(offset: str) -> dict[str, str]:
    """The settings of a process whose wall clock is so far off; clocks that only compare with themselves are right."""
    return {"LD_PRELOAD": str(library()), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def test_the_clock_of_a_process_is_off() -> None:
    """Without this, the scene below would prove nothing."""
    ask = [sys.executable, "-c", "import time; print(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME))"]
    answer = subprocess.run(ask, env=os.environ | another_clock("+1h"), capture_output=True, check=True, text=True)
    wall, boot = map(float, answer.stdout.split())
    assert 3500 < wall - time.time() < 3700
    assert abs(boot - time.clock_gettime(time.CLOCK_BOOTTIME)) < 100


def test_wall_clocks_are_off_by_an_hour(stage: Stage) -> None:
    """Each worker's own way, while they are killed."""

    def dress(fleet: Fleet, rng: Random) -> Dress:
        return lambda: another_clock(rng.choice(OFFSETS))

    with stage.act(workers=3, dress=dress, mix=ATTACK, people_rate=5.0) as act:
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=100 if FULL else 5, pace=(0.5, 2.0))
