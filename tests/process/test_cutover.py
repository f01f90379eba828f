"""Two schedulers over the same jobs: the shadow of a real APScheduler finds what was planted and nothing else; after
the flip nothing is lost and nothing sent twice. 300 jobs; 10,000 with SNOOZER_STORM=1."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from snoozer.operators.cutover.jobs import JobReader
from tests.factories import HOUR, now
from tests.process import old_scheduler
from tests.process.conftest import ROOT, TIMEOUT, Field
from tests.process.old_scheduler import OldJob

STORM = os.environ.get("SNOOZER_STORM") == "1"
JOBS = 10_000 if STORM else 300
# Within which they are due, in seconds.
SPREAD = 90 if STORM else 3
MISSED, EARLY, LATE, TWICE = 7, 6, 6, 6
# Far above what a slow machine makes of a punctual job, and far below an hour.
TOLERANCE = timedelta(minutes=15)


MAX_SECONDS = TIMEOUT * (5 if STORM else 1)


def wait(is_there: Callable[[], bool]) -> None:
    """Until it is so; looks ten times a second, as it reads whole files."""
    ends, pause = time.monotonic() + MAX_SECONDS, threading.Event()
    while not is_there():
        assert time.monotonic() < ends, "it did not come to pass"
        pause.wait(0.1)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "jobs.sqlite"


@contextmanager
def the_old_scheduler(store: Path, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    log.touch()
    command = [sys.executable, "-m", "tests.process.old_scheduler", str(store), str(log)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def sends(log: Path) -> list[str]:
    """Of the lines that are whole: the old scheduler may be writing one."""
    whole = log.read_text().rpartition("\n")[0]
    return [json.loads(line)["job_id"] for line in whole.splitlines()]


def punctual(count: int, *, over: float) -> list[OldJob]:
    """Due one after another over so many seconds, from soon on."""
    start = now() + timedelta(seconds=2)
    return [OldJob(f"job-{number}", start + timedelta(seconds=over * number / count)) for number in range(count)]


def planted() -> list[OldJob]:
    """Jobs that the old scheduler misses since they ran late, runs late, is made to run early, and logs twice."""
    past, future, soon = now() - HOUR, now() + HOUR, now() + timedelta(seconds=2)
    return [
        *(OldJob(f"missed-{number}", past, expires=True) for number in range(MISSED)),
        *(OldJob(f"early-{number}", future) for number in range(EARLY)),
        *(OldJob(f"late-{number}", past) for number in range(LATE)),
        *(OldJob(f"twice-{number}", soon) for number in range(TWICE)),
    ]


def source(store: Path) -> list[str]:
    return [f"sqlite:///{store}", "--format", "apscheduler", "--name", "crm"]


def shadows(place: Field, where: str = "TRUE") -> int:
    with place.engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM shadow_jobs WHERE {where}")).scalar_one())  # noqa: S608


def test_the_shadow_finds_the_planted_differences_and_no_other(place: Field, store: Path, tmp_path: Path) -> None:
    odd = planted()
    old_scheduler.fill(store, [*odd, *punctual(JOBS - len(odd), over=SPREAD)])
    log = tmp_path / "old.log"
    watch = place.start("shadow", "watch", *source(store), "--every", "15" if STORM else "1")
    try:
        wait(lambda: watch.poll() is not None or shadows(place) == JOBS)
        assert watch.poll() is None
        with the_old_scheduler(store, log):
            wait(lambda: len(sends(log)) == JOBS - MISSED + TWICE and old_scheduler.left(store) == 0)
        wait(lambda: shadows(place, "would_send_at IS NULL AND gone_at IS NULL AND due_at <= now()") == 0)
        watch.terminate()
        assert watch.wait(TIMEOUT) == 0
    finally:
        watch.kill()
        watch.communicate()
    report = place.run(
        *("shadow", "report", str(log), "--format", "json", "--name", "crm"),
        *("--tolerance", str(TOLERANCE.total_seconds())),
    )
    found = [line.split("  ") for line in report.stdout.splitlines()]
    assert {(line[0], line[-1]) for line in found} == {(job.id.split("-")[0], job.id) for job in odd}
    assert (len(found), report.returncode) == (MISSED + EARLY + LATE + TWICE, 1)
    assert "25 differences: missed 7, early 6, late 6, twice 6, unknown 0." in report.stderr
    assert f"The same: {JOBS - 25:,}." in report.stderr
    assert place.sink.accepted() == []
    if STORM:
        print(report.stderr)


def test_after_the_flip_nothing_is_lost_and_nothing_sent_twice(place: Field, store: Path, tmp_path: Path) -> None:
    # Long enough that some are left when the old scheduler is stopped.
    jobs = punctual(JOBS, over=2 * SPREAD)
    old_scheduler.fill(store, jobs)
    log = tmp_path / "old.log"
    held = place.start("worker", SNOOZER_CUTOVER="shadow")
    try:
        with the_old_scheduler(store, log) as old:
            ahead = place.run("import", *source(store), "--apply")
            assert ahead.returncode == 0, ahead.stderr
            wait(lambda: len(sends(log)) >= JOBS // 4)
            old.terminate()
            assert old.wait(TIMEOUT) == 0
        by_the_old = sends(log)
        again = place.run("import", *source(store), "--apply", "--withdraw-missing")
        assert again.returncode == 0, again.stderr
        assert "Imported 0." in again.stderr
        # It worked all the while, and claimed nothing.
        assert held.poll() is None
        assert place.sink.accepted() == []
    finally:
        held.terminate()
        held.communicate()
    rest = JOBS - len(by_the_old)
    worker = place.start("worker")
    try:
        wait(lambda: worker.poll() is not None or len(place.sink.accepted()) >= rest)
    finally:
        worker.terminate()
        worker.communicate()
    names = {JobReader(name="crm", columns={}).message_id(job.id): job.id for job in jobs}
    by_snoozer = [names[mail["in_reply_to"]] for mail in place.sink.accepted()]
    assert Counter([*by_the_old, *by_snoozer]) == Counter(names.values())
    if STORM:
        print(f"the old scheduler sent {len(by_the_old):,}, Snoozer {rest:,}\n{ahead.stderr}{again.stderr}")


def test_a_worker_that_is_to_drain_refuses_while_the_other_scheduler_sends(place: Field) -> None:
    ended = place.run("worker", "--drain", SNOOZER_CUTOVER="shadow")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "SNOOZER_CUTOVER is shadow" in ended.stderr
