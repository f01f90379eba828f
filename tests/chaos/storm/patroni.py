"""Patroni with etcd and two PostgreSQL servers, configured as docs/keeping.md says, on one machine.

Each server keeps its port, so that one DATABASE_URL names both whatever their roles.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from signal import SIGKILL
from typing import Any, Unpack

import yaml

from snoozer.dev import binaries, ports
from tests.chaos.storm.fleet import hurt, until
from tests.chaos.storm.ground import Ground, Making, Scene, create_database, open_scene, prepare_database
from tests.chaos.storm.replication import kill_server
from tests.process.conftest import ROOT

TIMEOUT = 90.0
ACCEPT = ROOT / "deploy" / "patroni" / "accept.sh"
PROGRAMS = ("patroni", "etcd", "curl", "psql", "setpriv")
# So that the account of the servers, which are not root's, can run the Python of root.
READS_ALL = ("--clear-groups", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
# Without fsync, because no machine loses its power here.
PARAMETERS = {
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "max_connections": 200,
    "archive_mode": "on",
    "fsync": "off",
}
HBA = ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
ROLES = {"superuser": "postgres", "replication": "standby", "rewind": "rewind"}


def recipe() -> dict[str, Any]:
    """The configuration in docs/keeping.md."""
    [block] = re.findall(r"```yaml\n(bootstrap:.*?)```", (ROOT / "docs" / "keeping.md").read_text(), re.DOTALL)
    settings: dict[str, Any] = yaml.safe_load(block)
    return settings


def lacking() -> list[str]:
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


@dataclass
class Node:
    """One host: its Patroni and its server. `settings` is the file that accept.sh reads."""

    name: str
    folder: Path
    port: int
    rest: int
    patroni: "subprocess.Popen[bytes] | None" = None

    @property
    def api(self) -> str:
        return f"http://{ports.HOST}:{self.rest}"

    @property
    def data(self) -> Path:
        return self.folder / self.name

    @property
    def settings(self) -> Path:
        return self.folder / f"{self.name}.env"

    def members(self) -> dict[str, tuple[str, str]]:
        """The role and the state of each member that this node knows; empty if it does not answer."""
        try:
            members = self.ask("GET", "/cluster")["members"]
        except (OSError, HTTPException):
            return {}
        return {one["name"]: (one["role"], one["state"]) for one in members}

    def ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        """The answer of its REST API."""
        with closing(HTTPConnection(ports.HOST, self.rest, timeout=5)) as connection:
            connection.request(method, path, body)
            answer: dict[str, Any] = json.load(connection.getresponse())
        return answer

    def kill(self) -> None:
        """As a machine that loses its power."""
        assert self.patroni is not None
        hurt(self.patroni.pid, how=SIGKILL)
        self.patroni.wait()
        kill_server(int((self.data / "postmaster.pid").read_text().split()[0]))

    def stop(self) -> None:
        """Patroni stops its server as well."""
        if self.patroni is not None:
            self.patroni.terminate()
            self.patroni.wait(TIMEOUT)


class Cluster:
    """`on_launch` is called with the process id of etcd and of each Patroni, which end at SIGTERM."""

    def __init__(self, folder: Path, *, on_launch: Callable[[int], object]) -> None:
        self.log, self.archive, self.backup = folder / "log", folder / "archive", folder / "backup"
        self._folder, self._on_launch = folder, on_launch
        self._account, self._programs = binaries.server_account(), binaries.find(wanted=None, data=None)
        for place in (folder, self.archive):
            place.mkdir(exist_ok=True)
            self._account.own(place)
        self.nodes = [Node(f"pg{n}", folder, ports.any_free(), ports.any_free()) for n in range(2)]
        self._client, self._peer = ports.any_free(), ports.any_free()
        self._etcd = self._run(
            "etcd",
            *("--name", "only", "--data-dir", str(folder / "etcd"), "--initial-cluster", f"only={_http(self._peer)}"),
            *("--listen-client-urls", _http(self._client), "--advertise-client-urls", _http(self._client)),
            *("--listen-peer-urls", _http(self._peer), "--initial-advertise-peer-urls", _http(self._peer)),
        )

    @property
    def ttl(self) -> int:
        return int(recipe()["bootstrap"]["dcs"]["ttl"])

    @property
    def accepting(self) -> str:
        """What accept.sh printed, among the words of Patroni."""
        return self.log.read_text()

    def url(self, database: str, *nodes: Node) -> str:
        """A DATABASE_URL of these nodes, or of all; it leads to the primary."""
        hosts = ",".join(f"{ports.HOST}:{node.port}" for node in nodes or self.nodes)
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"

    def leader(self) -> Node:
        """The primary; waits for it."""
        found: list[Node] = []

        def is_there() -> bool:
            found[:] = [
                node for node in self.nodes if _alive(node) and node.members().get(node.name) == ("leader", "running")
            ]
            return bool(found)

        assert until(is_there, seconds=TIMEOUT), f"there is no leader:\n{self.log.read_text()[-4000:]}"
        return found[0]

    def make_whole(self, *, synchronous: bool) -> None:
        """Both run, and one follows the other."""
        for node in self.nodes:
            if not _alive(node):
                self.start(node)
            leader = self.leader()
        leader.ask("PATCH", "/config", json.dumps({"synchronous_mode": synchronous}))
        follows = "sync_standby" if synchronous else "replica"
        whole = [("leader", "running"), (follows, "running")]
        assert until(lambda: sorted(leader.members().values()) == sorted(whole), seconds=TIMEOUT), leader.members()

    def start(self, node: Node, *, scope: str = "snoozer", bootstrap: Mapping[str, Any] | None = None) -> None:
        """Start its Patroni; `bootstrap` says how a new cluster gets its data."""
        settings = recipe()
        address = f"{ports.HOST}:{node.port}"
        settings["bootstrap"] |= bootstrap or {"initdb": [{"encoding": "UTF8"}, {"auth": "trust"}], "pg_hba": HBA}
        _, *arguments = shlex.split(settings["postgresql"]["callbacks"]["on_role_change"])
        assert len(arguments) == 2
        callback = shlex.join([str(ACCEPT), node.api, str(node.settings)])
        settings |= {"scope": scope, "name": node.name, "etcd3": {"host": f"{ports.HOST}:{self._client}"}}
        settings["restapi"] = dict.fromkeys(("listen", "connect_address"), f"{ports.HOST}:{node.rest}")
        settings["postgresql"] = {
            "callbacks": {"on_role_change": callback},
            "listen": address,
            "connect_address": address,
            "data_dir": str(node.data),
            "bin_dir": str(self._programs.folder),
            "pgpass": str(self._folder / f"{node.name}.pgpass"),
            "authentication": {what: {"username": role, "password": "x"} for what, role in ROLES.items()},
            "parameters": {**PARAMETERS, "archive_command": f"cp %p {self.archive}/%f"},
            "pg_hba": HBA,
        }
        file = self._folder / f"{node.name}.yml"
        file.write_text(yaml.safe_dump(settings))
        node.patroni = self._run("patroni", str(file))

    def back_up(self) -> None:
        """A base backup of the primary."""
        command = [self._programs.program("pg_basebackup"), "-D", str(self.backup), "-c", "fast"]
        subprocess.run([*command, "-d", self.url("", self.leader())], check=True, **self._account.run_as)

    def restore(self, *, until: datetime) -> Node:
        """A new cluster of one node, played from the base backup and the archive to this moment."""
        for node in self.nodes:
            node.stop()
            shutil.rmtree(node.data)
        recovery = {
            "recovery_target_action": "promote",
            "recovery_target_time": until.isoformat(sep=" "),
            "restore_command": f"cp {self.archive}/%f %p",
        }
        copied = {"command": f"cp -a {self.backup}/. {self.nodes[0].data}", "no_params": True}
        bootstrap = {"method": "played", "played": {**copied, "recovery_conf": recovery}}
        self.start(self.nodes[0], scope="restored", bootstrap=bootstrap)
        return self.leader()

    def accept(self, node: Node) -> "subprocess.CompletedProcess[str]":
        """What Patroni would call on a node that became the primary."""
        line = [str(ACCEPT), node.api, str(node.settings), "on_role_change", "primary", "restored"]
        return subprocess.run(line, env=self._environment, capture_output=True, text=True, check=False)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()
        self._etcd.terminate()
        self._etcd.wait(TIMEOUT)

    @property
    def _environment(self) -> dict[str, str]:
        snoozer = str(Path(sys.prefix) / "bin" / "snoozer")
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SNOOZER": snoozer, "HOME": str(self._folder)}

    def _run(self, *command: str) -> "subprocess.Popen[bytes]":
        as_account = ("setpriv", f"--reuid={self._account.uid}", f"--regid={self._account.gid}", *READS_ALL)
        line = [*(as_account if self._account.name else ()), *command]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                line, cwd="/", env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        self._on_launch(process.pid)
        return process


@dataclass(frozen=True, kw_only=True)
class PatroniPlace:
    """Scenes on a cluster, whose processes know both servers by their DATABASE_URL."""

    cluster: Cluster
    ground: Ground
    synchronous: bool

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        """A fresh database; the standby follows."""
        self.cluster.make_whole(synchronous=self.synchronous)
        name = f"storm_{secrets.token_hex(4)}"
        url = self.cluster.url(name)
        create_database(self.cluster.url("postgres", self.cluster.leader()), name)
        prepare_database(url)
        for node in self.cluster.nodes:
            node.settings.write_text(f"DATABASE_URL={self.cluster.url(name, node)}\n")
        scene = open_scene(
            folder,
            database_url=url,
            server=self.ground.server,
            maternity=self.ground.maternity,
            **made,
        )
        with scene as opened:
            yield opened


def _http(port: int) -> str:
    return f"http://{ports.HOST}:{port}"


def _alive(node: Node) -> bool:
    return node.patroni is not None and node.patroni.poll() is None
