"""`snoozer bench` measures real workers on ground of its own, and leaves nothing behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.process.cli.measuring import ROOT, bench
from tests.processes import processes_of

PATIENCE = 60.0


def test_a_small_bench_tells_figures_beside_the_floor(tmp_path: Path) -> None:
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    told = bench("--rows=200", "--rounds=1", "--work", "0", "1", f"--json={figures}", f"--svg={picture}")
    assert (told.returncode, told.stderr) == (0, "")
    assert "reminders a second" in told.stdout
    report = json.loads(figures.read_text())
    assert [one["who"] for one in report["rounds"]] == ["snoozer", "floor"]
    for one in report["rounds"]:
        assert (one["rows"], one["duplicates"], one["reaped_percent"]) == (200, 0, 0)
        assert 0 < one["p50_wait"] <= one["p99_wait"] <= one["seconds"]
    assert report["ratios"]["rate"] == report["snoozer"]["rate"] / report["floor"]["rate"]
    assert len(ElementTree.parse(picture).findall("{http://www.w3.org/2000/svg}polyline")) == 2  # noqa: S314 - ours


def test_a_bench_that_is_told_to_end_leaves_nothing_running(open_folder: Path) -> None:
    # So slow that the workers are still at it when it is told.
    command = [sys.executable, "-m", "snoozer", "bench", "--rows=2000", "--work", "2000", "2000"]
    environment = os.environ | {"TMPDIR": str(open_folder)}
    running = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while not list(open_folder.glob("snoozer-bench-*/journal")):  # A worker's.
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(processes_of(open_folder)) > 3
    running.terminate()
    assert (running.communicate(timeout=PATIENCE)[1], running.returncode) == ("\nAborted!\n", 1)
    assert processes_of(open_folder) == []
    assert not list(open_folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--work", "5", "2"), "the shortest first"),
        (("herd", "--work", "-1", "0"), "the shortest first"),
        (("--processes", "2", "--concurrency", "1"), "for each process"),
        (("--processes", "2", "--concurrency", "300"), "for each process"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...], words: str) -> None:
    told = bench(*arguments)
    assert told.returncode == 2
    assert words in told.stderr
    assert "Traceback" not in told.stderr
