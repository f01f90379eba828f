"""pgbouncer in transaction mode between the product and its database: no statement can rely on its session."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack
from urllib.parse import urlsplit

import psycopg

from snoozer.dev import binaries, ports
from tests.chaos.storm.fleet import hurt, until
from tests.chaos.storm.ground import Making, Place, Scene
from tests.conftest import missing

TIMEOUT = 30.0
# Fewer than the product opens: its processes take turns with them.
SERVER_CONNECTIONS = 10
CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} password={password}

[pgbouncer]
listen_addr = {host}
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = {connections}
server_login_retry = 1
"""


def program() -> str | None:
    """Where pgbouncer is; None where it is not installed."""
    return shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/usr/bin:/usr/local/bin")


class Pooler:
    """One pgbouncer before one server; it keeps its port when it is started again."""

    def __init__(self, folder: Path, *, server_url: str) -> None:
        found = program()
        assert found is not None
        self._program = found
        self._account = binaries.server_account()
        self._log = folder / "pgbouncer.log"
        self._file = folder / "pgbouncer.ini"
        self._port = ports.any_free()
        self._process: subprocess.Popen[bytes] | None = None
        self._configure(server_url)

    def url(self, database: str) -> str:
        return f"postgresql://anybody@{ports.HOST}:{self._port}/{database}"

    def start(self) -> None:
        """Started when this returns."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, self._file], stdout=log, stderr=log, **self._account.run_as
            )
        assert until(self._answers, seconds=TIMEOUT), self._log.read_text()

    def follow(self, server_url: str) -> None:
        """From now on it connects to this server, as after a failover."""
        self._configure(server_url)
        assert self._process is not None
        hurt(self._process.pid, how=signal.SIGHUP)

    def kill(self) -> None:
        """All connections through it are lost."""
        assert self._process is not None
        hurt(self._process.pid, how=signal.SIGKILL)
        self._process.wait(TIMEOUT)

    def _configure(self, server_url: str) -> None:
        server = urlsplit(server_url)
        self._file.write_text(
            CONFIGURATION.format(
                host=server.hostname,
                port=server.port,
                user=server.username,
                password=server.password,
                listen_port=self._port,
                connections=SERVER_CONNECTIONS,
            )
        )
        self._account.own(self._file)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def a_pooler(server_url: str) -> Iterator[Pooler]:
    """It runs in the block; a test that needs it is left out where pgbouncer is not installed."""
    if program() is None:
        missing("pgbouncer")
    with tempfile.TemporaryDirectory(prefix="snoozer-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        pooler = Pooler(folder, server_url=server_url)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()


@dataclass(frozen=True)
class PooledPlace:
    """Scenes whose processes know the database only through the pooler; load and judge know it directly."""

    ground: Place
    pooler: Pooler

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        with self.ground.scene(folder, **made) as scene:
            url = self.pooler.url(scene.database_url.rpartition("/")[2].partition("?")[0])
            pooled = {"DATABASE_URL": url, "SNOOZER_PGBOUNCER": "1"}
            yield replace(scene, environment={**scene.environment, **pooled})
