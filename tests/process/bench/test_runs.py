"""Each run of the bench measures end to end on a small load and reports its figures."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.burst import people
from bench.statement_log import verbs
from tests.process.bench.running import run_bench
from tests.process.conftest import ROOT
from tests.processes import processes_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what processes use is read from /proc")


def figures(tmp_path: Path, *arguments: str) -> Any:
    ended = run_bench(*arguments, f"--json={tmp_path / 'figures.json'}")
    assert (ended.returncode, ended.stderr) == (0, "")
    report = json.loads((tmp_path / "figures.json").read_text())
    assert report["machine"]["cores"] > 0
    return report


def test_the_help_names_every_run() -> None:
    ended = run_bench("--help")
    assert ended.returncode == 0
    for run in ("drain", "batches", "growth", "idle", "latency", "burst", "api", "compare"):
        assert f"\n  {run} " in ended.stdout


def test_a_run_that_does_not_exist_is_refused() -> None:
    ended = run_bench("gallop")
    assert ended.returncode == 2
    assert "No such command 'gallop'" in ended.stderr


def test_the_cost_of_a_reminder_is_reported_for_each_size_of_a_batch(tmp_path: Path) -> None:
    report = figures(tmp_path, "batches", "--rows=200", "--rounds=1", "--size=10", "--size=50")
    assert [one["size"] for one in report["medians"]] == [10, 50]
    for one in report["rounds"]:
        assert one["rows"] == 200
        assert one["server_ms"] >= 0
        assert one["session_ms"] == pytest.approx(sum(one["steps_ms"]))


def test_claims_beside_sleeping_rows_and_the_archive_are_measured(tmp_path: Path) -> None:
    sizes = ("--future=100", "--future=1000")
    report = figures(tmp_path, "growth", *sizes, "--claims=3", "--batch=5", "--rounds=1", "--sent=50")
    assert [one["future"] for one in report["claims"]] == [100, 1000]
    for one in report["claims"]:
        assert 0 < one["p50_ms"] <= one["p99_ms"]
    assert report["archive"]["reminders"] == 50
    rows = {one["name"]: one["rows"] for one in report["archive"]["stored"]}
    assert rows == {
        "email_snoozes": 0,
        "reminder_sends": 0,
        "email_snoozes_archive": 50,
        "reminder_sends_archive": 50,
    }


def test_idle_workers_are_measured(tmp_path: Path) -> None:
    report = figures(tmp_path, "idle", "--workers=2", "--seconds=4", "--future=10")
    assert report["workers"] == 2
    assert report["statements"]["WITH"] > 0
    assert report["queries"] > 0
    assert report["connections"] >= 1
    assert report["worker_bytes"] > 10_000_000


def test_the_verbs_of_statements_are_read_from_a_servers_log() -> None:
    log = """\
2026-03-05 10:20:00.000 UTC [7] LOG:  statement: BEGIN
2026-03-05 10:20:00.001 UTC [7] LOG:  execute _pg3_0: -- How many seconds until the next snooze is due.
\tSELECT extract(epoch FROM remind_at)
\tFROM email_snoozes
2026-03-05 10:20:00.002 UTC [7] snoozer-worker LOG:  execute <unnamed>: UPDATE workers
2026-03-05 10:20:00.002 UTC [9] snoozer-bench LOG:  statement: SELECT count(*)
2026-03-05 10:20:00.003 UTC [8] LOG:  statement: ;
2026-03-05 10:20:00.004 UTC [8] ERROR:  canceling statement due to user request
"""
    assert verbs(log) == ["BEGIN", "SELECT", "UPDATE", ""]


def test_lateness_is_reported_for_each_case(tmp_path: Path) -> None:
    picture, cases = tmp_path / "late.svg", ("--case=ahead-silent", "--case=due-cut")
    report = figures(tmp_path, "latency", "--rate=10", "--seconds=1", "--rounds=1", *cases, f"--svg={picture}")
    assert [one["case"] for one in report["medians"]] == ["ahead, listening silent", "when due, listening cut"]
    for one in report["rounds"]:
        assert one["reminders"] == 10
        assert 0 < one["p50_ms"] <= one["p99_ms"] <= one["worst_ms"]
    assert picture.read_text().count("<polyline") == 2


def test_a_burst_of_two_hundred_is_measured(tmp_path: Path) -> None:
    picture = tmp_path / "burst.svg"
    report = figures(tmp_path, "burst", "--rows=200", "--calm=1", f"--svg={picture}")
    assert report["rows"] == 200
    assert len(report["rates"]) == 10
    assert {one["kind"]: one["rows"] for one in report["waits"]} == {"one row": 100, "a few": 50, "a heap": 50}
    assert (report["pages_failed"], report["reaped"], report["duplicates"]) == (0, 0, 0)
    assert len(report["grown_bytes"]) == 2
    assert report["page_ratio"] == report["page_burst"] / report["page_idle"]
    assert picture.read_text().count("<polyline") == 3


def test_the_api_is_measured_beside_a_plain_site(tmp_path: Path) -> None:
    report = figures(tmp_path, "api", "--requests=20", "--clients=2", "--rounds=1")
    figure = {(one["site"], one["work"]): one for one in report["medians"]}
    assert set(figure) == {(site, work) for site in ("the API", "plain Flask") for work in ("create", "list")}
    assert all(one["requests"] == 20 and 0 < one["p50_ms"] <= one["p95_ms"] for one in figure.values())
    assert set(report["ratios"]) == {"create", "list"}


def test_half_of_a_burst_belongs_to_people_with_one_row() -> None:
    rows = Counter(people(1000))
    assert sorted(Counter(rows.values()).items()) == [(1, 500), (5, 50), (50, 5)]


def test_a_killed_run_leaves_no_server(open_folder: Path) -> None:
    """PostgreSQL and the mail server stayed, and the next run shared the machine with them."""
    command = [sys.executable, "-m", "bench", "batches", "--rows=100000"]
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as run:
        until(lambda: {"postgres", "mail_server"} <= servers(open_folder))
        run.kill()
    until(lambda: not processes_of(open_folder))


def servers(folder: Path) -> set[str]:
    return {name for each in processes_of(folder) for name in ("postgres", "mail_server") if name in each}


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
