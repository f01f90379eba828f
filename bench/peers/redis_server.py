"""A Redis server of a run's own, the broker of Celery: it appends what it holds to a file, synced once a second."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bench.report import BenchError
from snoozer.dev import ports

PROGRAMS = ("redis-server", "valkey-server")
START_SECONDS = 5.0
REPLY_BYTES = 65_536
_COMMANDS = re.compile(rb"total_commands_processed:(\d+)")


@dataclass(frozen=True, kw_only=True)
class RedisServer:
    """The server's port and process id."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"redis://{ports.HOST}:{self.port}/0"

    def commands(self) -> int:
        """How many commands it has executed since its start."""
        with socket.create_connection((ports.HOST, self.port)) as connection:
            connection.sendall(b"INFO stats\r\n")
            reply = b""
            while not (found := _COMMANDS.search(reply)):
                reply += connection.recv(REPLY_BYTES)
        return int(found[1])


def program() -> str:
    """Return the path of an installed server. Raises BenchError if none is installed."""
    for name in PROGRAMS:
        if path := shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/bin:/opt/homebrew/bin"):
            return path
    raise BenchError("Celery's broker is not installed: apt-get install redis-server, or leave it out by --peer")


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """An empty server on a free port of loopback, until the end of the block. Raises BenchError."""
    with tempfile.TemporaryDirectory(prefix="snoozer-redis-") as folder:
        port = ports.any_free()
        settings = ["--bind", ports.HOST, "--port", str(port), "--dir", folder, "--save", "", "--appendonly", "yes"]
        server = subprocess.Popen([program(), *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for_port(server, port)
            yield RedisServer(port=port, pid=server.pid)
        finally:
            server.terminate()
            server.wait()


def _wait_for_port(server: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection((ports.HOST, port)):
            return
        if server.poll() is not None or time.monotonic() > until:
            raise BenchError("The Redis server did not come up")
        time.sleep(0.05)
