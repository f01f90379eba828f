"""The process that stays behind when `snoozer up` is killed, stops what it started, and goes.

Ordinary commands do not notice that their parent is gone. The guardian does: it reads a pipe whose other end only the
supervisor holds. Each line is `+ PID` for a child, `= PID` for the database, `- PID` for one that ended. At the
end of the pipe it stops the children, then the database. It holds the lock it was given until it is done, so that the
next `snoozer up` waits for it.
"""

import signal
import sys
from collections.abc import Iterable

from snoozer.dev.os_process import born, send, wait_until_gone

CHILD_SECONDS = 15.0
DATABASE_SECONDS = 30.0
CHILD, DATABASE, GONE = "+", "=", "-"


def main() -> None:
    """Runs until the pipe on standard input ends. What stops the supervisor must not stop its guardian before it."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    children, databases = _listen(sys.stdin)
    _stop(_the_same(children), signal.SIGTERM, seconds=CHILD_SECONDS, finally_=signal.SIGKILL, groups=True)
    _stop(_the_same(databases), signal.SIGINT, seconds=DATABASE_SECONDS, finally_=signal.SIGQUIT, groups=False)


def _listen(lines: Iterable[str]) -> tuple[dict[int, str], dict[int, str]]:
    children: dict[int, str] = {}
    databases: dict[int, str] = {}
    for line in lines:
        what, _, number = line.partition(" ")
        pid = int(number)
        if what == GONE:
            children.pop(pid, None)
            databases.pop(pid, None)
        else:
            (children if what == CHILD else databases)[pid] = born(pid)
    return children, databases


def _the_same(processes: dict[int, str]) -> set[int]:
    """Those whose id still means the process that was announced."""
    return {pid for pid, birth in processes.items() if born(pid) == birth}


def _stop(pids: set[int], what: signal.Signals, *, seconds: float, finally_: signal.Signals, groups: bool) -> None:
    for pid in pids:
        send(pid, what)
    for pid in wait_until_gone(pids, seconds=seconds):
        send(pid, finally_, group=groups)
    if groups:
        # A leader that is gone may have left others of its group behind.
        for pid in pids:
            send(pid, finally_, group=True)


if __name__ == "__main__":
    main()
