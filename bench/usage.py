"""The resources that a run used: CPU and memory of processes from Linux's /proc, and the database's own counters."""

import os
import resource
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from bench.report import BenchError
from bench.statements import execute

PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def counters(engine: Engine) -> dict[str, Any]:
    """Return the server's counters: `commits` in this database, and `wal` in bytes."""
    with engine.connect() as connection:
        return dict(execute(connection, "counters").one()._mapping)


def children_cpu_seconds() -> float:
    """Return the CPU seconds of the child processes that this process has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far, for its current threads; 0 if it has ended."""
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return 0.0
    return sum(map(_thread_cpu_seconds, threads))


def _thread_cpu_seconds(thread: Path) -> float:
    try:
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its descendants so far, including ended ones. Raises BenchError without
    /proc."""
    _require_proc()
    fields = _stat(pid)
    ended = (int(fields[13]) + int(fields[14])) / _TICKS_PER_SECOND if fields else 0.0
    return ended + sum(cpu_seconds(one) for one in _tree(pid))


def resident_bytes(pid: int) -> int:
    """Return the memory of a process now; 0 if it has ended. Raises BenchError without /proc."""
    _require_proc()
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def has_proc() -> bool:
    """Return whether the system has Linux's /proc."""
    return (PROC / "self" / "schedstat").exists()


def _require_proc() -> None:
    if not has_proc():
        raise BenchError("This run reads what processes use from /proc as Linux has it, and it is not there")


def _tree(pid: int) -> list[int]:
    """Return a process and all its descendants that still run."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold anything: state, parent, …"""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
