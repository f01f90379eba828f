"""Processes that may not be our children: their state, the locks they hold, and the reaper.

Ordinary commands do not notice that their parent is gone. The reaper, `python -m snoozer.dev.processes`, does: it reads
a pipe whose other end only the supervisor holds. Each line is `+ PID` for a child, `= PID` for the database and `- PID`
for an ended process. At the end of the pipe it stops the children, then the database. It holds the lock it inherited
until it is done, so that the next `snoozer up` waits for it.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from snoozer.resources import PYTHON_MODULE

CHILD, DATABASE, GONE = "+", "=", "-"
_POLL_INTERVAL = 0.05


class AlreadyRunning(Exception):
    """Another `snoozer up` runs from this home."""


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        with suppress(PermissionError):
            os.kill(pid, 0)
        return _stat(pid)[0] not in {"Z", "X"}
    except ProcessLookupError:
        return False
    except OSError:
        return True


def name_of(pid: int) -> str:
    """The name of a process as `ps` shows it, or ""."""
    with suppress(OSError, subprocess.TimeoutExpired):
        ps = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, check=False, timeout=5)
        return Path(os.fsdecode(ps.stdout).strip()).name
    return ""


def send(pid: int, what: signal.Signals, *, group: bool = False) -> None:
    """Send a signal to a process, or to the whole group it leads. Ignores a process that is already gone."""
    try:
        (os.killpg if group else os.kill)(pid, what)
    except ProcessLookupError:
        pass
    except PermissionError:
        # macOS raises this for a group of which only a zombie is left.
        if is_running(pid):
            raise


def wait_until_gone(pids: Iterable[int], *, seconds: float) -> set[int]:
    """Wait for processes that are not our children. Return the ids of processes that still run after `seconds`."""
    left, end = set(pids), time.monotonic() + seconds
    while (left := {pid for pid in left if is_running(pid)}) and time.monotonic() < end:
        time.sleep(_POLL_INTERVAL)
    return left


def lock_home(home: Path) -> IO[str]:
    """The lock of the `snoozer up` that runs from this home, held while the file is open. Raises AlreadyRunning."""
    if lock := _try_lock(home / "up.lock"):
        return lock
    raise AlreadyRunning


def lock_children(home: Path, *, on_wait: Callable[[], None]) -> IO[str]:
    """The lock that a reaper holds until everything its supervisor started has stopped.

    Calls `on_wait` once if an earlier reaper still holds it, and waits. Raises AlreadyRunning after 90 s.
    """
    path = home / "children.lock"
    if lock := _try_lock(path):
        return lock
    on_wait()
    end = time.monotonic() + 90
    while time.monotonic() < end:
        time.sleep(_POLL_INTERVAL)
        if lock := _try_lock(path):
            return lock
    raise AlreadyRunning


@contextmanager
def database_reaper() -> Iterator[Callable[[int], None]]:
    """Returns a function that registers a database's process id: the database is stopped when this process ends."""
    with reaper() as register:
        yield lambda pid: register(DATABASE, pid)


@contextmanager
def reaper() -> Iterator[Callable[[str, int], None]]:
    """Returns a function that registers a process id as CHILD, DATABASE or GONE, from any thread: registered processes
    are stopped when this process ends, for any reason."""
    command = (*PYTHON_MODULE, "snoozer.dev.processes")
    lock = threading.Lock()
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True) as process:

        def register(what: str, pid: int) -> None:
            assert process.stdin is not None  # noqa: S101
            with lock:
                process.stdin.write(f"{what} {pid}\n")
                process.stdin.flush()

        yield register


def reap() -> None:
    """Run until the pipe on standard input ends, then stop the remaining processes. Ignores signals that stop the
    supervisor."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    os.chdir("/")
    registered: dict[int, tuple[str, str]] = {}
    for line in sys.stdin:
        what, number = line.split()
        registered[int(number)] = what, _start_time(int(number))

    def unchanged(what: str) -> set[int]:
        # A registered process id may belong to another process by now.
        return {pid for pid, known in registered.items() if known == (what, _start_time(pid))}

    _stop(unchanged(CHILD), signal.SIGTERM, seconds=15, last=signal.SIGKILL, groups=True)
    _stop(unchanged(DATABASE), signal.SIGINT, seconds=30, last=signal.SIGQUIT, groups=False)


def _stop(pids: set[int], what: signal.Signals, *, seconds: float, last: signal.Signals, groups: bool) -> None:
    for pid in pids:
        send(pid, what)
    left = wait_until_gone(pids, seconds=seconds)
    # A leader that is gone may have left other processes of its group.
    for pid in pids if groups else left:
        send(pid, last, group=groups)


def _start_time(pid: int) -> str:
    """When a process began, in units only good for comparing; "" when unknown."""
    with suppress(OSError):
        return _stat(pid)[19]
    return ""


def _stat(pid: int) -> list[str]:
    """The fields of Linux' /proc/PID/stat from the state on. The name before it may hold spaces and parentheses."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _try_lock(path: Path) -> IO[str] | None:
    file = path.open("a")
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    file.close()
    return None


if __name__ == "__main__":
    reap()
