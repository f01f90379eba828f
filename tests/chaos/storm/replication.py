"""A primary and a standby that follows it: killed like a machine that loses its power, promoted, made whole again.

Each server has a home of its own and keeps its port, so that one DATABASE_URL names both whatever their roles.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import psycopg

from snoozer.dev import binaries, ports
from snoozer.dev.environment import write_private
from snoozer.dev.postgres import STATE_FILE, Postgres
from tests.chaos.storm.fleet import Maternity, hurt, until
from tests.chaos.storm.ground import Making, Scene, create_database, open_scene, prepare_database

TIMEOUT = 60.0
FOLLOWS = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"
CAUGHT_UP = "SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= %s::pg_lsn"
NO_STANDBY, EVERY_STANDBY = "", "*"


class Pair:
    """Two servers: `primary` takes writes, `standby` follows once the pair was made whole.

    `on_launch` is called with the process id of each server.
    """

    def __init__(self, folder: Path, *, on_launch: Callable[[int], object]) -> None:
        wanted = os.environ.get("SNOOZER_PG_BIN")
        self._wanted = Path(wanted) if wanted else None
        self._shared = folder / "shared"
        self._on_launch = on_launch
        self.primary, self.standby = self._server(folder / "one"), self._server(folder / "two")
        self.primary.start()
        self._prepare_home(self.standby.home)

    def url(self, database: str) -> str:
        """A DATABASE_URL that names both, and means the one that takes writes."""
        before = self.primary.url.rpartition("@")[0]
        numbers = sorted(_state(server.home)["port"] for server in (self.primary, self.standby))
        hosts = ",".join(f"{ports.HOST}:{number}" for number in numbers)
        return f"{before}@{hosts}/{database}?target_session_attrs=read-write"

    def make_whole(self, *, synchronous: bool) -> None:
        """The standby follows, and commits wait for it where it is `synchronous`. One that is lost is copied anew."""
        self._set_waiting(NO_STANDBY)
        if not self.standby.is_running():
            self._copy()
            self.standby.start()
        self._wait_for(FOLLOWS, "async")
        if synchronous:
            # Not before: the copy would have the setting, and wait for a standby of its own once it is promoted.
            self._set_waiting(EVERY_STANDBY)
            self._wait_for(FOLLOWS, "sync")

    def catch_up(self) -> None:
        """Return when the standby has what is committed now."""
        with psycopg.connect(self.primary.url) as connection:
            position = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        assert position is not None
        self._wait_for(CAUGHT_UP, position[0])

    def hold_back(self) -> None:
        """From here on the standby receives nothing, which the primary does not notice within a minute."""
        with psycopg.connect(self.primary.url) as connection:
            senders = connection.execute("SELECT pid FROM pg_stat_replication").fetchall()
        for (pid,) in senders:
            os.kill(pid, signal.SIGSTOP)

    def kill_primary(self) -> None:
        kill_server(self.primary.pid)
        assert until(lambda: not self.primary.is_running(), seconds=TIMEOUT)

    def promote(self) -> float:
        """The standby takes writes, and is `primary` from now on; returns the time at which it does."""
        with psycopg.connect(self.standby.url, autocommit=True) as connection:
            assert connection.execute("SELECT pg_promote(TRUE, 60)").fetchone() == (True,)
        self.primary, self.standby = self.standby, self.primary
        return time.time()

    def stop(self) -> None:
        for server in (self.standby, self.primary):
            if server.is_running():
                server.stop()
            _forget_shared_memory(_data(server.home))

    def _server(self, home: Path) -> Postgres:
        home.mkdir()
        home.chmod(0o711)
        return Postgres(home, wanted=self._wanted, shared=self._shared, on_launch=self._on_launch)

    def _prepare_home(self, home: Path) -> None:
        """What a server writes down when it makes its data, for one whose data will be a copy."""
        place = binaries.make_data_folder(home, account=binaries.server_account(), shared=self._shared)
        state = {**_state(self.primary.home), "place": str(place), "port": ports.any_free()}
        write_private(home / STATE_FILE, json.dumps(state))

    def _copy(self) -> None:
        data, account = _data(self.standby.home), binaries.server_account()
        _forget_shared_memory(data)
        shutil.rmtree(data, ignore_errors=True)
        chosen = binaries.find(wanted=self._wanted, data=self.primary.data)
        program = binaries.reachable(chosen, account=account, shared=self._shared).program("pg_basebackup")
        command = [program, "-D", str(data), "-d", self.primary.url, "-X", "stream", "-c", "fast", "-R"]
        subprocess.run(command, check=True, timeout=TIMEOUT, **account.run_as)

    def _set_waiting(self, names: str) -> None:
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            connection.execute("SELECT pg_reload_conf()")

    def _wait_for(self, query: str, *values: object) -> None:
        def is_so() -> bool:
            with psycopg.connect(self.primary.url) as connection:
                return connection.execute(query, values).fetchone() is not None

        assert until(is_so, seconds=TIMEOUT), "the standby does not follow"


def kill_server(pid: int) -> None:
    """As a machine that loses its power: no process of the server goes on."""
    os.kill(pid, signal.SIGSTOP)  # Or it would start others.
    for child in _children(pid):
        hurt(child, how=signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class ReplicatedPlace:
    """Scenes on a pair of servers, whose processes know both by their DATABASE_URL."""

    pair: Pair
    maternity: Maternity
    synchronous: bool

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        """A fresh database; the standby follows."""
        self.pair.make_whole(synchronous=self.synchronous)
        name = f"storm_{secrets.token_hex(4)}"
        create_database(self.pair.primary.url, name)
        url = self.pair.url(name)
        prepare_database(url)
        scene = open_scene(
            folder,
            database_url=url,
            server=self.pair.primary,
            maternity=self.maternity,
            **made,
        )
        with scene as opened:
            yield opened


def _state(home: Path) -> dict[str, str]:
    state: dict[str, str] = json.loads((home / STATE_FILE).read_text())
    return state


def _data(home: Path) -> Path:
    return Path(_state(home)["place"]) / "data"


def _children(pid: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(stat.parent.name)


def _forget_shared_memory(data: Path) -> None:
    """A server that was killed leaves a segment, which only a start on the same data would remove."""
    with suppress(OSError, IndexError):
        segment = (data / "postmaster.pid").read_text().splitlines()[6].split()[1]
        subprocess.run(["ipcrm", "-m", segment], capture_output=True, check=False)
