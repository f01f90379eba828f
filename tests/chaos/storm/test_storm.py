"""Whatever happens to its processes, its database and its mail server: nothing is lost, no second copy goes unmarked.

Each scene has people who put messages away, workers and a clock that are born anew as often as they die, and its
nemeses. A sample runs with every test run; SNOOZER_STORM=1 runs it in full. Each act ends with the promise being
judged (stage.py); what stands here is what is asked beyond that.
"""

import os
from random import Random

import pytest

from snoozer.runtime.failpoint import STEPS
from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import Dress, Fleet, wake_after
from tests.chaos.storm.load import ATTACK
from tests.chaos.storm.postman import Postman
from tests.chaos.storm.stage import Stage
from tests.chaos.storm.timing import Bounds

KILL_COUNT = int(os.environ.get("SNOOZER_STORM_KILLS") or 1000)
NO_DUPLICATE = {"claimed", "reserved", "body", "marked", "recorded", "finalized"}
PAST_THE_LEASE = 2.6
# A sample shares its machine with other tests.
KILLS = Bounds(silence=5.0, kill_to_mail=(5.0, 30.0, 60.0)) if FULL else Bounds(silence=30.0, kill_to_mail=(30, 60, 90))
LOCKED_ROWS, LOCKED_SECONDS = 12, 2.0
# One row in hand at a time: a worker takes the next rows while it delivers the last ones, and a failpoint at `reserved`
# would kill it with another reminder past its dot.
ONE_BY_ONE = ("--batch", "1", "--concurrency", "1")
VERIFY = {"SNOOZER_UNCERTAIN_POLICY": "verify", "SNOOZER_UNCERTAIN_HOLD_SECONDS": "1"}


def test_a_storm_of_kills(stage: Stage) -> None:
    """With rows of all priorities, keys, people who change their minds, and transactions that are left open."""
    with stage.act(think=0.04, mix=ATTACK, people_rate=10.0, bounds=KILLS) as act:
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=KILL_COUNT if FULL else 40, pace=(0.05, 0.35))
        locker = nemeses.locker(act.scene, rows=LOCKED_ROWS, seconds=LOCKED_SECONDS)
        act.storm.let_loose("rows locked", locker, times=KILL_COUNT // 20 if FULL else 2, pace=(0.5, 3.0))
    assert act.verdict.cancelled, "no cancellation took effect"
    assert act.verdict.edited, "no edit took effect"


def test_a_storm_of_kills_with_mailboxes_to_look_into(stage: Stage) -> None:
    with stage.act(think=0.04, settings=VERIFY) as act:
        postman = Postman(act.scene.database_url, sink=act.scene.sink.path)
        postman.start()
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=1000 if FULL else 20, pace=(0.05, 0.35))
        act.calm(timeout=stage.timeout)
        postman.stop()
    assert act.verdict.duplicated == 0, act.verdict


@pytest.mark.parametrize("step", STEPS)
def test_kills_at_a_step(stage: Stage, step: str) -> None:
    times = 60 if FULL else 4

    def dress(fleet: Fleet, rng: Random) -> Dress:
        return nemeses.failpoints((step,), act="kill", rng=rng, nth=3, left=lambda: fleet.ended[-9] < times)

    with stage.act(arguments=ONE_BY_ONE, dress=dress) as act:
        assert act.fleet.wait_until(lambda: act.fleet.ended[-9] >= times, seconds=stage.timeout)
    if step in NO_DUPLICATE:
        assert act.verdict.duplicated == 0, act.verdict


def test_zombies_that_slept_past_their_lease_before_the_fence(stage: Stage) -> None:
    times = 300 if FULL else 8

    def dress(fleet: Fleet, rng: Random) -> Dress:
        fleet.on_stopped = wake_after(PAST_THE_LEASE)
        steps = ("body", "marked")
        return nemeses.failpoints(steps, act="stop", rng=rng, nth=3, left=lambda: fleet.stopped < times)

    with stage.act(workers=10 if FULL else 5, arguments=ONE_BY_ONE, dress=dress) as act:
        assert act.fleet.wait_until(lambda: act.fleet.stopped >= times, seconds=stage.timeout)
    assert act.verdict.duplicated == 0, act.verdict


def test_zombies_that_slept_past_their_lease_anywhere(stage: Stage) -> None:
    with stage.act(workers=8) as act:
        stopper = nemeses.stopper(act.fleet, rng=act.rng, sleep=PAST_THE_LEASE)
        act.storm.let_loose("SIGSTOP", stopper, times=200 if FULL else 10, pace=(0.3, 1.2))


def test_the_database_hangs_up_on_the_product(stage: Stage) -> None:
    with stage.act() as act:
        terminator = nemeses.terminator(act.scene)
        act.storm.let_loose("pg_terminate_backend", terminator, times=300 if FULL else 40, pace=(0.05, 0.2))
    assert act.verdict.duplicated == 0, act.verdict


def test_the_database_is_cut_off_like_the_power(stage: Stage) -> None:
    with stage.act() as act:
        restarter = nemeses.restarter(act.scene, rng=act.rng)
        act.storm.let_loose("immediate restart", restarter, times=20 if FULL else 2, pace=(1.5, 3.0))
    assert act.verdict.duplicated == 0, act.verdict


def test_the_mail_server_accepts_and_hangs_up(stage: Stage) -> None:
    with stage.act(rate=0) as act:
        act.scene.sink.order(drop=0.2)
        act.scene.load.pour(1000 if FULL else 60)
        assert act.scene.drained(seconds=stage.timeout)
    assert act.verdict.duplicated > 0, "the nemesis did not strike"


def test_all_of_it_at_once(stage: Stage) -> None:
    with stage.act(workers=6, mix=ATTACK, people_rate=10.0) as act:
        act.scene.sink.order(drop=0.05)
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=350 if FULL else 20, pace=(0.1, 0.5))
        stopper = nemeses.stopper(act.fleet, rng=act.rng, sleep=PAST_THE_LEASE)
        act.storm.let_loose("SIGSTOP", stopper, times=100 if FULL else 5, pace=(0.5, 1.5))
        terminator = nemeses.terminator(act.scene)
        act.storm.let_loose("pg_terminate_backend", terminator, times=120 if FULL else 10, pace=(0.2, 1.2))
        act.storm.let_loose(
            "immediate restart", nemeses.restarter(act.scene, rng=act.rng), times=8 if FULL else 1, pace=(5, 15)
        )
