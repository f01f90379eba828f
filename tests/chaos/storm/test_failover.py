"""The primary is lost under load and its standby is promoted: what was committed comes back, and none of it twice.

A synchronous standby has every commit that was waited for: nothing may be lost, no copy may be unmarked. One that was
three seconds behind has not. Workers wait then, `snoozer restored` lists what may go out twice, all copies of a mail
are the same bytes, and what is gone was acknowledged within those three seconds: the report names it.
"""

import time
from datetime import UTC, datetime

import pytest

from tests.chaos.storm.aftermath import (
    CLAIMS_SINCE,
    all_workers_wait,
    ended,
    restored,
    seconds_to_a_mail,
    wait_for_mails,
)
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.evidence import Evidence
from tests.chaos.storm.fleet import until
from tests.chaos.storm.forgotten import Lag, asked_within, compare, mailed_after
from tests.chaos.storm.ground import DEFAULTS, Ground, Scene
from tests.chaos.storm.replication import Pair, ReplicatedPlace
from tests.chaos.storm.stage import Stage
from tests.chaos.storm.visitors import Doors, Visitors

TIMEOUT = 60.0
# Seconds without a primary, each time.
AWAY = (0.0, 2.0, 8.0) if FULL else (0.0, 1.0, 3.0)
# On a machine that runs other tests, too, every process is late.
LONGEST_SILENCE = 3.0 if FULL else 10.0
INSERTS_A_SECOND = 50.0
# On a machine that runs other tests, too, a heartbeat may be late by more than the storm's 1.2 s: that is no fault.
HEARTBEATS = {} if FULL else {"SNOOZER_WORKER_DEAD_SECONDS": "10"}
LAG_SECONDS = 3.0
BEFORE, AHEAD = 80, 300 if FULL else 100
# More than is delivered at that pace, so that there is something to repeat and something to forget.
RATE, THINK = (100.0, 0.2) if FULL else (60.0, 0.4)
ACCEPTED = "SELECT CAST(extract(epoch FROM max(accepted_at)) AS float8) AS at FROM accepted_timelines"
OVERDUE = """
SELECT count(*) AS overdue FROM email_snoozes WHERE NOT inactive AND remind_at < clock_timestamp() - INTERVAL '1 second'
"""
HELD = "SELECT count(*) AS held FROM email_snoozes WHERE claimed_at IS NOT NULL"


@pytest.fixture
def asynchronous(ground: Ground, pair: Pair) -> ReplicatedPlace:
    return ReplicatedPlace(pair=pair, maternity=ground.maternity, synchronous=False)


def test_three_primaries_in_a_row_are_lost(synchronous: Stage, pair: Pair) -> None:
    """With the times of the product; every process goes on, and each door answers, or says that it cannot now."""
    doors, silences = Doors(), list[float]()
    settings = {**DEFAULTS, **doors.settings, "SNOOZER_FAILOVER": "continue"}
    with synchronous.act(settings=settings, rate=INSERTS_A_SECOND, others=doors.processes) as act:
        visitors = Visitors(act.scene, doors)
        with visitors.coming():
            processes = act.fleet.processes
            for away in AWAY:
                pair.make_whole(synchronous=True)
                wait_for_mails(act.scene, BEFORE)
                pair.kill_primary()
                act.storm.stop.wait(away)
                silences.append(seconds_to_a_mail(act.scene, since=pair.promote()))
            wait_for_mails(act.scene, BEFORE)
        assert act.fleet.processes == processes, ended(act)
        assert visitors.lost_mails() == set()
        facts = {"first_mail_after": silences, "answers": visitors.answers}
        synchronous.report.note(synchronous.name, failovers=len(AWAY), **facts)
        print("seconds from the promotion to a mail:", facts)
    assert visitors.refused_otherwise() == {}
    assert max(silences) <= LONGEST_SILENCE


def test_a_synchronous_standby_takes_over_when_an_operator_accepts_it(synchronous: Stage, pair: Pair) -> None:
    with synchronous.act(settings=HEARTBEATS) as act:
        processes = (act.fleet.workers, act.fleet.clocks)
        wait_for_mails(act.scene, BEFORE)
        pair.kill_primary()
        promoted = pair.promote()
        all_workers_wait(act.scene, act.fleet)
        assert until(lambda: act.scene.ask(OVERDUE)[0]["overdue"] >= 20, seconds=TIMEOUT)
        assert act.scene.ask(CLAIMS_SINCE, promoted)[0]["claims"] == 0
        restored(act.scene, "--accept")
        silence = seconds_to_a_mail(act.scene, since=act.scene.ask(ACCEPTED)[0]["at"])
        assert (act.fleet.workers, act.fleet.clocks) == processes, ended(act)
        synchronous.report.note(synchronous.name, failovers=1, first_mail_after=silence)
        print("seconds from the acceptance to a mail:", silence)
    assert silence <= LONGEST_SILENCE


@pytest.mark.parametrize("decision", ["--apply", "--accept"] if FULL else ["--apply"])
def test_a_standby_that_was_behind_takes_over(
    stage: Stage, asynchronous: ReplicatedPlace, pair: Pair, decision: str
) -> None:
    began = time.time()
    with asynchronous.scene(stage.folder, seed=stage.seed, rate=RATE, think=THINK) as scene:
        fleet = scene.fleet()
        try:
            fleet.start()
            lag = lose_the_last_seconds(scene, pair)
            scene.sink.order(think=0.0)
            all_workers_wait(scene, fleet)
            # By then the clock has taken back what workers held when the standby ceased to follow.
            assert until(lambda: scene.ask(HELD)[0]["held"] == 0, seconds=TIMEOUT)
            assert scene.ask(CLAIMS_SINCE, lag.promoted)[0]["claims"] == 0
            scene.load.stop()
            listed = decide(scene, stopped_at=lag.killed, decision=decision)
            decided = time.time()
            assert scene.drained(seconds=stage.timeout)
            if decision == "--apply":
                assert not listed & mailed_after(decided, sink=scene.sink.path)
                assert scene.reactivate_cases() == len(listed)
                assert scene.drained(seconds=stage.timeout)
            codes = fleet.retire()
        finally:
            fleet.close()
        found = compare(Evidence.gather(sink=scene.sink.path, log=scene.history.path, database_url=scene.database_url))
        within = asked_within(lag, log=scene.history.path)
        scene.keep_evidence()
    facts = {"listed": len(listed), "repeated": len(found.repeated), "gone": sorted(found.gone)}
    stage.report.note(stage.name, failovers=1, seconds=round(time.time() - began, 1), **facts)
    print(decision, {"listed": len(listed), "repeated": len(found.repeated), "gone": len(found.gone)})
    assert set(codes) == {0}
    assert found.repeated, "the standby was not behind"
    assert found.repeated - found.marked <= listed
    assert not found.differing
    assert not found.stuck
    assert found.gone, "nothing was forgotten"
    assert found.gone <= within


def lose_the_last_seconds(scene: Scene, pair: Pair) -> Lag:
    """Fail over to a standby that misses what was committed in the last seconds before, much of it mailed by then."""
    scene.load.start()
    wait_for_mails(scene, AHEAD)
    pair.catch_up()
    since = time.time()
    pair.hold_back()
    assert until(lambda: time.time() > since + LAG_SECONDS, seconds=TIMEOUT)
    killed = time.time()
    pair.kill_primary()
    return Lag(since=since, killed=killed, promoted=pair.promote())


def decide(scene: Scene, *, stopped_at: float, decision: str) -> set[str]:
    """What an operator does beside workers that wait; returns the Message-IDs that were listed."""
    moment = ("--until", datetime.fromtimestamp(stopped_at, UTC).isoformat())
    listed = restored(scene, *moment)
    if decision == "--apply":
        assert restored(scene, *moment, "--apply") == listed
    else:
        restored(scene, decision)
    return {line.split()[2] for line in listed}
