"""One `snoozer up` a home, and none before the last one's leftovers are gone."""

import fcntl
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

LEFTOVER_SECONDS = 90.0
_LOOK = 0.1


class AlreadyRunning(Exception):
    """Another `snoozer up` runs from this home."""


def take(home: Path) -> IO[str]:
    """The lock that says that we run from this home, held while the file is open. Raises AlreadyRunning."""
    lock = _try(home / "up.lock")
    if lock is None:
        raise AlreadyRunning
    return lock


def outlive(home: Path, *, waiting: Callable[[], None]) -> IO[str]:
    """The lock that a guardian holds until everything its supervisor started has stopped.

    While an earlier guardian is still at it, `waiting` is called once and then it is waited for.
    """
    path, end = home / "children.lock", time.monotonic() + LEFTOVER_SECONDS
    lock = _try(path)
    if lock is None:
        waiting()
    while lock is None:
        if time.monotonic() > end:
            raise AlreadyRunning
        time.sleep(_LOOK)
        lock = _try(path)
    return lock


def _try(path: Path) -> IO[str] | None:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
