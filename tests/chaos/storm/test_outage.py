"""The mail server is down for a minute while 10,000 reminders are due: few connections, no attempt spent."""

import math
import time

from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.stage import Stage

DUE, SECONDS, COOLDOWN = (10_000, 60.0, 5.0) if FULL else (500, 5.0, 1.0)
WORKERS, THRESHOLD = 4, 5
SPENT = """
SELECT sum(attempts) AS attempts, count(*) FILTER (WHERE outcome = 'retired') AS retired FROM email_snoozes
"""


def test_the_mail_server_is_down_while_much_is_due(stage: Stage) -> None:
    settings = {
        "SNOOZER_BREAKER_THRESHOLD": str(THRESHOLD),
        "SNOOZER_BREAKER_COOLDOWN_SECONDS": str(COOLDOWN),
    }
    with stage.act(workers=WORKERS, arguments=(), settings=settings, rate=0, think=0.0) as act:
        with act.scene.outage():
            before = act.scene.sink.order(down=True)["connections"]
            began = time.monotonic()
            act.scene.load.pour(DUE)
            act.storm.stop.wait(SECONDS)
            down_for = time.monotonic() - began
            connections = act.scene.sink.order()["connections"] - before
            [spent] = act.scene.ask(SPENT)
            act.scene.sink.order(heal=True)
        healed = time.monotonic()
        assert act.scene.drained(seconds=stage.timeout)
        stage.report.note(stage.name, connections=connections, drained_after=round(time.monotonic() - healed, 1))
    probes = math.ceil(down_for / COOLDOWN)
    assert connections <= THRESHOLD * WORKERS + probes
    assert (spent["attempts"], spent["retired"]) == (0, 0)
    assert (act.verdict.delivered, act.verdict.duplicated) == (DUE, 0)
