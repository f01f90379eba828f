"""An earlier release of Snoozer: its code as git has it, and its processes beside this checkout's."""

import signal
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import psycopg

from tests.chaos.storm.evidence import WITNESS
from tests.chaos.storm.ground import Ground, Making, Scene, open_scene
from tests.process.conftest import ROOT

TIMEOUT = 180.0
# As long as a migration may hold up a worker, so that none ends as if it had lost the database.
PATIENT = {"SNOOZER_WORKER_DEAD_SECONDS": "30", "SNOOZER_LEASE_SECONDS": "60"}
MIGRATIONS = "migrations/versions"
REQUIREMENTS = "requirements.txt"


def commit_of_previous_release() -> str | None:
    """The last release, if this code has migrations that it lacks; else the newest commit without the newest migration.
    None if the history does not reach back so far."""
    released = _git("log", "-1", "--format=%H", "--grep=^Release [0-9]")
    if released and _git("diff", "--name-only", "--diff-filter=A", released, "HEAD", "--", MIGRATIONS):
        return released
    added = _git("log", "--first-parent", "-1", "--format=%H", "--diff-filter=A", "--", f"{MIGRATIONS}/*.py")
    return _git("rev-parse", "--verify", "--quiet", f"{added}^") or None if added else None


@dataclass
class Release:
    """The code of a commit, in a folder of its own, and the processes that run it, by an interpreter that has what that
    release runs on."""

    root: Path
    python: str = sys.executable
    _processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @classmethod
    def check_out(cls, commit: str, folder: Path) -> "Release":
        archive, root = folder / "release.tar", folder / "release"
        subprocess.run(["git", "archive", "-o", archive, commit], cwd=ROOT, check=True)
        with tarfile.open(archive) as files:
            files.extractall(root, filter="data")
        theirs, ours = (folder / REQUIREMENTS for folder in (root, ROOT))
        if theirs.exists() and theirs.read_bytes() == ours.read_bytes():
            return cls(root)
        subprocess.run(["bin/setup"], cwd=root, check=True)
        return cls(root, str(root / ".venv" / "bin" / "python"))

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def run(self, scene: Scene, *command: str) -> str:
        """Run a command of this release; returns what it printed."""
        line, environment = self._line(*command), self._environment(scene)
        done = subprocess.run(
            line, cwd=self.root, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT
        )
        return done.stdout

    def start(self, scene: Scene, *commands: tuple[str, ...]) -> None:
        """Each of these commands as a process that goes on."""
        with scene.log.open("ab") as log:
            self._processes += [
                subprocess.Popen(
                    self._line(*command), cwd=self.root, env=self._environment(scene), stdout=log, stderr=log
                )
                for command in commands
            ]

    def stop(self) -> Counter[int]:
        """All of its processes by SIGTERM; returns their exit codes."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        try:
            return Counter(process.wait(TIMEOUT) for process in self._processes)
        finally:
            self.kill()

    def kill(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(TIMEOUT)
        self._processes.clear()

    def _line(self, *command: str) -> list[str]:
        return [self.python, "-m", "snoozer", *command]

    def _environment(self, scene: Scene) -> Mapping[str, str]:
        return {**scene.environment, "PYTHONPATH": str(self.root)}


@dataclass(frozen=True)
class OlderPlace:
    """Scenes on a database that an earlier release made."""

    ground: Ground
    release: Release

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        with self.ground.database() as url:
            scene = open_scene(
                folder,
                database_url=url,
                server=self.ground.server,
                maternity=self.ground.maternity,
                **made,
            )
            with scene as opened:
                environment = {**opened.environment, **PATIENT}
                patient = replace(opened, environment=environment, dates_are_promises=False)
                self.release.run(patient, "migrate")
                with psycopg.connect(url) as connection:
                    connection.execute(WITNESS)
                yield patient


def _git(*command: str) -> str:
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
