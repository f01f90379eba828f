"""The journals of a peer's workers: a file for each process with a line for each finished job."""

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Done:
    """A job that was done; times are seconds since 1970."""

    number: int
    began: float
    ended: float


class Journal:
    """The file of this process. Its existence shows that the process is ready for jobs."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(Path(folder) / str(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def add(self, number: int, *, began: float) -> None:
        """Write that a job is done, at once: the process may be ended at any time."""
        os.write(self._file, f"{number} {began:.6f} {time.time():.6f}\n".encode("ascii"))


def processes(folder: Path) -> int:
    """Return how many processes are ready."""
    return len(list(folder.iterdir()))


def count(folder: Path) -> int:
    """Return how many jobs were done; a job done twice counts twice."""
    return sum(path.read_bytes().count(b"\n") for path in folder.iterdir())


def read(folder: Path) -> list[Done]:
    """Return the finished jobs, in the order in which they ended."""
    lines = (line.split() for path in folder.iterdir() for line in path.read_text("ascii").splitlines())
    done = (Done(number=int(number), began=float(began), ended=float(ended)) for number, began, ended in lines)
    return sorted(done, key=lambda one: one.ended)
