"""Other sessions of the database are in the way: they keep rows locked, or leave the product few connections."""

from dataclasses import replace

import psycopg

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.load import ATTACK
from tests.chaos.storm.stage import Act, Stage
from tests.chaos.storm.timing import Bounds, figures

DUE, LOCKED, ORDINARY = 200, 77, 300
SECONDS = 60.0 if FULL else 3.0
P99 = 2.0 if FULL else 30.0
SLOW, USUAL = 3.0, 0.02
# Longer than anything here keeps a reply from being recorded.
LONG_HOLD = {"SNOOZER_UNCERTAIN_HOLD_SECONDS": "30"}
CLAIMED = "SELECT count(*) AS claimed FROM email_snoozes WHERE claimed_at IS NOT NULL"
LEAVE_OPEN = """
UPDATE email_snoozes SET updated_at = now()
WHERE id IN (SELECT id FROM email_snoozes WHERE claimed_at IS NOT NULL LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def test_a_transaction_stays_open_over_rows_in_the_hands_of_workers(stage: Stage) -> None:
    bounds = Bounds(silence=5.0 if FULL else 30.0)
    with stage.act(workers=2, arguments=(), rate=0, bounds=bounds, settings=LONG_HOLD) as act:
        act.scene.sink.order(think=SLOW)
        act.scene.load.pour(DUE)
        assert until(lambda: act.scene.ask(CLAIMED)[0]["claimed"] >= LOCKED, seconds=stage.timeout)
        with psycopg.connect(act.scene.database_url) as forgotten:
            assert forgotten.execute(LEAVE_OPEN, [LOCKED]).rowcount > LOCKED / 2
            act.scene.sink.order(think=USUAL)
            waits = _ordinary_waits(act, seconds=stage.timeout)
            forgotten.rollback()
        stage.report.note(stage.name, ordinary=waits)
        print(stage.name, waits)
    assert waits["p99"] <= P99
    assert act.verdict.duplicated == 0, act.verdict


def _ordinary_waits(act: Act, *, seconds: float) -> dict[str, float]:
    rows = [replace(row, due=row.due + 0.5) for row in act.scene.load.rows(ORDINARY, spread=SECONDS)]
    due = dict(zip(act.scene.load.put(rows), (row.due for row in rows), strict=True))
    assert until(lambda: len(act.scene.mailed(due)) == ORDINARY, seconds=seconds, look=0.5), "they waited for the lock"
    return figures(at - due[message_id] for message_id, at in act.scene.mailed(due).items())


def test_the_product_may_have_few_connections(stage: Stage) -> None:
    """Silence counts when it may have as many as it wants again. No reply comes too late for the hold."""
    bounds = Bounds(silence=10.0 if FULL else 40.0)
    with stage.act(mix=ATTACK, people_rate=5.0, bounds=bounds, settings=LONG_HOLD) as act:
        limiter = nemeses.limiter(act.scene, rng=act.rng, seconds=3.0)
        act.storm.let_loose("connection limit", limiter, times=20 if FULL else 2, pace=(1.0, 3.0))
    assert act.verdict.duplicated == 0, act.verdict
