"""Under Patroni the leader is killed, and mail goes on by itself. It waits for a person after a failover that may have
forgotten something, and after a restore. Opt-in: it needs Debian's packages patroni and etcd-server, and minutes."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snoozer.dev.processes import CHILD, reaper
from tests.chaos.storm.aftermath import CLAIMS_SINCE, all_workers_wait, ended, restored, wait_for_mails
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import DEFAULTS, Ground, Scene
from tests.chaos.storm.history import read
from tests.chaos.storm.patroni import Cluster, PatroniPlace, lacking
from tests.chaos.storm.stage import Stage
from tests.chaos.storm.visitors import Doors, Visitors
from tests.conftest import missing

pytestmark = pytest.mark.skipif(not FULL, reason="left out: Patroni and etcd: make storm")

KILLS, BEFORE, INSERTS_A_SECOND = 3, 80, 50.0
TIMEOUT = 120.0
# After the ttl, until the first mail.
LATEST = 3.0
# What accept.sh takes for a restore, and a little more.
OLD_SECONDS = 62.0
ACCEPTED = "SELECT count(*) AS times FROM audit_log WHERE act = 'accept_database'"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if tools := lacking():
        missing(", ".join(tools))
    with tempfile.TemporaryDirectory(prefix="snoozer-patroni-") as name, reaper() as register:
        folder = Path(name)
        folder.chmod(0o711)
        cluster = Cluster(folder, on_launch=lambda pid: register(CHILD, pid))
        yield cluster
        cluster.stop()


def test_the_leader_is_killed_and_mail_goes_on_by_itself(stage: Stage, ground: Ground, cluster: Cluster) -> None:
    doors, silences = Doors(), list[float]()
    on_patroni = replace(stage, ground=PatroniPlace(cluster=cluster, ground=ground, synchronous=True))
    settings = {**DEFAULTS, **doors.settings}
    with on_patroni.act(settings=settings, rate=INSERTS_A_SECOND, others=doors.processes) as act:
        visitors = Visitors(act.scene, doors)
        with visitors.coming():
            processes = act.fleet.processes
            for _ in range(KILLS):
                cluster.make_whole(synchronous=True)
                wait_for_mails(act.scene, BEFORE)
                killed = time.time()
                cluster.leader().kill()
                silences.append(round(first_mail(act.scene, since=killed + 1) - killed, 2))
            wait_for_mails(act.scene, BEFORE)
        assert act.fleet.processes == processes, ended(act)
        assert visitors.lost_mails() == set()
        assert act.scene.ask(ACCEPTED) == [{"times": KILLS}]
        facts = {"ttl": cluster.ttl, "first_mail_after": silences, "answers": visitors.answers}
        on_patroni.report.note(on_patroni.name, failovers=KILLS, **facts)
        print("seconds from the kill to a mail:", facts)
    assert visitors.refused_otherwise() == {}
    assert max(silences) <= cluster.ttl + LATEST


def test_mail_waits_if_the_cluster_is_not_synchronous(stage: Stage, ground: Ground, cluster: Cluster) -> None:
    place = PatroniPlace(cluster=cluster, ground=ground, synchronous=False)
    with place.scene(stage.folder, seed=stage.seed) as scene:
        fleet = scene.fleet(workers=2, settings=DEFAULTS)
        try:
            fleet.start()
            scene.load.start()
            wait_for_mails(scene, BEFORE)
            before = len(cluster.accepting)
            cluster.leader().kill()
            all_workers_wait(scene, fleet)
            waits(scene, since=time.time())
            assert "snoozer: the cluster is not synchronous" in cluster.accepting[before:]
            restored(scene, "--accept")
            wait_for_mails(scene, BEFORE)
        finally:
            fleet.close()


def test_mail_waits_after_a_restore(stage: Stage, ground: Ground, cluster: Cluster) -> None:
    """To a moment, by Patroni's own way to make a cluster from a backup; also if its callback were called."""
    place = PatroniPlace(cluster=cluster, ground=ground, synchronous=True)
    with place.scene(stage.folder, seed=stage.seed) as scene:
        fleet = scene.fleet(workers=2, settings=DEFAULTS)
        try:
            fleet.start()
            cluster.back_up()
            scene.load.start()
            wait_for_mails(scene, BEFORE)
            moment = datetime.now(UTC)
            wait_for_mails(scene, BEFORE)
            scene.load.stop()
            node = cluster.restore(until=moment)
            all_workers_wait(scene, fleet)
            waits(scene, since=time.time())
            assert until(lambda: time.time() > moment.timestamp() + OLD_SECONDS, seconds=TIMEOUT)
            refused = cluster.accept(node)
            assert (refused.returncode, "as after a restore" in refused.stderr) == (1, True), refused.stderr
            waits(scene, since=time.time())
            listed = restored(scene, "--until", datetime.now(UTC).isoformat(), "--apply")
            assert listed
            assert scene.ask(ACCEPTED) == [{"times": 1}]
        finally:
            fleet.close()


def first_mail(scene: Scene, *, since: float) -> float:
    """When the first mail was accepted after this moment."""

    def mails() -> list[float]:
        return [mail["at"] for mail in read(scene.sink.path) if mail["at"] > since]

    assert until(lambda: bool(mails()), seconds=TIMEOUT)
    return min(mails())


def waits(scene: Scene, *, since: float) -> None:
    """For five seconds nothing is claimed, and the mail server gets nothing."""
    accepted = scene.sink.order()["accepted"]
    assert not until(lambda: scene.ask(CLAIMS_SINCE, since)[0]["claims"] > 0, seconds=5.0, look=0.5)
    assert scene.sink.order()["accepted"] == accepted
