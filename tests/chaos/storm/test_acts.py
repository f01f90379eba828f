"""A storm of acts: a crowd changes its mind at every door just when reminders leave, and workers are killed.

An act always takes effect from now on. What an act met before its dot was authorised never leaves for the old promise;
a copy that was authorised before may still arrive, and the answer says so. `promises.py` is the judge.
"""

import time
from pathlib import Path
from random import Random

from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from tests.chaos.storm import nemeses, promises, testimony
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.crowd import Crowd, accounts
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import Ground
from tests.chaos.storm.nemeses import Storm
from tests.chaos.storm.report import Report
from tests.chaos.storm.visitors import UNLIMITED
from tests.db import invariants
from tests.web.live_site import live_site

SEED = 20_261_127
SNOOZES, KILLS, WORKERS, ACTORS, PEOPLE = (2_000, 100, 4, 8, 12) if FULL else (150, 5, 2, 4, 12)
SECONDS = 1500.0 if FULL else 150.0
DRAIN = 120.0
SLOWEST_DOT = 0.3
NEAR = """
SELECT count(*) AS near FROM email_snoozes
WHERE NOT inactive AND COALESCE(scheduled_for, remind_at) < clock_timestamp() + interval '10 minutes'
"""
"""What still has to be delivered; other times lie hours ahead."""


def test_acts_take_effect_now_whatever_leaves(ground: Ground, report: Report, folder: Path, scene_name: str) -> None:
    began, rng, storm = time.time(), Random(SEED), Storm(SEED)
    with ground.scene(folder, seed=SEED, rate=0.0, think=0.0) as scene:
        testimony.bear_witness(scene.database_url)
        scene.sink.order(dot=SLOWEST_DOT)
        engine = make_engine(parse_url(scene.database_url), name="harness", pool_size=ACTORS)
        people = accounts(engine, PEOPLE)
        fleet = scene.fleet(workers=WORKERS)
        site = {name: value for name, value in scene.environment.items() if name.isupper() and "{" not in value}
        del site["DATABASE_URL"], site["SNOOZER_HOME"]
        database = scene.environment["DATABASE_URL"]
        with live_site(database, folder / "home", **{**site, **UNLIMITED}) as web:
            crowd = Crowd(
                scene.database_url,
                port=web.port,
                key=scene.environment["SECRET_KEY"],
                sink=scene.sink.path,
                history=scene.history,
                engine=engine,
                people=people,
                seed=SEED,
                count=SNOOZES,
                actors=ACTORS,
            )
            try:
                fleet.start()
                crowd.start(seconds=SECONDS)
                killer = nemeses.killer(scene, fleet, rng=rng)
                storm.let_loose("kill -9", killer, times=KILLS, pace=(0.2, 1.5))
                acted = crowd.finish(seconds=SECONDS)
                storm.blow_over(seconds=1.0)
                drained = until(lambda: scene.ask(NEAR)[0]["near"] == 0, seconds=DRAIN, look=0.3)
            finally:
                crowd.stop()
                codes = fleet.retire()
                fleet.close()
        broken = invariants.look(engine)
        engine.dispose()
        known = testimony.Testimony.gather(
            sink=scene.sink.path, log=scene.history.path, database_url=scene.database_url
        )
        verdict = promises.judge(known)
        scene.keep_evidence()
        strikes = {"kill -9": storm.struck["kill -9"], "workers killed": fleet.ended[-9]}
        report.note(scene_name, strikes=strikes, seconds=round(time.time() - began, 1), acts=verdict.as_json())
        print(scene_name, strikes, verdict)
    assert verdict.keeps_the_rule, verdict
    assert (acted, drained, broken) == (True, True, {}), (dict(codes), verdict)
    assert storm.struck["kill -9"] == KILLS
    assert verdict.copies_after_acts, "no act met a reminder that was leaving"
    assert verdict.unanswered == 0, known.unanswered
