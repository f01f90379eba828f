"""`snoozer plan` prints sentences, without a database, and refuses in one."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from snoozer.cli.plan import Figures
from tests.forked import run_forked

MANY = ("--people=10000", "--per-day=3")
DRAINED = {
    "run": "drain",
    "load": {"batch": 50, "processes": 2},
    "snoozer": {"rate": 1000.0, "cpu_ms": 1.5, "server_cpu_ms": 0.5, "wal_bytes": 4000.0},
}
GROWN = {
    "run": "growth",
    "claims": [
        {"future": 1000, "insert_wal_bytes": 9.0, "table_bytes": 900_000, "index_bytes": 900_000},
        {"future": 100_000, "insert_wal_bytes": 1000.0, "table_bytes": 40_000_000, "index_bytes": 20_000_000},
    ],
    "archive": {
        "reminders": 1000,
        "over_bytes": 1100.0,
        "wal_bytes": 2500.0,
        "stored": [
            {"name": "email_snoozes", "table_bytes": 5, "index_bytes": 5},
            {"name": "email_snoozes_archive", "table_bytes": 200_000, "index_bytes": 50_000},
            {"name": "reminder_sends_archive", "table_bytes": 300_000, "index_bytes": 100_000},
        ],
    },
}


def plan(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run where there are no settings at all."""
    return run_forked("plan", *arguments, env={"PATH": "/usr/bin:/bin", "SNOOZER_HOME": "/nowhere"})


def figures(tmp_path: Path, *reports: Any) -> list[str]:
    paths = [tmp_path / f"{number}.json" for number in range(len(reports))]
    for path, report in zip(paths, reports, strict=True):
        path.write_text(json.dumps(report))
    return [f"--figures={path}" for path in paths]


def test_what_is_needed_is_printed_in_sentences_with_its_assumption() -> None:
    ended = plan(*MANY)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "10,000 people who put 3 messages away a day get 30,000 reminders a day." in ended.stdout
    assert "10% of them are promised for the same second" in ended.stdout
    assert "One database with 4 cores is enough up to" in ended.stdout
    assert "That is enough here." in ended.stdout


def test_a_city_does_not_fit_into_one_database() -> None:
    ended = plan("--people=50000000", "--per-day=10")
    assert ended.returncode == 0
    assert "divide the people among 95 Snoozers with a database each, 526,316 people in each" in ended.stdout


def test_the_plan_as_json() -> None:
    report = json.loads(plan(*MANY, "--json").stdout)
    assert (report["plan"]["fits"], report["plan"]["cells"]) == (True, 1)
    assert report["demand"]["people"] == 10_000
    assert report["figures"]["wal_bytes"] == Figures().wal_bytes


def test_ones_own_measurements_replace_ours(tmp_path: Path) -> None:
    ended = plan(*MANY, "--json", *figures(tmp_path, DRAINED, GROWN))
    assert ended.returncode == 0
    used = json.loads(ended.stdout)["figures"]
    assert used == pytest.approx(
        {
            "batch_seconds": 0.0,
            "reminder_seconds": 0.002,
            "worker_cpu_seconds": 0.0015,
            "server_batch_seconds": 0.0,
            "server_reminder_seconds": 0.0005,
            "wal_bytes": 4000,
            "other_wal_bytes": 3500,
            "asleep_bytes": 600,
            "over_bytes": 1100,
            "archived_bytes": 650,
        }
    )
    assert "by your figures" in plan(*MANY, *figures(tmp_path, DRAINED)).stdout


def test_drains_in_batches_of_several_sizes_are_fitted_together(tmp_path: Path) -> None:
    small = DRAINED | {"load": {"batch": 10, "processes": 1}, "snoozer": DRAINED["snoozer"] | {"rate": 10 / 0.03}}  # type: ignore[operator]
    large = DRAINED | {"load": {"batch": 50, "processes": 1}, "snoozer": DRAINED["snoozer"] | {"rate": 50 / 0.07}}  # type: ignore[operator]
    ended = plan(*MANY, "--json", *figures(tmp_path, small, large))
    used = json.loads(ended.stdout)["figures"]
    assert (used["batch_seconds"], used["reminder_seconds"]) == (pytest.approx(0.02), pytest.approx(0.001))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--people=many", "--per-day=3"), "--people must be a number"),
        (("--people=0", "--per-day=3"), "--people must be a number"),
        (("--people=nan", "--per-day=3"), "--people must be a number"),
        (("--people=10", "--per-day=-1"), "--per-day must be a number"),
        ((*MANY, "--herd-share=1.5"), "--herd-share must be a number from 0 to 1"),
        ((*MANY, "--batch=0"), "--batch must be a number from 1 to 1,000"),
        ((*MANY, "--figures=/nowhere/figures.json"), "holds no figures"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    ended = plan(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_missing_number_is_refused_by_the_name_of_its_option() -> None:
    ended = plan("--people=10")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Missing option '--per-day'" in ended.stderr


@pytest.mark.parametrize(
    "report",
    [
        [],
        {"run": "idle"},
        {"run": ["drain"]},
        {"run": "drain", "load": {"batch": 50, "processes": 2}},
        {"run": "drain", "load": {"batch": 50, "processes": 2}, "snoozer": {"rate": 0, "cpu_ms": 1, "wal_bytes": 1}},
        {"run": "batches", "medians": []},
        {"run": "drain", "load": {"batch": "many", "processes": 2}, "snoozer": DRAINED["snoozer"]},
        {"run": "growth", "claims": [], "archive": None},
        GROWN | {"archive": {"reminders": 0}},
    ],
)
def test_figures_that_are_not_whole_are_refused_in_one_sentence(tmp_path: Path, report: object) -> None:
    ended = plan(*MANY, *figures(tmp_path, report))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == 1
