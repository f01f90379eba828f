"""Snoozer's own PostgreSQL: made once, started, found again after a crash, stopped.

The server listens on loopback TCP only, asks for a random password (scram), keeps checksums and flushes to disk. Any
number of processes may start the same home at once: one of them does it, the others adopt the server that runs.
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
from pathlib import Path
from typing import Any

import psycopg

from snoozer.dev import binaries, initdb, os_user, ports
from snoozer.dev.binaries import Binaries
from snoozer.dev.errors import PostgresRefused
from snoozer.dev.postmaster import CONNECTIONS, Postmaster
from snoozer.dev.secure_file import write_private

USER = "snoozer"
DATABASE = "postgres"
MEMORY_FILE = "postgres.json"
LOG_FILE = "postgres.log"
LARGEST_LOG_BYTES = 8 * 1024 * 1024
START_AGAIN_SECONDS = 10.0
STOP_SECONDS = 30.0
_LOOK = 0.05
_AGAIN = 0.25
_WORTH_A_WORD = 3.0


class Postgres:
    """The server of one home folder. `start` makes it when it is new; `stop` stops it, whoever started it."""

    def __init__(
        self,
        home: Path,
        *,
        wanted: Path | None = None,
        shared: Path = os_user.SHARED,
        say: Callable[[str], None] = lambda line: None,
        launched: Callable[[int], None] = lambda pid: None,
        connections: int = CONNECTIONS,
    ) -> None:
        """`wanted` is SNOOZER_PG_BIN; `say` hears what a person may want to know, `launched` each server's process.

        `connections` are the most that a server started here takes at once.
        """
        self.home = home.absolute()
        self.log = self.home / LOG_FILE
        self._wanted = wanted
        self._shared = shared
        self._say = say
        self._launched = launched
        self._connections = connections
        self._account = os_user.for_postgres()
        self._binaries: Binaries | None = None
        self._memory: dict[str, Any] = {}
        self._postmaster: Postmaster | None = None
        self._stopping = False

    @property
    def data(self) -> Path:
        return Path(self._memory["place"]) / "data"

    @property
    def port(self) -> int:
        return int(self._memory["port"])

    @property
    def url(self) -> str:
        return self._url(self.port)

    @property
    def pid(self) -> int:
        return self._postmaster.pid if self._postmaster else 0

    def is_running(self) -> bool:
        return self._postmaster is not None and self._postmaster.is_running()

    def start(self) -> str:
        """Have the server answer, and return its DATABASE_URL. Raises NoPostgres or PostgresRefused, one sentence each.

        Starting again is retried for ten seconds (a killed server's leftovers hold its memory for a moment); while
        the server lives, its recovery may take as long as it takes.
        """
        with (self.home / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._remember()
            if not self._adopt():
                chosen = self._choose_binaries()
                if not self.data.exists():
                    self._make(chosen)
                self._run(chosen)
        return self.url

    def stop(self) -> None:
        """Stop the server started or adopted here (a fast shutdown) and wait until it is gone."""
        self._stopping = True
        postmaster = self._postmaster
        if postmaster is None:
            return
        for what, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, STOP_SECONDS)):
            postmaster.send(what)
            if postmaster.wait(seconds):
                return
        raise PostgresRefused(f"PostgreSQL (process {postmaster.pid}) does not stop; its log is {self.log}")

    def keep_log_small(self) -> None:
        """Move a log that has grown large aside; the server appends, so it writes on at the new beginning.

        Where that cannot be, as on a full disk, the log grows on: whoever keeps it small has more to watch than that.
        """
        with suppress(OSError):
            if self.log.exists() and self.log.stat().st_size > LARGEST_LOG_BYTES:
                shutil.copy2(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)

    def _url(self, port: int) -> str:
        return f"postgresql://{USER}:{self._memory['password']}@{ports.HOST}:{port}/{DATABASE}"

    def _remember(self) -> None:
        """Read where the data lies, its port and its password; decide all three when the home is new."""
        inside = self.home / "postgres"
        memory = self.home / MEMORY_FILE
        if memory.exists():
            self._memory = json.loads(memory.read_text())
            if not self.data.exists() and (inside / "data").exists():
                # The home was moved, and its database with it.
                self._keep_in_mind(place=str(inside))
        elif (inside / "data").exists():
            raise PostgresRefused(
                f"{inside} holds a database, but {MEMORY_FILE} with its password is missing beside it: bring that file "
                "back, or move the folder away to begin with an empty database"
            )
        else:
            place = os_user.data_place(self.home, account=self._account, shared=self._shared)
            self._keep_in_mind(place=str(place), port=ports.any_free(), password=secrets.token_urlsafe(24))

    def _keep_in_mind(self, **facts: str | int) -> None:
        self._memory |= facts
        write_private(self.home / MEMORY_FILE, json.dumps(self._memory, indent=2) + "\n")

    def _adopt(self) -> bool:
        """Take over a server that runs on our data, once it answers; one that is shutting down is waited for."""
        began, told = time.monotonic(), False
        while (found := Postmaster.of(self.data)) and not self._stopping:
            if found.port and self._answers(found.port):
                if found.port != self.port:
                    self._keep_in_mind(port=found.port)
                if found.pid != self.pid:
                    self._postmaster = found
                    self._launched(found.pid)
                    self._say(f"PostgreSQL was running already (process {found.pid}); it is used as it is")
                return True
            if not told and time.monotonic() - began > _WORTH_A_WORD:
                self._say(f"waiting for the PostgreSQL that runs already (process {found.pid}) to answer or to end")
                told = True
            time.sleep(_LOOK)
        return False

    def _answers(self, port: int) -> bool:
        try:
            psycopg.connect(self._url(port), connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise PostgresRefused(
                    f"PostgreSQL refuses the password in {self.home / MEMORY_FILE}: that file and the data in "
                    f"{self.data} do not belong together"
                ) from None
            return False
        return True

    def _choose_binaries(self) -> Binaries:
        if self._binaries is None:
            chosen = binaries.find(wanted=self._wanted, data=self.data)
            self._say(f"PostgreSQL {chosen.version} from {chosen.folder}: {chosen.why}")
            self._binaries = os_user.reachable_binaries(chosen, account=self._account, shared=self._shared)
            if self._binaries.folder != chosen.folder:
                self._say(f"used from {self._binaries.folder}, where the account {self._account.name} can run it")
        return self._binaries

    def _make(self, chosen: Binaries) -> None:
        self._say(f"making the database in {self.data}")
        initdb.make(self.data, binaries=chosen, account=self._account, user=USER, password=self._memory["password"])

    def _run(self, chosen: Binaries) -> None:
        end = time.monotonic() + START_AGAIN_SECONDS
        # Once others know the address it has to stay.
        may_move = self._postmaster is None
        if self._postmaster is not None:
            # It is gone, and has to be collected.
            self._postmaster.wait(STOP_SECONDS)
        while not self._stopping:
            Postmaster.forget_stale(self.data)
            if may_move and not ports.is_free(self.port):
                self._keep_in_mind(port=ports.any_free())
            before = self.log.stat().st_size if self.log.exists() else 0
            self._postmaster = Postmaster.launch(
                chosen,
                data=self.data,
                port=self.port,
                log=self.log,
                account=self._account,
                connections=self._connections,
            )
            self._launched(self._postmaster.pid)
            while self._postmaster.is_running():
                if self._answers(self.port):
                    return
                time.sleep(_LOOK)
            if time.monotonic() > end:
                said = self.log.read_bytes()[before:].decode(errors="replace")
                raise PostgresRefused(f"PostgreSQL does not start: {initdb.last_line(said)} (its log is {self.log})")
            time.sleep(_AGAIN)
        raise PostgresRefused("PostgreSQL was told to stop while it was starting")
