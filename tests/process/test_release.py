"""Wheel and sdist: the same bytes for the same sources, and everything in them that the product reads."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.process import environments

# 2026-07-15, as the time of a commit.
EPOCH = 1_784_100_000


def build(sources: Path, into: Path) -> dict[str, str]:
    """The names and hashes of the files that were built."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(into), str(sources)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)})
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in into.iterdir()}


def test_two_builds_of_the_same_sources_are_equal_and_whole(tmp_path: Path) -> None:
    first, second = (environments.copy_sources(tmp_path / name) for name in ("first", "second"))
    for file in second.rglob("*"):
        os.utime(file, (EPOCH - 1_000_000, EPOCH - 1_000_000))
        file.chmod(0o700 if file.is_dir() else 0o600)
    built = build(first, tmp_path / "dist")
    assert build(second, tmp_path / "dist2") == built
    assert {Path(name).suffix for name in built} == {".whl", ".gz"}
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    files = [file for name in environments.SOURCES for file in (first / name).rglob("*") if file.is_file()]
    names = {file.relative_to(first).as_posix().removeprefix("snoozer/") for file in files}
    assert len(names) > 900
    assert sorted(name for name in names if f"snoozer/{name}" not in packed and "docs/pictures/" not in name) == []
