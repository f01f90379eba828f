"""The primary is lost under load and its standby is promoted: what was committed comes back, and none of it twice.

A synchronous standby has every commit that was waited for: nothing may be lost, no copy may be unmarked. One that was
three seconds behind has not. Workers wait then, `snoozer restored` lists what may go out twice, all copies of a mail
are the same bytes, and what is gone was acknowledged within those three seconds: the report names it.
"""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snoozer.dev.processes import database_reaper
from tests.chaos.storm import history
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.evidence import Evidence
from tests.chaos.storm.fleet import Fleet, until
from tests.chaos.storm.forgotten import Lag, asked_within, compare, mailed_after
from tests.chaos.storm.ground import Ground, Scene
from tests.chaos.storm.replication import Pair, ReplicatedPlace
from tests.chaos.storm.stage import Act, Stage

TIMEOUT = 60.0
# Seconds without a primary, each time.
AWAY = (0.0, 2.0, 8.0) if FULL else (0.5,)
LONGEST_SILENCE = 5.0
# On a machine that runs other tests, too, a heartbeat may be late by more than the storm's 1.2 s: that is no fault.
HEARTBEATS = {} if FULL else {"SNOOZER_WORKER_DEAD_SECONDS": "10"}
LAG_SECONDS = 3.0
BEFORE, AHEAD = 80, 300 if FULL else 100
# More than is delivered at that pace, so that there is something to repeat and something to forget.
RATE, THINK = (100.0, 0.2) if FULL else (60.0, 0.4)
WAITING = "nothing is claimed until `snoozer restored`"
CLAIMED = """
SELECT snooze.message_id FROM storm_claims AS claim JOIN email_snoozes AS snooze ON snooze.id = claim.snooze_id
WHERE claim.worker IS NOT NULL AND claim.at > to_timestamp(%s)
"""
ACCEPTED = "SELECT CAST(extract(epoch FROM max(accepted_at)) AS float8) AS at FROM accepted_timelines"
CLAIMS = "SELECT count(*) AS claims FROM storm_claims WHERE worker IS NOT NULL AND at > to_timestamp(%s)"
OVERDUE = """
SELECT count(*) AS overdue FROM email_snoozes WHERE NOT inactive AND remind_at < clock_timestamp() - INTERVAL '1 second'
"""
HELD = "SELECT count(*) AS held FROM email_snoozes WHERE claimed_at IS NOT NULL"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="snoozer-pair-") as name, database_reaper() as register:
        folder = Path(name)
        folder.chmod(0o711)
        pair = Pair(folder, on_launch=register)
        yield pair
        pair.stop()


@pytest.fixture
def synchronous(stage: Stage, ground: Ground, pair: Pair) -> Stage:
    return replace(stage, ground=ReplicatedPlace(pair=pair, maternity=ground.maternity, synchronous=True))


@pytest.fixture
def asynchronous(ground: Ground, pair: Pair) -> ReplicatedPlace:
    return ReplicatedPlace(pair=pair, maternity=ground.maternity, synchronous=False)


def test_a_synchronous_standby_takes_over_at_once(synchronous: Stage, pair: Pair) -> None:
    silences = []
    with synchronous.act(settings={"SNOOZER_FAILOVER": "continue", **HEARTBEATS}) as act:
        processes = (act.fleet.workers, act.fleet.clocks)
        for away in AWAY:
            pair.make_whole(synchronous=True)
            wait_for_mails(act.scene, BEFORE)
            pair.kill_primary()
            act.storm.stop.wait(away)
            silences.append(seconds_to_a_mail(act.scene, since=pair.promote()))
        wait_for_mails(act.scene, BEFORE)
        assert (act.fleet.workers, act.fleet.clocks) == processes, ended(act)
        synchronous.report.note(synchronous.name, failovers=len(AWAY), first_mail_after=silences)
        print("seconds from the promotion to a mail:", silences)
    assert max(silences) <= LONGEST_SILENCE


def test_a_synchronous_standby_takes_over_when_an_operator_accepts_it(synchronous: Stage, pair: Pair) -> None:
    with synchronous.act(settings=HEARTBEATS) as act:
        processes = (act.fleet.workers, act.fleet.clocks)
        wait_for_mails(act.scene, BEFORE)
        pair.kill_primary()
        promoted = pair.promote()
        all_workers_wait(act.scene, act.fleet)
        assert until(lambda: act.scene.ask(OVERDUE)[0]["overdue"] >= 20, seconds=TIMEOUT)
        assert act.scene.ask(CLAIMS, promoted)[0]["claims"] == 0
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
            assert scene.ask(CLAIMS, lag.promoted)[0]["claims"] == 0
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


def ended(act: Act) -> str:
    """How processes ended, and their last output; a failed test prints it."""
    words = act.scene.log.read_text()[-4000:] if act.scene.log.exists() else ""
    return f"a process was restarted: {dict(act.fleet.ended)}\n{words}"


def restored(scene: Scene, *arguments: str) -> list[str]:
    done = scene.run("restored", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def all_workers_wait(scene: Scene, fleet: Fleet) -> None:
    """Return when each worker has noticed the other timeline."""
    assert until(lambda: scene.log.read_text().count(WAITING) >= len(fleet.workers), seconds=TIMEOUT)


def wait_for_mails(scene: Scene, count: int) -> None:
    """So many more mails are accepted."""
    before = scene.sink.order()["accepted"]
    assert until(lambda: scene.sink.order()["accepted"] >= before + count, seconds=TIMEOUT)


def seconds_to_a_mail(scene: Scene, *, since: float) -> float:
    """How long it took until a mail was accepted whose snooze was claimed after this moment."""

    def mailed() -> list[float]:
        claimed = {row["message_id"] for row in scene.ask(CLAIMED, since)}
        mails = history.read(scene.sink.path)
        return [mail["at"] for mail in mails if mail["at"] > since and mail["in_reply_to"] in claimed]

    assert until(lambda: bool(mailed()), seconds=TIMEOUT)
    return round(min(mailed()) - since, 2)
