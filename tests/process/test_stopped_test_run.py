"""A test run that is stopped leaves no database server behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snoozer.dev.processes import wait_until_gone
from tests.process.conftest import ROOT, TIMEOUT

# It writes the process id of the server's postmaster, and waits.
WAITING_TEST = """
import signal
from pathlib import Path
from sqlalchemy import create_engine, text

def test_waits(postgres_url):
    with create_engine(postgres_url).connect() as connection:
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
    pid = (Path(folder) / "postmaster.pid").read_text().splitlines()[0]
    draft = Path(__file__).with_name("draft")
    draft.write_text(pid)
    draft.rename(draft.with_name("pid"))
    signal.pause()
"""


@pytest.mark.parametrize(("workers", "how"), [("0", signal.SIGHUP), ("1", signal.SIGTERM), ("1", signal.SIGKILL)])
def test_a_stopped_test_run_leaves_no_postgres(
    tmp_path: Path, open_folder: Path, workers: str, how: signal.Signals
) -> None:
    """It lived on after SIGTERM, and after each run that a time limit ended there was one more."""
    test, pid_file = tmp_path / "test_waits.py", tmp_path / "pid"
    test.write_text(WAITING_TEST)
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", workers, str(test)],
        cwd=ROOT,
        # A run that is killed leaves its folders.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        | {"TMPDIR": str(open_folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ends = time.monotonic() + TIMEOUT
    while not pid_file.exists():
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < ends
        time.sleep(0.05)
    run.send_signal(how)
    output, _ = run.communicate(timeout=TIMEOUT)
    assert not wait_until_gone([int(pid_file.read_text())], seconds=TIMEOUT)
    if how != signal.SIGKILL:
        assert run.returncode == 128 + how, output
