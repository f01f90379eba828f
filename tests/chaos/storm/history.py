"""The harness's own log: what was asked of Snoozer, what it acknowledged, and what was done to its processes.

One line of JSON a fact. `attempt` before each wish about a message (the first one is an INSERT), `ack` with its answer
once that is committed, `killed` and `stopped` with a process id, `outage` when it is over. The judge holds the product
to the attempts and acknowledgements of this file, never to the product's own word.
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any


class History:
    """Appends from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", encoding="utf-8")
        self._lock = Lock()

    def write(self, kind: str, **facts: Any) -> None:
        self.write_all([{"kind": kind, **facts}])

    def write_all(self, entries: Iterable[dict[str, Any]]) -> None:
        at = time.time()
        with self._lock:
            self._file.writelines(json.dumps({"at": at, **entry}) + "\n" for entry in entries)
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole line of a file of JSON lines; a last line that its writer did not finish is no fact."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")
    ]
