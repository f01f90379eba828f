"""Facts kept on disk while the database is unavailable: one line of JSON each, synced before the worker goes on.

A worker has one file, locked while it runs. Workers that start later read the files of dead ones.
"""

import errno
import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO
from uuid import UUID

from snoozer.queue.ledger import Fact

log = logging.getLogger(__name__)


class FactJournal:
    """The open journal of one worker. Its file is created at once, so that a full disk shows before any mail."""

    def __init__(self, folder: Path, *, worker: str) -> None:
        _make_private(folder)
        self._folder = folder
        self._path = folder / f"{worker}.jsonl"
        self._lock = Lock()
        self._pending: dict[str, Fact] = {}
        # Lock the file before giving it the name that other workers look for, or they could inherit it while it is
        # empty.
        unlisted = self._path.with_suffix(".new")
        self._file = unlisted.open("ab", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.fsync(self._file.fileno())
        unlisted.rename(self._path)

    def append(self, fact: Fact) -> None:
        """Append a fact; it is on disk when this returns. Raises OSError when it cannot be written whole."""
        with self._lock:
            self._pending[fact.reminder_message_id] = fact
            line, before = _line(fact), os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
            except OSError:
                # A partial line would corrupt the next one.
                self._file.truncate(before)
                raise

    def discard(self, fact: Fact) -> None:
        """Drop a fact that the database has recorded."""
        with self._lock:
            self._pending.pop(fact.reminder_message_id, None)
            if not self._pending:
                self._file.truncate(0)

    def close(self) -> None:
        """Close the file, and delete it when no fact is pending."""
        with self._lock:
            if not self._pending:
                self._path.unlink(missing_ok=True)
            self._file.close()

    def inherited(self) -> Iterator[tuple[Path, list[Fact]]]:
        """The facts that dead workers left, by file; the caller deletes the file once they are recorded."""
        for path in sorted(self._folder.glob("*.jsonl")):
            if path == self._path:
                continue
            # Another worker that starts may have deleted the file.
            with suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    continue
                yield path, _facts(file)


def _make_private(folder: Path) -> None:
    """Make the folder, readable by its owner only; a folder that an earlier release made is closed to others."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o700)


def _line(fact: Fact) -> bytes:
    return json.dumps(fact.__dict__ | {"claim_token": str(fact.claim_token)}).encode() + b"\n"


def _facts(file: IO[bytes]) -> list[Fact]:
    facts, unread = [], 0
    for line in file:
        try:
            values = json.loads(line)
            facts.append(Fact(**values | {"claim_token": UUID(values["claim_token"])}))
        except (ValueError, TypeError, KeyError, AttributeError):
            # A partial write (the worker died, or the disk was full), on which no decision relied.
            unread += 1
    if unread:
        log.warning("%s: %d of its lines cannot be read", Path(file.name).name, unread)
    return facts
