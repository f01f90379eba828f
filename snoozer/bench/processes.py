"""What processes have used so far, as Linux tells it under /proc."""

import os
from pathlib import Path

from snoozer.bench.refusal import BenchRefused

PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and everything it has started that still runs."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_seconds(pid: int) -> float:
    """What one process has used so far; 0 when it is gone."""
    try:
        return int((PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def family_cpu_seconds(pid: int) -> float:
    """What a process and all it ever started have used so far, those included that it has outlived."""
    _check()
    fields = _stat(pid)
    outlived = (int(fields[13]) + int(fields[14])) / _TICK if fields else 0.0
    return outlived + sum(cpu_seconds(one) for one in family(pid))


def resident_bytes(pid: int) -> int:
    """How much memory a process holds now; 0 when it is gone."""
    _check()
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold anything: state, parent, …"""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def can_look() -> bool:
    """Is there a /proc as Linux has it?"""
    return (PROC / "self" / "schedstat").exists()


def _check() -> None:
    if not can_look():
        raise BenchRefused("This run reads what processes use from /proc as Linux has it, and it is not there")
