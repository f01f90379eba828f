"""`make lab` starts its own processes, next to other labs, and leaves nothing behind."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from snoozer.dev.processes import wait_until_gone
from tests.process.conftest import ROOT, TIMEOUT
from tests.process.lab.conftest import RunningLab, a_lab, clean_environment


def test_two_labs_run_at_once_and_a_ctrl_c_leaves_nothing(lab: RunningLab, another_lab: RunningLab) -> None:
    assert lab.url != another_lab.url
    for each in (lab, another_lab):
        with urllib.request.urlopen(f"{each.url}/lab", timeout=TIMEOUT) as page:  # noqa: S310
            assert page.status == 200
    started = lab.processes()
    # Workers, naive loops, clock, mail server, network and PostgreSQL at the least.
    assert len(started) >= 9
    assert "stopped" in lab.stop()
    assert lab.process.returncode == 0
    assert wait_until_gone(started, seconds=60) == set()
    assert lab.processes() == set()
    assert not lab.home.exists()
    assert another_lab.processes()


def test_a_ctrl_c_leaves_nothing_of_a_lab_that_is_broken(lab: RunningLab) -> None:
    """A frozen worker takes no SIGTERM, and a mail server that is gone cannot be stopped again."""
    for path in ("freeze", "stop-mail", "cut", "lock", "restart-postgres"):
        lab.press(f"acts/{path}")
    started = lab.processes()
    lab.stop()
    assert lab.process.returncode == 0
    assert wait_until_gone(started, seconds=60) == set()
    assert not lab.home.exists()


def test_a_lab_that_is_killed_takes_its_processes_along(lab: RunningLab, tmp_path: Path) -> None:
    started = lab.processes()
    lab.process.send_signal(signal.SIGKILL)
    assert wait_until_gone(started, seconds=60) == set()
    # The next one deletes its folder.
    lab.process.communicate(timeout=TIMEOUT)
    with a_lab(tmp_path) as next_lab:
        assert next_lab.home != lab.home
        assert not lab.home.exists()


def test_it_refuses_a_database_that_is_not_its_own() -> None:
    env = clean_environment(DATABASE_URL="postgresql://snoozer@127.0.0.1:1/precious")
    refused = subprocess.run(
        [sys.executable, "-m", "lab"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("snoozer: The lab breaks its database and uses none but its own")
    assert refused.stderr.count("\n") == 1


def test_no_button_acts_for_another_site(lab: RunningLab) -> None:
    """Neither without the page's token, nor under a foreign name."""
    assert status_of(urllib.request.Request(f"{lab.url}/lab/acts/add-1", data=b"")) == 400  # noqa: S310
    assert status_of(urllib.request.Request(f"{lab.url}/lab", headers={"Host": "evil.example"})) == 421  # noqa: S310
    assert lab.verdict()["promised"] == 0


def status_of(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
