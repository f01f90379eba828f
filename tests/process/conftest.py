"""These tests run the real processes: `snoozer worker`, `snoozer clock`, and a mail server with faults to order."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.conftest import HANG_SECONDS
from tests.factories import the_row
from tests.forked import PIPES, run_forked, start_forked
from tests.process.staller import Staller

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = HANG_SECONDS
# Between two looks. One that looks without a pause takes a core from the processes that it waits for.
LOOK = 0.01

# Everything short enough for a test, in the proportions of the defaults.
SHORT = {
    "SNOOZER_LEASE_SECONDS": "3",
    "SNOOZER_HEARTBEAT_SECONDS": "0.4",
    "SNOOZER_WORKER_DEAD_SECONDS": "1.6",
    "SNOOZER_SWEEP_SECONDS": "0.2",
    "SNOOZER_POLL_SECONDS": "0.1",
    "SNOOZER_BACKOFF_SECONDS": "0.2",
    "SNOOZER_UNCERTAIN_HOLD_SECONDS": "0.3",
    "SNOOZER_DEADLINE_SECONDS": "30",
}
# A busy machine lets no claim lapse, and no worker be declared dead, which would end it for good.
PATIENT = {"SNOOZER_WORKER_DEAD_SECONDS": "60", "SNOOZER_LEASE_SECONDS": "60"}


@dataclass
class Sink:
    """What the mail server wrote down."""

    port: int
    path: Path

    def accepted(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]


@dataclass
class Field:
    """The place of a story: an empty database, a mail server, and processes of the product to start and to kill."""

    engine: Engine
    sink: Sink
    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    started: "list[subprocess.Popen[str]]" = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
        return {
            **inherited,
            **SHORT,
            "DATABASE_URL": self.engine.url.render_as_string(hide_password=False),
            "SECRET_KEY": "a-key-for-stories-of-enough-length",
            "SMTP_URL": f"smtp://127.0.0.1:{self.sink.port}",
            "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
            "BASE_URL": "http://snoozer.example",
            "SNOOZER_HOME": str(self.home),
            **self.settings,
        }

    def is_sent(self, id: int) -> bool:
        """Is this snooze over, because its reminder was sent?"""
        return bool(the_row(self.engine, id).outcome == "sent")

    def start(self, *command: str, **settings: str) -> "subprocess.Popen[str]":
        """One command of the product, started."""
        self.started.append(start_forked(*command, env=self.environment | settings, cwd=ROOT, **PIPES))
        return self.started[-1]

    def end(self) -> None:
        """Kill what a failed test left running, or stopped."""
        for process in self.started:
            process.kill()

    def run(self, *command: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        """One command of the product, to its end."""
        return run_forked(*command, env=self.environment | settings, cwd=ROOT)


@contextmanager
def a_sink(path: Path) -> Iterator[Sink]:
    """A mail server of its own process, which writes to this file."""
    path.touch()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.process.smtp_sink", str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        yield Sink(port=int(server.stdout.readline()), path=path)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    with a_sink(tmp_path / "accepted.jsonl") as sink:
        yield sink


@pytest.fixture
def place(engine: Engine, sink: Sink, tmp_path: Path) -> Iterator[Field]:
    place = Field(engine=engine, sink=sink, home=tmp_path / "home")
    yield place
    place.end()


@pytest.fixture
def staller() -> Iterator[Staller]:
    staller = Staller()
    yield staller
    staller.let_go()
    staller.stop()


def wait(is_there: Callable[[], bool]) -> None:
    """Until it is so; the test fails where it does not come to pass."""
    ends = time.monotonic() + TIMEOUT
    while time.monotonic() < ends:
        if is_there():
            return
        time.sleep(LOOK)
    pytest.fail("it did not come to pass")


def wait_until_stopped(process: "subprocess.Popen[str]") -> None:
    """Until a failpoint has stopped it."""
    wait(lambda: is_stopped(process))


def is_stopped(process: "subprocess.Popen[str]") -> bool:
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None
