"""What keeps programs running, tried with tiny ones."""

import asyncio
import contextlib
import fcntl
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from snoozer.dev.console import Output
from snoozer.dev.processes import AlreadyRunning, is_running, lock_children, lock_home, wait_until_gone
from snoozer.dev.supervisor import CommandFailed, Program, Supervisor
from tests import loops

TIMEOUT = 60.0

SUPERVISE_AND_HANG = """
import asyncio, sys
from snoozer.dev.processes import lock_children
from snoozer.dev.supervisor import Program, Supervisor
from snoozer.dev.console import Output
from tests import loops
from pathlib import Path

async def main():
    supervisor = Supervisor(Output())
    with lock_children(Path(sys.argv[1]), on_wait=lambda: None) as lock:
        await supervisor.start_reaper(lock=lock.fileno())
        for name in ("web", "worker"):
            code = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)"
            supervisor.keep(Program(name=name, argv=(sys.executable, "-c", code)))
        await asyncio.sleep(600)

asyncio.run(main())
"""


class Recorded:
    """Output whose lines can be waited for."""

    def __init__(self) -> None:
        self.paper = io.StringIO()
        self.output = Output(Console(file=self.paper, soft_wrap=True, highlight=False))

    async def wait_for(self, pattern: str) -> re.Match[str]:
        end = time.monotonic() + TIMEOUT
        while not (found := re.search(pattern, self.paper.getvalue())):
            assert time.monotonic() < end, self.paper.getvalue()
            await asyncio.sleep(0.01)
        return found


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def python(name: str, code: str, **options: object) -> Program:
    return Program(name=name, argv=(sys.executable, "-u", "-c", code), **options)  # type: ignore[arg-type]


def supervised(recorded: Recorded, story: Callable[[Supervisor], Awaitable[None]]) -> None:
    async def run() -> None:
        supervisor = Supervisor(recorded.output)
        try:
            await asyncio.wait_for(story(supervisor), TIMEOUT)
        finally:
            supervisor.kill_now()
            await supervisor.stop("web", "worker", "clock")

    loops.run(run())


def test_a_program_that_is_killed_is_started_again_and_a_line_reports_it(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        supervisor.keep(python("worker", "import os, time; print('pid', os.getpid()); time.sleep(600)"))
        first = int((await recorded.wait_for(r"worker +. pid (\d+)"))[1])
        os.kill(first, signal.SIGKILL)
        await recorded.wait_for(r"worker +. was ended by SIGKILL; starting it again in 0.5 s")
        second = int((await recorded.wait_for(r"again(?:.|\n)*pid (\d+)"))[1])
        await supervisor.stop("worker")
        assert first != second
        assert not is_running(second)

    supervised(recorded, story)


def test_a_program_that_cannot_run_is_tried_ever_more_seldom(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        supervisor.keep(python("worker", "raise SystemExit(3)"))
        supervisor.keep(Program(name="clock", argv=("/nowhere/at/all",)))
        await recorded.wait_for(r"worker +. ended with code 3; starting it again in 1 s")
        await recorded.wait_for(r"clock +. cannot be started \(No such file or directory\); starting it again in 1 s")

    supervised(recorded, story)


def test_what_a_dead_program_left_behind_goes_with_it(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        child = "import time; time.sleep(600)"
        supervisor.keep(
            python(
                "web",
                "import subprocess, sys, time;"
                f"print('left', subprocess.Popen([sys.executable, '-c', {child!r}]).pid);"
                "time.sleep(600) if sys.argv[1:] else sys.exit(1)",
            )
        )
        left = int((await recorded.wait_for(r"left (\d+)"))[1])
        await recorded.wait_for("starting it again")
        assert not wait_until_gone([left], seconds=TIMEOUT)

    supervised(recorded, story)


def test_one_that_does_not_stop_is_killed_after_its_stop_timeout(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(600)"
        supervisor.keep(python("worker", stubborn, stop_timeout=0.2))
        await recorded.wait_for("ready")
        await supervisor.stop("worker")
        await recorded.wait_for(r"does not stop within 0.2 s and is killed")

    supervised(recorded, story)


def test_one_that_is_stopped_may_finish_its_work(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        draining = (
            "import signal, time, sys\n"
            "def drain(*_): time.sleep(0.3); print('drained'); sys.exit(0)\n"
            "signal.signal(15, drain); print('ready'); time.sleep(600)"
        )
        supervisor.keep(python("worker", draining))
        await recorded.wait_for("ready")
        await supervisor.stop("worker")
        await recorded.wait_for("drained")

    supervised(recorded, story)


def test_a_command_gives_its_output_and_its_failure_is_an_error(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        lines = await supervisor.run(
            python("account", "import sys; print('the link'); print('a warning', file=sys.stderr)")
        )
        assert lines == ["the link"]
        await recorded.wait_for("a warning")
        assert "the link" not in recorded.paper.getvalue()
        with pytest.raises(CommandFailed, match="migrate ended with code 2"):
            await supervisor.run(python("migrate", "raise SystemExit(2)"))

    supervised(recorded, story)


def test_output_of_a_program_cannot_control_the_terminal(recorded: Recorded) -> None:
    async def story(supervisor: Supervisor) -> None:
        await supervisor.run(python("web", r"import sys; sys.stderr.write('\x1b[2Jred[bold]\n' + 'x' * 100_000)"))
        await recorded.wait_for("red")
        recorded.output.close()
        assert "\x1b" not in recorded.paper.getvalue()
        assert "red[bold]" in recorded.paper.getvalue()
        assert len(recorded.paper.getvalue()) < 10_000

    supervised(recorded, story)


def test_a_reader_that_takes_nothing_blocks_no_writer() -> None:
    class Stuck(io.StringIO):
        def write(self, text: str) -> int:
            time.sleep(600)
            return 0

    output = Output(Console(file=Stuck(), soft_wrap=True))
    for number in range(10_000):
        output.line(f"line {number}")


@contextlib.contextmanager
def killed_supervisor(home: Path) -> Iterator[list[int]]:
    """The processes of a supervisor that was killed with -9, together with its whole process group."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE_AND_HANG, str(home)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert supervisor.stdout is not None
    with supervisor.stdout as lines:
        pids = [int(next(lines).rpartition(" ")[2]) for _ in range(2)]
        os.killpg(supervisor.pid, signal.SIGKILL)
        supervisor.wait()
        yield pids


def test_a_killed_supervisor_leaves_no_process_behind(tmp_path: Path) -> None:
    with killed_supervisor(tmp_path) as pids:
        assert not wait_until_gone(pids, seconds=TIMEOUT)


def test_the_next_one_waits_until_the_leftovers_are_gone(tmp_path: Path) -> None:
    with killed_supervisor(tmp_path) as pids, lock_children(tmp_path, on_wait=lambda: None):
        assert not any(is_running(pid) for pid in pids)


def test_only_one_runs_from_a_home(tmp_path: Path) -> None:
    with lock_home(tmp_path), pytest.raises(AlreadyRunning):
        lock_home(tmp_path)
    with lock_home(tmp_path) as lock:
        fcntl.flock(lock, fcntl.LOCK_UN)
