"""What a host runs: the lines of the Procfile where only requirements.txt was installed, and the wheel elsewhere."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.process import environments
from tests.process.conftest import ROOT, TIMEOUT, Field, Sink

# As honcho and foreman read it, to whom anything else is a comment.
LINES = dict(re.findall(r"^([A-Za-z0-9_-]+):\s*(.+)$", (ROOT / "Procfile").read_text(), re.M))
# The one that ends, and the others by the command of the README.
MIGRATE, RUNNER = re.findall(
    r"^(python -m snoozer migrate) && honcho start (.+)$", (ROOT / "README.md").read_text(), re.M
)[0]
WAITING = "waiting for the schema: The database has no tables of Snoozer yet; run `snoozer migrate`"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds requirements.txt alone."""
    return environments.make(tmp_path_factory.mktemp("host") / "venv")


class Host:
    """Processes on an empty database, with their output kept."""

    def __init__(self, field: Field, programs: Path, *, cwd: Path) -> None:
        self.output = ""
        self._reserved = (reserved_port(), reserved_port())
        self.port, self.inbound = (reserved.getsockname()[1] for reserved in self._reserved)
        self._cwd = cwd
        self._started: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        left_out = ("PYTHONPATH", "VIRTUAL_ENV", "SNOOZER_PG_BIN")
        self._environment = {name: value for name, value in field.environment.items() if name not in left_out} | {
            "PATH": f"{programs}:/usr/bin:/bin",
            "PORT": str(self.port),
            "SNOOZER_INBOUND_PORT": str(self.inbound),
        }

    def start(self, *command: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command,
            cwd=self._cwd,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        reader = threading.Thread(target=self._read, args=(process,))
        reader.start()
        self._started.append((process, reader))
        return process

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, cwd=self._cwd, env=self._environment, check=True, capture_output=True, text=True
        ).stdout

    def status(self, path: str) -> int:
        """The status of a page, 0 while nothing listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def wait_for_line(self, pattern: str) -> None:
        wait(lambda: bool(re.search(pattern, self.output)))

    def stop(self) -> list[int]:
        for process, _ in self._started:
            process.send_signal(signal.SIGTERM)
        try:
            return [process.wait(TIMEOUT) for process, _ in self._started]
        finally:
            for process, reader in self._started:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                reader.join()
            for reserved in self._reserved:
                reserved.close()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self.output += line


@pytest.fixture
def field(empty_database: Engine, sink: Sink, tmp_path: Path) -> Field:
    return Field(engine=empty_database, sink=sink, home=tmp_path / "home")


@pytest.fixture
def host(field: Field, programs: Path) -> Iterator[Host]:
    host = Host(field, programs, cwd=ROOT)
    yield host
    host.stop()


def wait(is_so: Callable[[], bool]) -> None:
    """Look again every moment until it is so; the test fails where that takes too long."""
    ends = time.monotonic() + TIMEOUT
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.05)


def reserved_port() -> socket.socket:
    """A port that the system gives to no one else, and that a server, which reuses addresses, can still listen on."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def workers(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM workers WHERE state = 'alive'")).scalar_one())


def test_the_readmes_runner_starts_every_line_but_the_one_that_ends() -> None:
    """`honcho start` without names runs `release` beside the others and stops them all as soon as that has ended."""
    assert {LINES["release"]: list(LINES)} == {MIGRATE: ["release", *RUNNER.split()]}
    comment = "\n".join(line for line in (ROOT / "Procfile").read_text().splitlines() if line.startswith("#"))
    assert f"{MIGRATE} && honcho start {RUNNER}" in comment


def test_all_lines_of_the_procfile_may_start_before_the_schema_is_there(
    host: Host, field: Field, programs: Path
) -> None:
    """The worker ended with an error, and with it everything that the same runner had started."""
    names = RUNNER.split()
    host.start(sys.executable, "-m", "honcho", "start", "--no-colour", *names)
    for name in names:
        host.wait_for_line(rf"{name}\.1 +\| .*{re.escape(WAITING)}")
    assert (host.status("/healthz"), host.status("/readyz")) == (200, 503)
    assert not is_listening(host.inbound)

    host.run("/bin/sh", "-c", LINES["release"])
    wait(lambda: host.status("/readyz") == 200)
    wait(lambda: is_listening(host.inbound))
    wait(lambda: workers(field.engine) == 1)
    assert "Traceback" not in host.output
    assert host.stop() == [128 + signal.SIGTERM]
    assert workers(field.engine) == 0


def test_processes_that_wait_for_the_schema_stop_when_asked(host: Host) -> None:
    for name in ("worker", "clock", "inbound", "mailbox"):
        host.start("/bin/sh", "-c", f"exec {LINES[name]}")
    wait(lambda: host.output.count(WAITING) == 4)
    assert host.stop() == [0, 0, 0, 0]
    assert host.output.count("waiting for the schema") == 4


def test_workers_side_by_side_need_no_installed_package(host: Host, field: Field) -> None:
    host.run("/bin/sh", "-c", LINES["release"])
    host.start("python", "-m", "snoozer", "worker", "--processes", "2")
    wait(lambda: workers(field.engine) == 2)
    assert host.stop() == [0]


def test_the_version_is_known_without_an_installed_package(host: Host) -> None:
    assert host.run("python", "-m", "snoozer", "--version").strip().endswith("version 1.0.0")


def test_another_wsgi_server_serves_it_too(host: Host, programs: Path) -> None:
    """Waitress is no part of requirements.txt: its own folder is all that is added."""
    code = "import sys; sys.path.append(sys.argv.pop(1)); from waitress.runner import run; sys.exit(run())"
    waitress = find_spec("waitress")
    assert waitress is not None
    assert waitress.origin is not None
    packages = str(Path(waitress.origin).parents[1])
    host.run("/bin/sh", "-c", LINES["release"])
    host.start("python", "-c", code, packages, f"--listen=127.0.0.1:{host.port}", "wsgi:app")
    wait(lambda: host.status("/readyz") == 200)


def test_the_wheel_without_its_extra_serves_a_given_database(
    field: Field, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    programs = environments.make(tmp_path / "venv")
    environments.install_wheel(programs, into=tmp_path / "dist")
    cwd = tmp_path / "anywhere"
    cwd.mkdir()
    host = Host(field, programs, cwd=cwd)
    try:
        host.run("snoozer", "migrate")
        assert host.run("snoozer", "--version") == "snoozer, version 1.0.0\n"
        host.start("snoozer", "worker", "--processes", "2")
        host.start("snoozer", "clock")
        host.start("gunicorn", "-c", "python:snoozer.web.gunicorn", "snoozer.web:from_environment()")
        wait(lambda: host.status("/readyz") == 200)
        wait(lambda: workers(field.engine) == 2)
        assert host.status("/") == 200
    finally:
        codes = host.stop()
    assert codes == [0, 0, 0]
    assert "Traceback" not in host.output
