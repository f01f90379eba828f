"""A server whose write-ahead log lies on a small disk of its own, which can be filled up."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import psycopg

from snoozer.dev import binaries
from snoozer.dev.postgres import Postgres
from tests.chaos.storm.fleet import Maternity, until
from tests.chaos.storm.ground import Making, Scene, create_database, open_scene, prepare_database

TIMEOUT = 60.0
# Six files of the log.
SIZE = 96 * 1024 * 1024


class SmallDisk:
    """A disk in memory, as only root may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"
        folder.mkdir()

    def mount(self) -> bool:
        """Returns False where that is not allowed."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0711", "none", str(self.folder)]
        with suppress(FileNotFoundError):
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        return False

    def unmount(self) -> None:
        subprocess.run(["umount", self.folder], check=True)

    def fill_up(self) -> None:
        """Nothing more can be written."""
        space = os.statvfs(self.folder)
        with self._ballast.open("ab") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize)

    def free(self) -> None:
        self._ballast.unlink()


@dataclass(frozen=True, kw_only=True)
class SmallDiskPlace:
    """Scenes on a server of their own."""

    server: Postgres
    maternity: Maternity

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        url = create_database(self.server.url, "storm")
        prepare_database(url)
        scene = open_scene(
            folder,
            database_url=url,
            server=self.server,
            maternity=self.maternity,
            **made,
        )
        with scene as opened:
            yield opened


def server_with_its_log_on(disk: SmallDisk, *, home: Path, on_launch: Callable[[int], object]) -> Postgres:
    """A new server, which runs."""

    def server() -> Postgres:
        wanted = os.environ.get("SNOOZER_PG_BIN")
        return Postgres(home, wanted=Path(wanted) if wanted else None, shared=home / "shared", on_launch=on_launch)

    first = server()
    first.start()
    first.stop()
    log, place = first.data / "pg_wal", disk.folder / "pg_wal"
    shutil.move(log, place)
    account = binaries.server_account()
    for path in (place, *place.rglob("*")):
        account.own(path)
    log.symlink_to(place)
    second = server()
    second.start()
    return second


def use_up_log(server: Postgres) -> None:
    """Begin one file of the log after the other until the server gives up."""

    def is_down() -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("SELECT pg_logical_emit_message(FALSE, 'storm', 'x'), pg_switch_wal()")
        return not server.is_running()

    assert until(is_down, seconds=TIMEOUT), "the server does not mind a full disk"
