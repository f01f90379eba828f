"""The packages of the wheel, and archives that are the same for the same commit; the rest is in pyproject.toml."""

import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

FOLDERS = ("templates", "locale", "static", "migrations", "docs")


class ReproducibleSdist(sdist):
    """Writes the archive without the builder's times, names and order; wheels have SOURCE_DATE_EPOCH themselves."""

    def make_archive(self, base_name: Any, format: str, root_dir: Any = None, base_dir: Any = None, **_: Any) -> str:
        epoch, path = int(os.environ.get("SOURCE_DATE_EPOCH", "0")), Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for each in sorted(Path(str(base_dir)).rglob("*")):
                entry = archive.gettarinfo(each)
                entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "", ""
                entry.mode = 0o755 if each.is_dir() or entry.mode & 0o100 else 0o644
                if each.is_dir():
                    archive.addfile(entry)
                else:
                    with each.open("rb") as content:
                        archive.addfile(entry, content)
        return str(path)


setup(
    packages=[*find_packages(include=["snoozer", "snoozer.*"]), *(f"snoozer.{folder}" for folder in FOLDERS)],
    package_dir={"snoozer": "snoozer", **{f"snoozer.{folder}": folder for folder in FOLDERS}},
    cmdclass={"sdist": ReproducibleSdist},
)
