"""Processes that may not be our children: are they still there, and what are they?"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

_LOOK = 0.05


def is_running(pid: int) -> bool:
    """Whether a process does its work: a zombie that nobody has collected is gone."""
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


def is_called(pid: int, names: Iterable[str]) -> bool:
    """Whether a running process bears one of these names; a process id alone is reused, after a reboot quickly."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        name = _asked_of_ps(pid)
    return name in names


def born(pid: int) -> str:
    """When a process began, in words that only serve to tell it from a later one with the same id; "" when unknown."""
    try:
        return _stat(pid)[19]
    except OSError:
        return ""


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
        # macOS answers so for a group of which only a zombie is left.
        if is_running(pid):
            raise


def wait_until_gone(pids: Iterable[int], *, seconds: float) -> set[int]:
    """Wait for processes that are not our children. Returns those that are still there after so many seconds."""
    left = {pid for pid in pids if is_running(pid)}
    end = time.monotonic() + seconds
    while left and time.monotonic() < end:
        time.sleep(_LOOK)
        left = {pid for pid in left if is_running(pid)}
    return left


def _stat(pid: int) -> list[str]:
    """The fields of Linux' stat after the name, which may itself hold spaces and parentheses: state first."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _asked_of_ps(pid: int) -> str:
    try:
        asked = subprocess.run(
            ["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return Path(asked.stdout.strip()).name
