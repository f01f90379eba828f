"""Requests and how long they took, counted by all web processes of one gunicorn together.

Each process has a file in a folder that the first process of gunicorn made, and writes to it before it answers. A
scrape reads all files, whichever process it reaches. The counts of a process outlive it: after its end, its file is
added to the file of ended processes, and removed.
"""

import fcntl
import os
import shutil
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.utils import floatToGoString

from snoozer.telemetry.instruments import REQUEST_BUCKETS

NAME = "http_server_request_duration_seconds"
DESCRIPTION = "Requests, by method, route and status: seconds until the response began"
LABELS = ["http_request_method", "http_route", "http_response_status_code"]
BUCKETS = (*REQUEST_BUCKETS, float("inf"))

PREFIX = "snoozer-metrics-"
# On a disk, a stall of the disk would stall requests.
MEMORY = Path("/dev/shm")  # noqa: S108
ENDED = "ended"


class RequestCounts:
    """The counts of this process, in its file in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._values = MmapedDict(str(_file(folder, str(os.getpid()))))
        self._keys: dict[tuple[str, str, str], tuple[str, list[str]]] = {}

    def add(self, *, method: str, route: str, status: str, seconds: float) -> None:
        """Count one request."""
        labels = (method, route, status)
        with self._lock:
            if labels not in self._keys:
                self._keys[labels] = _keys(labels)
                for key in self._keys[labels][1]:
                    self._values.read_value(key)
            total, buckets = self._keys[labels]
            self._increase(buckets[bisect_left(BUCKETS, seconds)], 1.0)
            self._increase(total, seconds)

    def collect(self) -> list[Metric]:
        """The counts of all processes, including ended ones."""
        with _locked(self._folder, fcntl.LOCK_SH):
            files = sorted(str(path) for path in self._folder.glob("histogram_*.db"))
            return list(MultiProcessCollector.merge(files))

    def close(self) -> None:
        """Stop counting."""
        self._values.close()

    def _increase(self, key: str, by: float) -> None:
        value, _ = self._values.read_value(key)
        self._values.write_value(key, value + by, time.time())


class Shared:
    """The folder of this gunicorn: made by its first process, and inherited by the others, which are forked from it."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    def make(self, *, uid: int, gid: int) -> Path:
        """Make the folder, for processes of this account, and remove folders left by killed processes."""
        parent = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        for left in parent.glob(f"{PREFIX}*"):
            owner = left.name.removeprefix(PREFIX).partition("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists() and Path("/proc/self").exists():
                shutil.rmtree(left, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
        if os.geteuid() != uid:
            os.chown(self.folder, uid, gid)
        return self.folder

    def absorb(self, pid: int) -> None:
        """Add the file of a process that has ended to the file of all ended ones, and remove it. If a scrape that hangs
        holds the files, they are left as they are, and still counted."""
        if self.folder is None:
            return
        ended = _file(self.folder, str(pid))
        with suppress(BlockingIOError), _locked(self.folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if not ended.exists():
                return
            sums = MmapedDict(str(_file(self.folder, ENDED)))
            for key, value, _, _ in MmapedDict.read_all_values_from_file(str(ended)):
                sums.write_value(key, sums.read_value(key)[0] + value, time.time())
            sums.close()
            ended.unlink()

    def remove(self) -> None:
        """Remove the folder."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


shared = Shared()


def of_this_process() -> RequestCounts:
    """Counts in the folder that was made before this process was forked, or else in a new folder."""
    return RequestCounts(shared.folder or shared.make(uid=os.geteuid(), gid=os.getegid()))


def _file(folder: Path, owner: str) -> Path:
    # MultiProcessCollector takes the first word of the name for the kind of metric.
    return folder / f"histogram_{owner}.db"


def _keys(labels: tuple[str, str, str]) -> tuple[str, list[str]]:
    def key(name: str, names: list[str], values: list[str]) -> str:
        return mmap_key(NAME, name, names, values, DESCRIPTION)

    buckets = [key(f"{NAME}_bucket", [*LABELS, "le"], [*labels, floatToGoString(bound)]) for bound in BUCKETS]
    return key(f"{NAME}_sum", LABELS, list(labels)), buckets


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, how)
        yield
