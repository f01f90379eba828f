"""The PostgreSQL of `snoozer up`: made once, started, found again after a crash, stopped.

The server listens on loopback TCP only, requires a random password (scram), keeps checksums and flushes to disk. Any
number of processes may start the same home at once: the first starts it, the others adopt the running server.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired, run
from typing import Any, Self

import psycopg

from snoozer.dev import binaries, ports
from snoozer.dev.binaries import Binaries
from snoozer.dev.environment import write_private
from snoozer.dev.processes import is_running, name_of, send, wait_until_gone

USER = "snoozer"
CONNECTIONS = 100
STATE_FILE = "postgres.json"
RETRY_SECONDS = 10.0
STOP_SECONDS = 30.0
_POLL_INTERVAL = 0.05
# No variable of the caller may affect the server; LC_ALL keeps macOS from starting threads in it.
_ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_SETTINGS = (
    "unix_socket_directories=",
    "cluster_name=snoozer",
    "shared_buffers=128MB",
    "max_wal_size=512MB",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "logging_collector=off",
    "log_checkpoints=off",
    # A failed statement and the details of a violated constraint carry addresses and subjects.
    "log_min_error_statement=panic",
    "log_error_verbosity=terse",
)


class PostgresRefused(Exception):
    """PostgreSQL could not be made, started or stopped; the text is one sentence."""


@dataclass
class Postmaster:
    """The main process of a server: our child, or left by an earlier process. `port` is 0 if unknown."""

    pid: int
    port: int
    process: Popen[bytes] | None = None

    @classmethod
    def of(cls, data: Path) -> Self | None:
        """The server that postmaster.pid names, if it runs on this data."""
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
        except (OSError, ValueError, IndexError):
            return None
        port = int(lines[3]) if len(lines) > 5 and lines[3].isdigit() else 0
        return cls(pid=pid, port=port) if _serves(pid, data) else None

    def is_running(self) -> bool:
        return self.process.poll() is None if self.process else is_running(self.pid)

    def wait(self, seconds: float) -> bool:
        """Wait until it is gone. Returns False if it still runs after `seconds`."""
        if self.process is None:
            return not wait_until_gone([self.pid], seconds=seconds)
        with suppress(TimeoutExpired):
            self.process.wait(seconds)
            return True
        return False


@dataclass(eq=False)
class Postgres:
    """The server of one home folder. `start` makes it when it is new; `stop` stops it, whichever process started it.

    `wanted` is SNOOZER_PG_BIN; `connections` is the max_connections of a server that is started here. `on_message` is
    called with sentences for people, `on_launch` with the process id of each server. It listens at `addresses`.
    """

    home: Path
    _: KW_ONLY
    wanted: Path | None = None
    shared: Path = binaries.SHARED
    on_message: Callable[[str], None] = lambda line: None
    on_launch: Callable[[int], object] = lambda pid: None
    connections: int = CONNECTIONS
    addresses: str = ports.HOST

    def __post_init__(self) -> None:
        self.home = self.home.absolute()
        self.log = self.home / "postgres.log"
        self._account = binaries.server_account()
        self._binaries: Binaries | None = None
        self._state: dict[str, Any] = {}
        self._postmaster: Postmaster | None = None
        self._stopping = False

    @property
    def data(self) -> Path:
        return Path(self._state["place"]) / "data"

    @property
    def port(self) -> int:
        return int(self._state["port"])

    @property
    def url(self) -> str:
        return self._url(self.port)

    @property
    def pid(self) -> int:
        return self._postmaster.pid if self._postmaster else 0

    def is_running(self) -> bool:
        return self._postmaster is not None and self._postmaster.is_running()

    def start(self) -> str:
        """Start or adopt the server, and return its DATABASE_URL. Raises NoPostgres or PostgresRefused.

        A start that fails is retried for ten seconds (the remains of a killed server hold its memory for a moment);
        while the server runs, its recovery may take any time.
        """
        with (self.home / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._load_state()
            if not self._adopt():
                chosen = self._choose_binaries()
                if not self.data.exists():
                    self.on_message(f"making the database in {self.data}")
                    self._initdb(chosen)
                self._run(chosen)
        return self.url

    def stop(self) -> None:
        """Stop the server started or adopted here (a fast shutdown) and wait until it is gone."""
        self._stopping = True
        postmaster = self._postmaster
        if postmaster is None:
            return
        for what in (signal.SIGINT, signal.SIGQUIT):
            if postmaster.is_running():
                send(postmaster.pid, what)
            if postmaster.wait(STOP_SECONDS):
                return
        raise PostgresRefused(f"PostgreSQL (process {postmaster.pid}) does not stop; its log is {self.log}")

    def crash(self) -> None:
        """End the server at once, as a power cut does (an immediate shutdown); `start` recovers its data."""
        if self._postmaster is not None and self._postmaster.is_running():
            send(self._postmaster.pid, signal.SIGQUIT)
            self._postmaster.wait(STOP_SECONDS)

    def rotate_log(self, *, max_bytes: int = 8 * 1024 * 1024) -> None:
        """Copy a large log aside and truncate it: the server appends. If that fails (a full disk), the log grows
        further."""
        with suppress(OSError):
            if self.log.exists() and self.log.stat().st_size > max_bytes:
                shutil.copy2(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)

    def _url(self, port: int) -> str:
        return f"postgresql://{USER}:{self._state['password']}@{ports.HOST}:{port}/postgres"

    def _load_state(self) -> None:
        """Read the place of the data, its port and its password; choose all three if the home is new."""
        inside = self.home / "postgres"
        file = self.home / STATE_FILE
        if file.exists():
            self._state = json.loads(file.read_text())
            if not self.data.exists() and (inside / "data").exists():
                # The home was moved, and its database with it.
                self._save_state(place=str(inside))
        elif (inside / "data").exists():
            raise PostgresRefused(
                f"{inside} holds a database, but {STATE_FILE} with its password is missing beside it: bring that file "
                "back, or move the folder away to begin with an empty database"
            )
        else:
            place = binaries.make_data_folder(self.home, account=self._account, shared=self.shared)
            self._save_state(place=str(place), port=ports.any_free(), password=secrets.token_urlsafe(24))

    def _save_state(self, **facts: str | int) -> None:
        self._state |= facts
        write_private(self.home / STATE_FILE, json.dumps(self._state, indent=2) + "\n")

    def _adopt(self) -> bool:
        """Take over a server that runs on our data, once it accepts connections. Wait for a server that shuts down."""
        began, reported = time.monotonic(), False
        while (found := Postmaster.of(self.data)) and not self._stopping:
            if found.port and self._accepts_connections(found.port):
                if found.port != self.port:
                    self._save_state(port=found.port)
                if found.pid != self.pid:
                    self._postmaster = found
                    self.on_launch(found.pid)
                    self.on_message(f"PostgreSQL was running already (process {found.pid}); it is used as it is")
                return True
            if not reported and time.monotonic() - began > 3:
                who = f"the PostgreSQL that runs already (process {found.pid})"
                self.on_message(f"waiting for {who} to answer or to end")
                reported = True
            time.sleep(_POLL_INTERVAL)
        return False

    def _accepts_connections(self, port: int) -> bool:
        try:
            psycopg.connect(self._url(port), connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise PostgresRefused(
                    f"PostgreSQL refuses the password in {self.home / STATE_FILE}: that file and the data in "
                    f"{self.data} do not belong together"
                ) from None
            return False
        return True

    def _choose_binaries(self) -> Binaries:
        if self._binaries is None:
            chosen = binaries.find(wanted=self.wanted, data=self.data)
            self.on_message(f"PostgreSQL {chosen.version} from {chosen.folder}: {chosen.why}")
            self._binaries = binaries.reachable(chosen, account=self._account, shared=self.shared)
            if self._binaries.folder != chosen.folder:
                self.on_message(f"used from {self._binaries.folder}, where the account {self._account.name} can run it")
        return self._binaries

    def _run(self, chosen: Binaries) -> None:
        end = time.monotonic() + RETRY_SECONDS
        # The address must not change once other processes know it.
        may_move = self._postmaster is None
        if self._postmaster is not None:
            # It has ended, and must be collected.
            self._postmaster.wait(STOP_SECONDS)
        while not self._stopping:
            if Postmaster.of(self.data) is None:
                # PostgreSQL refuses to start while any process has its id.
                (self.data / "postmaster.pid").unlink(missing_ok=True)
            if may_move and not ports.is_free(self.port):
                self._save_state(port=ports.any_free())
            before = self.log.stat().st_size if self.log.exists() else 0
            self._postmaster = self._launch(chosen)
            self.on_launch(self._postmaster.pid)
            while self._postmaster.is_running():
                if self._accepts_connections(self.port):
                    return
                time.sleep(_POLL_INTERVAL)
            if time.monotonic() > end:
                output = self.log.read_bytes()[before:].decode(errors="replace")
                raise PostgresRefused(f"PostgreSQL does not start: {_reason(output)} (its log is {self.log})")
            time.sleep(0.25)
        raise PostgresRefused("PostgreSQL was asked to stop while it was starting")

    def _launch(self, chosen: Binaries) -> Postmaster:
        """Start a server. Its output is appended to the log file."""
        command = [chosen.program("postgres"), "-D", str(self.data)]
        own = (f"listen_addresses={self.addresses}", f"port={self.port}", f"max_connections={self.connections}")
        for setting in (*own, *_SETTINGS):
            command += ["-c", setting]
        run_as = self._account.run_as
        with self.log.open("ab") as out:
            self.log.chmod(0o600)
            # A Ctrl-C at the terminal goes to the whole foreground group; the server must stop last.
            process = Popen(command, stdin=DEVNULL, stdout=out, stderr=out, env=_ENV, start_new_session=True, **run_as)
        return Postmaster(pid=process.pid, port=self.port, process=process)

    def _initdb(self, chosen: Binaries) -> None:
        """Create a database as a draft that is renamed to `data` when it is complete. Raises PostgresRefused."""
        place, run_as = self.data.parent, self._account.run_as
        for left in place.glob("draft-*"):
            shutil.rmtree(left, ignore_errors=True)
        password = place / "password"
        write_private(password, self._state["password"])
        self._account.own(password)
        initdb = [chosen.program("initdb"), "-U", USER, "-A", "scram-sha-256", "--data-checksums", "--encoding=UTF8"]
        try:
            for locale in ("C.UTF-8", "C"):
                # A name of its own: the initdb of a killed `snoozer up` may still be writing.
                draft = place / f"draft-{secrets.token_hex(4)}"
                command = [*initdb, f"--locale={locale}", f"--pwfile={password}", "-D", str(draft)]
                made = run(
                    command, capture_output=True, text=True, check=False, env=_ENV, start_new_session=True, **run_as
                )
                if made.returncode == 0:
                    draft.rename(self.data)
                    return
        finally:
            password.unlink(missing_ok=True)
        raise PostgresRefused(f"initdb could not make the database in {place}: {_reason(made.stderr)}")


def _serves(pid: int, data: Path) -> bool:
    """Whether this process is the server of this data, judged by its working folder if the system shows it."""
    if not Path("/proc/self/cwd").exists():
        return name_of(pid) in {"postgres", "postmaster"}
    with suppress(OSError):
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    return False


def _reason(output: str) -> str:
    """The line with which the server or initdb failed, without its time stamp."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line.partition(mark)[2].strip() for line in lines for mark in ("FATAL:", "error:") if mark in line]
    return (fatal or lines or ["it gave no reason"])[-1]
