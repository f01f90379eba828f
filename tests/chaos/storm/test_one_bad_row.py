"""One reminder whose delivery kills its worker, among 49 innocents: they arrive, and it becomes a case for people."""

import time
from pathlib import Path

from tests.chaos.storm.ground import Ground
from tests.chaos.storm.report import Report

ROWS = 50
MOST_DEATHS = 5
MOST_SECONDS = 60.0


def test_a_row_that_kills_its_worker_delays_no_other_row(
    scene_name: str, ground: Ground, report: Report, folder: Path, seed: int
) -> None:
    with ground.scene(folder, seed=seed) as scene:
        message_ids = scene.load.pour(ROWS)
        bad = message_ids[seed % ROWS]
        fleet = scene.fleet(workers=2, arguments=("--batch", str(ROWS)))
        fleet.dress = lambda: {"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": f"body:kill@{bad}"}
        began = time.time()
        try:
            fleet.start()
            assert scene.drained(seconds=MOST_SECONDS)
            seconds = time.time() - began
            fleet.retire()
        finally:
            fleet.close()
        verdict = scene.judged()
        [row] = scene.ask("SELECT outcome, crash_count FROM email_snoozes WHERE message_id = %s", bad)
    deaths = fleet.ended[-9]
    report.add(scene_name, strikes={"deaths": deaths}, verdict=verdict, seconds=seconds)
    assert verdict.keeps_the_promise, verdict
    assert (verdict.delivered, verdict.named["cases"]) == (ROWS - 1, [bad])
    assert (row["outcome"], row["crash_count"]) == ("retired", deaths)
    assert deaths <= MOST_DEATHS
