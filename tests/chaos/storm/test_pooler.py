"""Behind pgbouncer in transaction mode workers are killed, the pooler with all its connections, and the primary."""

from dataclasses import replace

from tests.chaos.storm import nemeses
from tests.chaos.storm.aftermath import ended, seconds_to_a_mail
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import Fleet, until
from tests.chaos.storm.ground import DEFAULTS, Ground
from tests.chaos.storm.pooler import PooledPlace, a_pooler
from tests.chaos.storm.replication import Pair
from tests.chaos.storm.stage import Act, Stage
from tests.chaos.storm.visitors import Doors, Visitors

TIMEOUT = 300.0
# How many workers are killed before the primary is lost, and again after it.
KILLS = 30 if FULL else 5


def test_a_storm_of_kills_behind_a_pooler(stage: Stage, ground: Ground) -> None:
    with a_pooler(ground.server.url) as pooler:

        def restart() -> bool:
            pooler.kill()
            pooler.start()
            return True

        behind = replace(stage, ground=PooledPlace(ground, pooler))
        with behind.act(think=0.04) as act:
            killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
            act.storm.let_loose("kill -9", killer, times=300 if FULL else 20, pace=(0.1, 0.5))
            act.storm.let_loose("kill -9 the pooler", restart, times=20 if FULL else 2, pace=(2.0, 4.0))


def test_a_primary_is_lost_behind_a_pooler(synchronous: Stage, pair: Pair) -> None:
    """While workers are killed, and the doors are in use."""
    doors = Doors()
    with a_pooler(pair.primary.url) as pooler:
        behind = replace(synchronous, ground=PooledPlace(synchronous.ground, pooler))
        settings = {**DEFAULTS, **doors.settings, "SNOOZER_FAILOVER": "continue"}
        with behind.act(settings=settings, others=doors.processes) as act:
            visitors = Visitors(act.scene, doors)
            with visitors.coming():
                kept = standing(act.fleet)
                kill_workers(act)
                pair.make_whole(synchronous=True)
                pair.kill_primary()
                promoted = pair.promote()
                pooler.follow(pair.primary.url)
                silence = seconds_to_a_mail(act.scene, since=promoted)
                kill_workers(act)
            assert standing(act.fleet) == kept, ended(act)
            assert visitors.lost_mails() == set()
            facts = {"first_mail_after": silence, "answers": visitors.answers}
            behind.report.note(behind.name, failovers=1, **facts)
            print("seconds from the promotion to a mail:", facts)
        assert visitors.refused_otherwise() == {}


def standing(fleet: Fleet) -> dict[int, int]:
    """The processes with doors, by their slot."""
    return {slot: pid for slot, pid in fleet.processes.items() if pid not in {*fleet.workers, *fleet.clocks}}


def kill_workers(act: Act) -> None:
    killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
    strikes = act.fleet.ended[-9] + KILLS

    def killed() -> bool:
        killer()
        return act.fleet.ended[-9] >= strikes

    assert until(killed, seconds=TIMEOUT, look=0.2)
