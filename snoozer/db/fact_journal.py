"""Facts that wait on disk while the database is away: one line of JSON each, flushed before anything else happens.

A worker keeps one file, locked while it lives. Whoever starts later reads the files of the dead.
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

from snoozer.db.ledger import Fact

log = logging.getLogger(__name__)


class FactJournal:
    """The open journal of one worker. Created at once, so that a disk that takes none is found before any mail."""

    def __init__(self, folder: Path, *, worker: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._path = folder / f"{worker}.jsonl"
        self._lock = Lock()
        self._waiting: dict[str, Fact] = {}
        # Locked before it has the name others look for, or they could inherit it while it is empty.
        unborn = self._path.with_suffix(".new")
        self._file = unborn.open("ab", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.fsync(self._file.fileno())
        unborn.rename(self._path)

    def append(self, fact: Fact) -> None:
        """Keep a fact; on disk when this returns. OSError when the disk takes it not or not whole."""
        with self._lock:
            self._waiting[fact.reminder_message_id] = fact
            line, before = _line(fact), os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
            except OSError:
                # Half a line would take the next one with it.
                self._file.truncate(before)
                raise

    def discard(self, fact: Fact) -> None:
        """The database knows it now."""
        with self._lock:
            self._waiting.pop(fact.reminder_message_id, None)
            if not self._waiting:
                self._file.truncate(0)

    def close(self) -> None:
        """Close the file, and remove it when nothing waits in it."""
        with self._lock:
            if not self._waiting:
                self._path.unlink(missing_ok=True)
            self._file.close()

    def inherited(self) -> Iterator[tuple[Path, list[Fact]]]:
        """The facts that dead workers left, by file; remove the file once the database knows them."""
        for path in sorted(self._folder.glob("*.jsonl")):
            if path == self._path:
                continue
            # Whoever starts in the same moment may have been quicker.
            with suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    continue
                yield path, _facts(file)


def _line(fact: Fact) -> bytes:
    return json.dumps(fact.__dict__ | {"claim_token": str(fact.claim_token)}).encode() + b"\n"


def _facts(file: IO[bytes]) -> list[Fact]:
    facts, unread = [], 0
    for line in file:
        try:
            told = json.loads(line)
            facts.append(Fact(**told | {"claim_token": UUID(told["claim_token"])}))
        except (ValueError, TypeError, KeyError, AttributeError):
            # The last words of a worker that died, or whose disk was full, while it wrote: they were never acted on.
            unread += 1
    if unread:
        log.warning("%s: %d of its lines cannot be read", Path(file.name).name, unread)
    return facts
