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

from snoozer.dev.console import Voice
from snoozer.dev.locks import AlreadyRunning, outlive, take
from snoozer.dev.os_process import is_running, wait_until_gone
from snoozer.dev.supervisor import CommandFailed, Program, Supervisor
from tests import loops

PATIENCE = 20.0

SUPERVISE_AND_HANG = """
import asyncio, sys
from snoozer.dev.locks import outlive
from snoozer.dev.supervisor import Program, Supervisor
from snoozer.dev.console import Voice
from tests import loops
from pathlib import Path

async def main():
    supervisor = Supervisor(Voice())
    with outlive(Path(sys.argv[1]), waiting=lambda: None) as lock:
        await supervisor.guard(lock=lock.fileno())
        for name in ("web", "worker"):
            code = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)"
            supervisor.keep(Program(name=name, argv=(sys.executable, "-c", code)))
        await asyncio.sleep(600)

asyncio.run(main())
"""


class Heard:
    """A voice whose lines can be waited for."""

    def __init__(self) -> None:
        self.paper = io.StringIO()
        self.voice = Voice(Console(file=self.paper, soft_wrap=True, highlight=False))

    async def wait_for(self, pattern: str) -> re.Match[str]:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.paper.getvalue())):
            assert time.monotonic() < end, self.paper.getvalue()
            await asyncio.sleep(0.01)
        return found


@pytest.fixture
def heard() -> Heard:
    return Heard()


def python(name: str, code: str, **options: object) -> Program:
    return Program(name=name, argv=(sys.executable, "-u", "-c", code), **options)  # type: ignore[arg-type]


def supervised(heard: Heard, story: Callable[[Supervisor], Awaitable[None]]) -> None:
    async def tell() -> None:
        supervisor = Supervisor(heard.voice)
        try:
            await asyncio.wait_for(story(supervisor), PATIENCE)
        finally:
            supervisor.hurry()
            await supervisor.stop("web", "worker", "clock")

    loops.run(tell())


def test_a_program_that_is_killed_is_started_again_and_a_line_says_so(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        supervisor.keep(python("worker", "import os, time; print('pid', os.getpid()); time.sleep(600)"))
        first = int((await heard.wait_for(r"worker +. pid (\d+)"))[1])
        os.kill(first, signal.SIGKILL)
        await heard.wait_for(r"worker +. was ended by SIGKILL; starting it again in 0.5 s")
        second = int((await heard.wait_for(r"again(?:.|\n)*pid (\d+)"))[1])
        await supervisor.stop("worker")
        assert first != second
        assert not is_running(second)

    supervised(heard, story)


def test_a_program_that_cannot_run_is_tried_ever_more_seldom(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        supervisor.keep(python("worker", "raise SystemExit(3)"))
        supervisor.keep(Program(name="clock", argv=("/nowhere/at/all",)))
        await heard.wait_for(r"worker +. ended with code 3; starting it again in 1 s")
        await heard.wait_for(r"clock +. cannot be started \(No such file or directory\); starting it again in 1 s")

    supervised(heard, story)


def test_what_a_dead_program_left_behind_goes_with_it(heard: Heard) -> None:
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
        left = int((await heard.wait_for(r"left (\d+)"))[1])
        await heard.wait_for("starting it again")
        assert not wait_until_gone([left], seconds=PATIENCE)

    supervised(heard, story)


def test_one_that_does_not_stop_is_killed_after_its_patience(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(600)"
        supervisor.keep(python("worker", stubborn, patience=0.2))
        await heard.wait_for("ready")
        await supervisor.stop("worker")
        await heard.wait_for(r"does not stop within 0.2 s and is killed")

    supervised(heard, story)


def test_one_that_is_stopped_may_finish_its_work(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        draining = (
            "import signal, time, sys\n"
            "def drain(*_): time.sleep(0.3); print('drained'); sys.exit(0)\n"
            "signal.signal(15, drain); print('ready'); time.sleep(600)"
        )
        supervisor.keep(python("worker", draining))
        await heard.wait_for("ready")
        await supervisor.stop("worker")
        await heard.wait_for("drained")

    supervised(heard, story)


def test_a_command_gives_its_output_and_its_failure_is_an_error(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        said = await supervisor.run(
            python("account", "import sys; print('the link'); print('a warning', file=sys.stderr)")
        )
        assert said == ["the link"]
        await heard.wait_for("a warning")
        assert "the link" not in heard.paper.getvalue()
        with pytest.raises(CommandFailed, match="migrate ended with code 2"):
            await supervisor.run(python("migrate", "raise SystemExit(2)"))

    supervised(heard, story)


def test_what_a_program_says_cannot_command_the_terminal(heard: Heard) -> None:
    async def story(supervisor: Supervisor) -> None:
        await supervisor.run(python("web", r"import sys; sys.stderr.write('\x1b[2Jred[bold]\n' + 'x' * 100_000)"))
        await heard.wait_for("red")
        heard.voice.close()
        assert "\x1b" not in heard.paper.getvalue()
        assert "red[bold]" in heard.paper.getvalue()
        assert len(heard.paper.getvalue()) < 10_000

    supervised(heard, story)


def test_a_reader_that_takes_nothing_holds_nobody_up() -> None:
    class Stuck(io.StringIO):
        def write(self, text: str) -> int:
            time.sleep(600)
            return 0

    voice = Voice(Console(file=Stuck(), soft_wrap=True))
    for number in range(10_000):
        voice.say(f"line {number}")


@contextlib.contextmanager
def killed_supervisor(home: Path) -> Iterator[list[int]]:
    """The processes of a supervisor that was killed with -9, together with its whole process group."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE_AND_HANG, str(home)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert supervisor.stdout is not None
    with supervisor.stdout as said:
        pids = [int(next(said).rpartition(" ")[2]) for _ in range(2)]
        os.killpg(supervisor.pid, signal.SIGKILL)
        supervisor.wait()
        yield pids


def test_a_killed_supervisor_leaves_no_process_behind(tmp_path: Path) -> None:
    with killed_supervisor(tmp_path) as pids:
        assert not wait_until_gone(pids, seconds=PATIENCE)


def test_the_next_one_waits_until_the_leftovers_are_gone(tmp_path: Path) -> None:
    with killed_supervisor(tmp_path) as pids, outlive(tmp_path, waiting=lambda: None):
        assert not any(is_running(pid) for pid in pids)


def test_only_one_runs_from_a_home(tmp_path: Path) -> None:
    with take(tmp_path), pytest.raises(AlreadyRunning):
        take(tmp_path)
    with take(tmp_path) as lock:
        fcntl.flock(lock, fcntl.LOCK_UN)
