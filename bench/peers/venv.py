"""bench/.venv: where the other queues are installed, by exact versions, apart from the project's own environment."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.report import BenchError

BENCH = Path(__file__).resolve().parents[1]
REQUIREMENTS = BENCH / "requirements.txt"
FOLDER = BENCH / ".venv"
STAMP = FOLDER / "requirements.sha256"
# Packages whose name differs from their queue's.
PACKAGES = {"awa": "awa-pg"}


def python() -> Path:
    """The interpreter of bench/.venv, which is made when it is missing or its pins have changed.

    Raises BenchError when something cannot be installed.
    """
    interpreter = FOLDER / "bin" / "python"
    if not is_installed():
        shutil.rmtree(FOLDER, ignore_errors=True)
        for command in _commands(interpreter):
            _run(command)
        STAMP.write_text(_fingerprint())
    return interpreter


def is_installed() -> bool:
    """Return whether bench/.venv exists with the current versions."""
    return STAMP.exists() and STAMP.read_text() == _fingerprint()


def _fingerprint() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()


def pins() -> dict[str, str]:
    """Package by package, the version that is compared."""
    lines = [line.strip() for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()]
    pairs = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {name: version for name, _, version in pairs}


def versions(queues: Sequence[str]) -> dict[str, str]:
    """Return the version of each of these queues."""
    return {queue: pins()[PACKAGES.get(queue, queue)] for queue in queues}


def _commands(interpreter: Path) -> list[list[str]]:
    if shutil.which("uv"):
        return [
            ["uv", "venv", "--quiet", "--no-config", "--python", sys.executable, str(FOLDER)],
            ["uv", "pip", "install", "--quiet", "--python", str(interpreter), "-r", str(REQUIREMENTS)],
        ]
    return [
        [sys.executable, "-m", "venv", str(FOLDER)],
        [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)],
    ]


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BenchError(f"{command[0]} could not install what {REQUIREMENTS.name} names: {last}")
