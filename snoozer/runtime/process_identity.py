"""Names of processes that another process on the same machine can tell dead from alive, so that it need not wait for a
lease to end."""

import os
import socket
from pathlib import Path
from secrets import token_hex

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STATE, _STARTED = 0, 19
_GONE = {"Z", "X"}


def process_name() -> str:
    """A name for this process that no other has; on Linux with the boot, the PID namespace, and when it started."""
    name = f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"
    place, started = _place(), _start_time(os.getpid())
    return f"{name}@{place}.{os.getpid()}.{started}" if place and started else name


def is_dead(name: str) -> bool:
    """Whether the process of this name has certainly ended; False if it cannot be examined from here, because it runs
    on another machine or boot, or in another container."""
    place, pid, started, *_ = [*name.rpartition("@")[2].split("."), "", ""]
    if not place or place != _place() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    now = _start_time(int(pid))
    return now is not None and now != started


def _place() -> str:
    """This boot and PID namespace; empty if the system does not tell."""
    try:
        return f"{_BOOT_ID.read_text().strip()}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """In ticks since the boot; "" for a process that has ended and was not reaped; None if it cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "" if fields[_STATE] in _GONE else fields[_STARTED]
