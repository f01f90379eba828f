"""The mail server denies everybody, or takes half a minute for one recipient in twenty."""

import time
from dataclasses import replace

import pytest

from fakes.smtp_server import is_slow
from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import DEFAULTS
from tests.chaos.storm.load import ATTACK, Row
from tests.chaos.storm.stage import Act, Stage
from tests.chaos.storm.timing import Bounds

DENIED = "554 5.7.1 Relay access denied"
DUE, MAX_CASES = 800, 20
DENIED_SECONDS = 20.0 if FULL else 5.0
CASES = "SELECT count(*) AS cases FROM email_snoozes WHERE outcome = 'retired'"
SLOW_SHARE, SLOW_SECONDS = 0.05, 30.0 if FULL else 3.0
MANY = 4_000 if FULL else 400
PATIENT = {"SNOOZER_DEADLINE_SECONDS": "120"}


@pytest.mark.parametrize("phase", ["rcpt", "dot"] if FULL else ["rcpt"])
def test_a_relay_denies_everybody_while_workers_are_killed(stage: Stage, phase: str) -> None:
    with stage.act(workers=2, arguments=(), rate=0) as act:
        with act.scene.outage():
            act.scene.sink.order(fault=[phase, DENIED, None])
            rows = act.scene.load.rows(DUE)
            act.scene.load.put(
                [replace(row, user_email=f"r{number}@snoozer.example") for number, row in enumerate(rows)]
            )
            # None is accepted meanwhile, and afterwards there may be too few for the last kill.
            killer = nemeses.killer(act.scene, act.fleet, rng=act.rng, mails=0)
            act.storm.let_loose("kill -9", killer, times=3, pace=(0.5, 2.0))
            act.storm.stop.wait(DENIED_SECONDS)
            [found] = act.scene.ask(CASES)
            act.scene.sink.order(heal=True)
        stage.report.note(stage.name, cases_made=found["cases"])
        print(stage.name, found)
    assert 0 < found["cases"] <= MAX_CASES


def test_one_recipient_in_twenty_takes_long(stage: Stage) -> None:
    """Rows of the others leave at nearly the rate they leave at otherwise, and at once while slow ones are awaited."""
    bounds = Bounds(silence=5.0 if FULL else 30.0)
    settings = DEFAULTS | PATIENT
    with stage.act(workers=2, arguments=(), settings=settings, rate=0, bounds=bounds) as act:
        without = _rate_of_others(act, _many(act), seconds=stage.timeout)
        act.scene.sink.order(slow=[SLOW_SHARE, SLOW_SECONDS])
        rows = _many(act)
        beside = _rate_of_others(act, rows, seconds=stage.timeout)
        act.scene.sink.order(slow=[0.0, 0.0])
        everyone = {row.message_id for row in rows}
        assert until(lambda: _one_more(act) and _are_mailed(act, everyone), seconds=stage.timeout, look=1.0)
        stage.report.note(stage.name, rate_without=without, rate_beside_slow_ones=beside)
        print(stage.name, without, beside)
    assert beside >= (0.9 * without if FULL else 1.0)


def test_kills_while_one_recipient_in_twenty_takes_long(stage: Stage) -> None:
    with stage.act(settings=PATIENT, mix=ATTACK, people_rate=5.0) as act:
        act.scene.sink.order(slow=[SLOW_SHARE, SLOW_SECONDS])
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=100 if FULL else 5, pace=(0.2, 1.0))


def _many(act: Act) -> list[Row]:
    return [
        replace(row, user_email=f"r{number}@snoozer.example") for number, row in enumerate(act.scene.load.rows(MANY))
    ]


def _rate_of_others(act: Act, rows: list[Row], *, seconds: float) -> float:
    """Mails a second, of recipients who are not slow."""
    quick = {row.message_id for row in rows if not is_slow(row.user_email, share=SLOW_SHARE)}
    began = time.time()
    act.scene.load.put(rows)
    # Each look reads the whole file, on the cores that are measured.
    assert until(lambda: _are_mailed(act, quick), seconds=seconds, look=2.0)
    return round(len(quick) / (max(act.scene.mailed(quick).values()) - began), 1)


def _are_mailed(act: Act, message_ids: set[str]) -> bool:
    return message_ids <= act.scene.mailed(message_ids).keys()


def _one_more(act: Act) -> bool:
    act.scene.load.put(act.scene.load.rows(1))
    return True
