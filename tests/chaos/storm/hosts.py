"""Hosts on one machine, each with an address and a name of its own, and a network between them that can be cut.

A host is a network namespace that a bridge joins to the others and to the servers of this machine. Packets from and to
a host that is cut off are lost without an answer: its connections hang, and nothing ends them.
"""

import os
import secrets
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from threading import Lock, Thread
from time import sleep
from typing import Unpack

import psycopg

from snoozer.dev.postgres import Postgres
from tests.chaos.storm.fleet import AGAIN, TIMEOUT, Maternity
from tests.chaos.storm.ground import Making, Scene, create_database, open_scene, prepare_database
from tests.process.conftest import ROOT

PROGRAMS = ("ip", "bridge", "unshare", "hostname")
# States of a bridge's port.
DISABLED, FORWARDING = 0, 3


def lacking() -> list[str]:
    """The programs, or the right to make network namespaces, that this machine lacks for hosts."""
    if programs := [name for name in PROGRAMS if shutil.which(name) is None]:
        return programs
    tried = subprocess.run(["unshare", "--net", "--uts", "true"], capture_output=True, check=False)
    return ["the right to make network namespaces"] if os.geteuid() != 0 or tried.returncode != 0 else []


class Network:
    """This machine is at `address`, its hosts at others of `subnet`."""

    def __init__(self) -> None:
        dice, self.name = SystemRandom(), f"snooze{secrets.token_hex(3)}"
        self._prefix = f"10.{dice.randrange(64, 128)}.{dice.randrange(256)}"
        self.subnet, self.address = f"{self._prefix}.0/24", f"{self._prefix}.1"
        self._hosts: list[str] = []

    @contextmanager
    def up(self) -> Iterator["Network"]:
        """It is there in the block, with all hosts that are added to it."""
        _run(f"ip link add {self.name} type bridge")
        try:
            _run(f"ip address add {self.address}/24 dev {self.name}")
            _run(f"ip link set {self.name} up")
            yield self
        finally:
            for space in self._hosts:
                _run(f"ip netns delete {space}")
            _run(f"ip link delete {self.name}")

    def add(self) -> tuple[str, str, str]:
        """A new host; returns its namespace, its port on the bridge and its address."""
        number = len(self._hosts) + 2
        space = f"{self.name}-{number}"
        port, address = space, f"{self._prefix}.{number}"
        _run(f"ip netns add {space}")
        self._hosts.append(space)
        _run(f"ip link add {port} type veth peer name eth0 netns {space}")
        _run(f"ip link set {port} master {self.name} up")
        _run(f"ip -n {space} address add {address}/24 dev eth0")
        for link in ("lo", "eth0"):
            _run(f"ip -n {space} link set {link} up")
        return space, port, address


class Host:
    """Processes of the product on a host of the network; each is started again when it ends, as by a supervisor.
    `ended` counts how they ended, by command and exit code; `on_launch` is called with the id of each."""

    def __init__(self, network: Network, name: str, *, log: Path, on_launch: Callable[[int], object]) -> None:
        self.name, self.log = name, log
        self._space, self._port, self.address = network.add()
        self.ended: Counter[tuple[str, int]] = Counter()
        self._on_launch = on_launch
        self._lock, self._closing = Lock(), False
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._keepers: list[Thread] = []

    def start(self, commands: Sequence[str], *, environment: Mapping[str, str]) -> None:
        """Keep `snoozer COMMAND` running, each as the Procfile has it."""
        for command in commands:
            keeper = Thread(target=self._keep, args=(command, environment), name=f"{self.name}-{command}", daemon=True)
            self._keepers.append(keeper)
            keeper.start()

    def cut(self) -> None:
        """From here on nothing comes from it, and nothing gets there."""
        _run(f"bridge link set dev {self._port} state {DISABLED}")

    def join(self) -> None:
        """It is on the network again."""
        _run(f"bridge link set dev {self._port} state {FORWARDING}")

    def stop(self, *, kill: bool = False) -> Counter[tuple[str, int]]:
        """Stop all by SIGTERM, wait for them; returns how they ended."""
        with self._lock:
            self._closing, before = True, self.ended.copy()
            for process in self._running.values():
                process.kill() if kill else process.terminate()
        for keeper in self._keepers:
            keeper.join(TIMEOUT)
            assert not keeper.is_alive(), f"{keeper.name} does not end"
        return self.ended - before

    def _keep(self, command: str, environment: Mapping[str, str]) -> None:
        within = f"netns exec {self._space} unshare --uts sh -c"
        line = ["ip", *within.split(), 'hostname "$0" && exec "$@"', self.name]
        while True:
            with self._lock, self.log.open("ab") as log:
                if self._closing:
                    return
                process = self._running[command] = subprocess.Popen(
                    [*line, sys.executable, "-m", "snoozer", command],
                    cwd=ROOT,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self._on_launch(process.pid)
            code = process.wait()
            with self._lock:
                self.ended[command, code] += 1
            sleep(AGAIN)


@dataclass(frozen=True, kw_only=True)
class NetworkedPlace:
    """Scenes whose servers are at the network's address."""

    server: Postgres
    maternity: Maternity
    network: Network

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        name = f"storm_{secrets.token_hex(4)}"
        url = create_database(self.server.url, name)
        prepare_database(url)
        with open_scene(
            folder,
            database_url=url,
            product_url=f"{url.rpartition('@')[0]}@{self.network.address}:{self.server.port}/{name}",
            mail_host=self.network.address,
            server=self.server,
            maternity=self.maternity,
            **made,
        ) as scene:
            yield scene


@contextmanager
def a_server(folder: Path, network: Network, *, on_launch: Callable[[int], object]) -> Iterator[Postgres]:
    """A database server that the hosts of the network reach, too."""
    wanted = os.environ.get("SNOOZER_PG_BIN")
    server = Postgres(
        folder,
        wanted=Path(wanted) if wanted else None,
        shared=folder / "shared",
        on_launch=on_launch,
        addresses=f"127.0.0.1,{network.address}",
    )
    server.start()
    try:
        with (server.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network.subnet} scram-sha-256\n")
        with psycopg.connect(server.url) as connection:
            connection.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.stop()


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True, timeout=TIMEOUT)
