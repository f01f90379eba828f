"""One reminder, from its claim to its end, runs through few files: those that ARCHITECTURE.md walks through."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sys import setprofile
from threading import Event
from types import FrameType
from typing import Any

import pytest
from sqlalchemy import Engine

from snoozer.db import statements
from snoozer.delivery import claiming
from snoozer.settings import Settings
from tests.factories import a_snooze, now
from tests.process.conftest import ROOT, Field, wait
from tests.process.worker_here import a_worker

PACKAGE = str(ROOT / "snoozer")
MAX_PYTHON_FILES, MAX_SQL_FILES = 19, 6

# The last statement of the transaction that finalizes.
LAST_STATEMENT = "snoozer/db/sql/queue/ledger/record.sql"


def sql_file(name: str) -> str:
    """The file of a statement."""
    return f"snoozer/db/{statements.sources()[name].path}"


class Trace:
    """The files of the product whose functions are called, and the SQL files that are executed, in this order.

    Only while `recording` is set, in the thread that starts it and in threads that are started later.
    """

    def __init__(self) -> None:
        self.recording = Event()
        self.files: list[str] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        threading.setprofile(self._record)
        setprofile(self._record)
        try:
            yield
        finally:
            setprofile(None)
            threading.setprofile(None)

    def _record(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not self.recording.is_set() or not code.co_filename.startswith(PACKAGE):
            return
        self.files.append(str(Path(code.co_filename).relative_to(ROOT)))
        if code is statements.execute.__code__:
            self.files.append(sql_file(frame.f_locals["name"]))

    def walk(self) -> list[str]:
        """Each file once, in the order of first calls, from the claim's transaction to the end of the last one."""
        start = self.files.index(str(Path(claiming.__file__).relative_to(ROOT)))
        end = self.files.index(LAST_STATEMENT, start)
        return list(dict.fromkeys(self.files[start : end + 1]))


def the_walk_of_a_second_reminder(place: Field, settings: Settings) -> list[str]:
    """The first one opens the connections."""
    trace, engine = Trace(), place.engine
    with trace.installed(), a_worker(place, settings) as worker:
        deliver(engine, worker.tick, place)
        wait(lambda: worker.is_idle)
        trace.recording.set()
        deliver(engine, worker.tick, place)
        trace.recording.clear()
    return trace.walk()


def deliver(engine: Engine, tick: Callable[[], int], place: Field) -> None:
    id = a_snooze(engine, remind_at=now())
    assert tick() == 1
    wait(lambda: place.is_sent(id))


@pytest.fixture
def walk(place: Field, settings: Settings) -> list[str]:
    return the_walk_of_a_second_reminder(place, settings)


def test_from_claim_to_finalize_a_reminder_runs_through_the_files_of_the_written_walk(walk: list[str]) -> None:
    python, sql = ([file for file in walk if file.endswith(ending)] for ending in (".py", ".sql"))
    print("\n".join(f"{number}. `{file}`" for number, file in enumerate(walk, 1)))
    assert len(python) <= MAX_PYTHON_FILES
    assert len(sql) <= MAX_SQL_FILES
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## The walk\n")[2].partition("\n## ")[0]
    statements_run = section.partition("The SQL it runs:")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\d+\. `(snoozer/\S+)`", section, re.MULTILINE)) == set(python)
    assert {sql_file(name) for name in re.findall(r"`(\w+/\w+)`", statements_run)} == set(sql)
