"""`python -m bench` measures real workers in an environment of its own, and leaves nothing behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.process.bench.running import ROOT, run_bench
from tests.processes import processes_of

TIMEOUT = 60.0


def test_a_small_drain_reports_figures_beside_the_baseline(tmp_path: Path) -> None:
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    ended = run_bench("--rows=200", "--rounds=1", "--work", "0", "1", f"--json={figures}", f"--svg={picture}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "reminders a second" in ended.stdout
    report = json.loads(figures.read_text())
    assert [one["who"] for one in report["rounds"]] == ["snoozer", "baseline"]
    for one in report["rounds"]:
        assert (one["rows"], one["duplicates"], one["reaped_percent"]) == (200, 0, 0)
        assert 0 < one["p50_wait"] <= one["p99_wait"] <= one["seconds"]
    assert report["ratios"]["rate"] == report["snoozer"]["rate"] / report["baseline"]["rate"]
    assert len(ElementTree.parse(picture).findall("{http://www.w3.org/2000/svg}polyline")) == 2  # noqa: S314 - ours


def test_a_bench_stopped_by_sigterm_leaves_no_process_and_no_file(open_folder: Path) -> None:
    # So slow that the workers are still busy when the signal comes.
    command = [sys.executable, "-m", "bench", "--rows=2000", "--work", "2000", "2000"]
    environment = os.environ | {"TMPDIR": str(open_folder)}
    running = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + TIMEOUT
    while not list(open_folder.glob("snoozer-bench-*/journal")):  # A worker's.
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(processes_of(open_folder)) > 3
    running.terminate()
    assert (running.communicate(timeout=TIMEOUT)[1], running.returncode) == ("\nAborted!\n", 1)
    assert processes_of(open_folder) == []
    assert not list(open_folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--work", "5", "2"), "the shortest first"),
        (("burst", "--work", "-1", "0"), "the shortest first"),
        (("--processes", "2", "--concurrency", "1"), "for each process"),
        (("--processes", "2", "--concurrency", "300"), "for each process"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...], words: str) -> None:
    ended = run_bench(*arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
