"""The ground a storm blows over: a Postgres of its own, a fresh database for each scene, a sink, a fleet, a load."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import psycopg

from snoozer import triage
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.postgres import Postgres
from tests.chaos.storm.evidence import WITNESS, Evidence
from tests.chaos.storm.fleet import Fleet, Maternity, until
from tests.chaos.storm.history import History, read
from tests.chaos.storm.judge import Verdict, judge
from tests.chaos.storm.load import PLAIN, Load, Mix
from tests.chaos.storm.people import People
from tests.process.conftest import ROOT

TEMPLATE = "storm_template"
# The product is no superuser: limits of connections and rights hold for it. It owns its tables, as its migrations do.
ROLE = "storm_product"
EVIDENCE = ("email_snoozes", "reminder_sends", "snooze_events", "storm_claims", "workers")

# The defaults' proportions, short enough to live through a thousand deaths.
SHORT = {
    "SNOOZER_LEASE_SECONDS": "2",
    "SNOOZER_HEARTBEAT_SECONDS": "0.4",
    "SNOOZER_WORKER_DEAD_SECONDS": "1.2",
    "SNOOZER_SWEEP_SECONDS": "0.2",
    "SNOOZER_POLL_SECONDS": "0.1",
    "SNOOZER_BACKOFF_SECONDS": "0.2",
    "SNOOZER_UNCERTAIN_HOLD_SECONDS": "0.3",
    "SNOOZER_DEADLINE_SECONDS": "30",
    "SNOOZER_BREAKER_COOLDOWN_SECONDS": "0.5",
}


class SinkProcess:
    """The mail server, and the way to give it orders."""

    def __init__(self, path: Path, *, seed: int) -> None:
        path.touch()
        self.path = path
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.storm.sink", str(path), str(seed)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def order(self, **order: Any) -> dict[str, int]:
        """Obeyed when this returns; answers how many connections were made and mails accepted so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer: dict[str, int] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One storm: everything it needs, in a folder that keeps its evidence."""

    folder: Path
    database_url: str
    server: Postgres
    sink: SinkProcess
    history: History
    load: Load
    people: People
    maternity: Maternity
    environment: Mapping[str, str]

    @property
    def log(self) -> Path:
        """What the product's processes printed."""
        return self.folder / "processes.log"

    def fleet(self, **arguments: Any) -> Fleet:
        """Workers and a clock on this scene's database and mail server; `settings` are added to their environment."""
        settings = arguments.pop("settings", {})
        return Fleet(
            self.maternity,
            environment={**self.environment, **settings},
            log=self.log,
            history=self.history,
            **arguments,
        )

    def ask(self, query: str, *values: object) -> list[Any]:
        """Rows of the scene's database, as dictionaries."""
        with psycopg.connect(self.database_url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(query, values)
            if cursor.description is None:
                return []
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Inside the block the database or the mail server is away, and no mail can be expected."""
        since = time.time()
        yield
        self.history.write("outage", since=since)

    def living(self) -> int:
        """How many snoozes are neither sent nor a case yet."""
        try:
            return int(self.ask("SELECT count(*) AS living FROM email_snoozes WHERE NOT inactive")[0]["living"])
        except psycopg.OperationalError:
            return -1

    def drained(self, *, seconds: float) -> bool:
        """Wait until nothing is left to do; False when something still is after so many seconds."""
        return until(lambda: self.living() == 0, seconds=seconds)

    def reactivate_cases(self) -> int:
        """What an operator does when the storm is over; answers how many cases there were."""
        ids = [row["id"] for row in self.ask("SELECT id FROM email_snoozes WHERE outcome = 'retired'")]
        engine = make_engine(_for_sqlalchemy(self.database_url), name="operator")
        with engine.begin() as connection:
            triage.reactivate(connection, ids=ids, actor="olga@snoozer.example", route="storm")
        engine.dispose()
        return len(ids)

    def mailed(self, message_ids: Collection[str]) -> dict[str, float]:
        """When the first mail of each of these was accepted, by the mail server's file."""
        wanted, found = frozenset(message_ids), dict[str, float]()
        for line in read(self.sink.path):
            if line["in_reply_to"] in wanted:
                found.setdefault(line["in_reply_to"], line["at"])
        return found

    def keep_evidence(self) -> None:
        """Write the tables as they stand now beside the files, to find out why a test failed."""
        with psycopg.connect(self.database_url) as connection:
            for table in EVIDENCE:
                rows = connection.execute(f"SELECT to_jsonb(t) FROM {table} AS t").fetchall()  # noqa: S608
                lines = "".join(json.dumps(row[0]) + "\n" for row in rows)
                (self.folder / f"{table}.jsonl").write_text(lines, encoding="utf-8")

    def judged(self) -> Verdict:
        return judge(Evidence.gather(sink=self.sink.path, log=self.history.path, database_url=self.database_url))


class Ground:
    """One Postgres for all scenes of a session."""

    def __init__(self) -> None:
        self._maternity = Maternity()
        self._home = Path(tempfile.mkdtemp(prefix="snoozer-storm-"))
        self._home.chmod(0o755)
        wanted = os.environ.get("SNOOZER_PG_BIN")
        self._server = Postgres(self._home, wanted=Path(wanted) if wanted else None, shared=self._home / "shared")
        self._server.start()
        self._password = secrets.token_hex(16)
        self._admin(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{self._password}'")
        self._admin(f"CREATE DATABASE {TEMPLATE} OWNER {ROLE}")
        engine = make_engine(_for_sqlalchemy(self._product_url(TEMPLATE)), name="storm")
        schema.upgrade(engine)
        engine.dispose()
        with psycopg.connect(self._product_url(TEMPLATE)) as connection:
            connection.execute(WITNESS)
            # Each scene has a copy, which would be another database than the one that was accepted.
            connection.execute("TRUNCATE accepted_timelines")

    @contextmanager
    def scene(
        self,
        folder: Path,
        *,
        seed: int,
        rate: float = 40.0,
        think: float = 0.02,
        mix: Mix = PLAIN,
        people_rate: float = 0.0,
    ) -> Iterator[Scene]:
        """A fresh database and a sink; the load is not started yet."""
        name = f"storm_{secrets.token_hex(4)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {ROLE}")
        sink = SinkProcess(folder / "accepted.jsonl", seed=seed)
        sink.order(think=think)
        history = History(folder / "history.jsonl")
        load = Load(self._url(name), history=history, seed=seed, rate=rate, mix=mix)
        people = People(self._url(name), history=history, seed=seed, rate=people_rate, mix=mix)
        try:
            yield Scene(
                folder=folder,
                database_url=self._url(name),
                server=self._server,
                sink=sink,
                history=history,
                load=load,
                people=people,
                maternity=self._maternity,
                environment=_environment(self._product_url(name), port=sink.port, home=folder / "home"),
            )
        finally:
            load.stop()
            people.stop()
            history.close()
            sink.close()
            self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        self._maternity.close()
        self._server.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def _url(self, database: str) -> str:
        return self._server.url.rpartition("/")[0] + f"/{database}"

    def _product_url(self, database: str) -> str:
        return f"postgresql://{ROLE}:{self._password}@{self._url(database).partition('@')[2]}"

    def _admin(self, statement: str) -> None:
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            connection.execute(statement)


def _for_sqlalchemy(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")


def _environment(database_url: str, *, port: int, home: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
    return {
        **inherited,
        **SHORT,
        "DATABASE_URL": database_url,
        "SECRET_KEY": "a-key-for-storms-of-enough-length",
        "SMTP_URL": f"smtp://127.0.0.1:{port}",
        "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
        "BASE_URL": "http://snoozer.example",
        "SNOOZER_HOME": str(home),
    }
