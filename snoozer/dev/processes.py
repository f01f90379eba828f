"""Processes that may not be our children: their state, the locks they hold, and the reaper.

Ordinary commands do not notice that their parent is gone. The reaper, `python -m snoozer.dev.processes`, does: it reads
a pipe whose other end only the supervisor holds. Each line is `+ PID` for a child, `= PID` for the database and `- PID`
for one that ended. At the end of the pipe it stops the children, then the database. It holds the lock it inherited
until it is done, so that the next `snoozer up` waits for it.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

CHILD_SECONDS = 15.0
DATABASE_SECONDS = 30.0
LEFTOVER_SECONDS = 90.0
CHILD, DATABASE, GONE = "+", "=", "-"
_POLL_INTERVAL = 0.05


class AlreadyRunning(Exception):
    """Another `snoozer up` runs from this home."""


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return _stat(pid)[0] not in {"Z", "X"}
    except OSError:
        return True


def has_name(pid: int, names: Iterable[str]) -> bool:
    """Whether a running process has one of these names; a process id alone is reused, after a reboot quickly."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        name = _name_from_ps(pid)
    return name in names


def send(pid: int, what: signal.Signals, *, group: bool = False) -> None:
    """Send a signal to a process, or to the whole group it leads. One that is gone already is no error."""
    try:
        if group:
            os.killpg(pid, what)
        else:
            os.kill(pid, what)
    except ProcessLookupError:
        pass
    except PermissionError:
        # macOS raises this for a group of which only a zombie is left.
        if is_running(pid):
            raise


def wait_until_gone(pids: Iterable[int], *, seconds: float) -> set[int]:
    """Wait for processes that are not our children. Returns those that still run after `seconds`."""
    left = {pid for pid in pids if is_running(pid)}
    end = time.monotonic() + seconds
    while left and time.monotonic() < end:
        time.sleep(_POLL_INTERVAL)
        left = {pid for pid in left if is_running(pid)}
    return left


def lock_home(home: Path) -> IO[str]:
    """The lock of the `snoozer up` that runs from this home, held while the file is open. Raises AlreadyRunning."""
    lock = _try_lock(home / "up.lock")
    if lock is None:
        raise AlreadyRunning
    return lock


def lock_children(home: Path, *, on_wait: Callable[[], None]) -> IO[str]:
    """The lock that a reaper holds until everything its supervisor started has stopped.

    Calls `on_wait` once if an earlier reaper still holds it, and waits. Raises AlreadyRunning after 90 s.
    """
    path, end = home / "children.lock", time.monotonic() + LEFTOVER_SECONDS
    lock = _try_lock(path)
    if lock is None:
        on_wait()
    while lock is None:
        if time.monotonic() > end:
            raise AlreadyRunning
        time.sleep(_POLL_INTERVAL)
        lock = _try_lock(path)
    return lock


def reap() -> None:
    """Run until the pipe on standard input ends, then stop what is left. Ignores signals that stop the supervisor."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    os.chdir("/")
    children, databases = _read_registrations(sys.stdin)
    _stop(_unchanged(children), signal.SIGTERM, seconds=CHILD_SECONDS, last=signal.SIGKILL, groups=True)
    _stop(_unchanged(databases), signal.SIGINT, seconds=DATABASE_SECONDS, last=signal.SIGQUIT, groups=False)


def _read_registrations(lines: Iterable[str]) -> tuple[dict[int, str], dict[int, str]]:
    """The start times of the children and of the databases that were registered last, by process id."""
    children: dict[int, str] = {}
    databases: dict[int, str] = {}
    for line in lines:
        what, _, number = line.partition(" ")
        pid = int(number)
        if what == GONE:
            children.pop(pid, None)
            databases.pop(pid, None)
        else:
            (children if what == CHILD else databases)[pid] = _start_time(pid)
    return children, databases


def _unchanged(start_times: dict[int, str]) -> set[int]:
    """Those whose id still belongs to the process that was registered."""
    return {pid for pid, began in start_times.items() if _start_time(pid) == began}


def _stop(pids: set[int], what: signal.Signals, *, seconds: float, last: signal.Signals, groups: bool) -> None:
    for pid in pids:
        send(pid, what)
    for pid in wait_until_gone(pids, seconds=seconds):
        send(pid, last, group=groups)
    if groups:
        # A leader that is gone may have left others of its group behind.
        for pid in pids:
            send(pid, last, group=True)


def _start_time(pid: int) -> str:
    """When a process began, in units only good for comparing; "" when unknown."""
    try:
        return _stat(pid)[19]
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """The fields of Linux' /proc/PID/stat from the state on. The name before it may hold spaces and parentheses."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _name_from_ps(pid: int) -> str:
    try:
        ps = subprocess.run(
            ["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return Path(ps.stdout.strip()).name


def _try_lock(path: Path) -> IO[str] | None:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


if __name__ == "__main__":
    reap()
