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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, Required, TypedDict, Unpack

import psycopg

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.dev import ports
from snoozer.dev.postgres import Postgres
from snoozer.operators import chunks
from tests.chaos.storm.evidence import WITNESS, Evidence
from tests.chaos.storm.fleet import Fleet, Maternity, until
from tests.chaos.storm.history import History, read
from tests.chaos.storm.judge import Verdict, judge
from tests.chaos.storm.load import PLAIN, Load, Mix
from tests.chaos.storm.people import People
from tests.db.operations import an_operation
from tests.process.conftest import ROOT

TEMPLATE = "storm_template"
COMMAND = 60.0
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
# Those of the product, where what they cost is part of what is measured.
DEFAULTS = {
    "SNOOZER_LEASE_SECONDS": "90",
    "SNOOZER_HEARTBEAT_SECONDS": "3",
    "SNOOZER_WORKER_DEAD_SECONDS": "10",
    "SNOOZER_SWEEP_SECONDS": "5",
    "SNOOZER_POLL_SECONDS": "1",
}


class SinkProcess:
    """The mail server, and the way to give it orders."""

    def __init__(self, path: Path, *, seed: int, host: str = ports.HOST) -> None:
        path.touch()
        self.path = path
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fakes.smtp_server", str(path), "--host", host, "--seed", str(seed)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.host, self.port = host, int(self._process.stdout.readline())
        self.pid = self._process.pid

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
    # False beside an earlier release, which dated its mails when it sent them.
    dates_are_promises: bool = True

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

    def run(self, *command: str, within: float = COMMAND) -> "subprocess.CompletedProcess[str]":
        """One command of the product, to its end."""
        line = [sys.executable, "-m", "snoozer", *command]
        return subprocess.run(
            line, cwd=ROOT, env=dict(self.environment), capture_output=True, text=True, check=False, timeout=within
        )

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
        engine = make_engine(parse_url(self.database_url), name="operator")
        chunks.finish(engine, an_operation(engine, act="reactivate", ids=ids))
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
        found = Evidence.gather(sink=self.sink.path, log=self.history.path, database_url=self.database_url)
        if not self.dates_are_promises:
            found = replace(found, mails=[replace(mail, date=None) for mail in found.mails])
        return judge(found)


class Making(TypedDict, total=False):
    """The parameters of a scene: `rate` snoozes of programs and `people_rate` acts of people a second, and the seconds
    that the mail server `think`s."""

    seed: Required[int]
    rate: float
    think: float
    mix: Mix
    people_rate: float


class Place(Protocol):
    """Where scenes can be played, each on a fresh database."""

    def scene(self, folder: Path, **made: Unpack[Making]) -> AbstractContextManager[Scene]: ...


class Ground:
    """One Postgres for all scenes of a session."""

    def __init__(self) -> None:
        self.maternity = Maternity()
        self._home = Path(tempfile.mkdtemp(prefix="snoozer-storm-"))
        self._home.chmod(0o755)
        wanted = os.environ.get("SNOOZER_PG_BIN")
        self.server = Postgres(self._home, wanted=Path(wanted) if wanted else None, shared=self._home / "shared")
        self.server.start()
        self._password = secrets.token_hex(16)
        _admin(self.server.url, f"CREATE ROLE {ROLE} LOGIN PASSWORD '{self._password}'")
        create_database(self.server.url, TEMPLATE, owner=ROLE)
        url = self._product_url(TEMPLATE)
        prepare_database(url)
        with psycopg.connect(url) as connection:
            # Each scene has a copy, which would be another database than the one that was accepted.
            connection.execute("TRUNCATE accepted_timelines")

    @contextmanager
    def scene(self, folder: Path, **made: Unpack[Making]) -> Iterator[Scene]:
        """A fresh database and a sink; the load is not started yet."""
        with self.database(template=TEMPLATE, owner=ROLE) as url:
            scene = open_scene(
                folder,
                database_url=url,
                product_url=self._product_url(url.rpartition("/")[2]),
                server=self.server,
                maternity=self.maternity,
                **made,
            )
            with scene as opened:
                yield opened

    @contextmanager
    def database(self, *, template: str = "template0", owner: str = "DEFAULT") -> Iterator[str]:
        """The URL of a new database, which is dropped at the end."""
        name = f"storm_{secrets.token_hex(4)}"
        try:
            yield create_database(self.server.url, name, template=template, owner=owner)
        finally:
            _admin(self.server.url, f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        self.maternity.close()
        self.server.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def _product_url(self, database: str) -> str:
        return f"postgresql://{ROLE}:{self._password}@{self.server.url.partition('@')[2].rpartition('/')[0]}/{database}"


@contextmanager
def open_scene(
    folder: Path,
    *,
    database_url: str,
    server: Postgres,
    maternity: Maternity,
    product_url: str | None = None,
    mail_host: str = ports.HOST,
    seed: int,
    rate: float = 40.0,
    think: float = 0.02,
    mix: Mix = PLAIN,
    people_rate: float = 0.0,
) -> Iterator[Scene]:
    """A scene on this database, with a sink and a load that is not started yet; `product_url` where the product has a
    role or an address of its own; the sink is at `mail_host`."""
    sink = SinkProcess(folder / "accepted.jsonl", seed=seed, host=mail_host)
    sink.order(think=think)
    history = History(folder / "history.jsonl")
    load = Load(database_url, history=history, seed=seed, rate=rate, mix=mix)
    people = People(database_url, history=history, seed=seed, rate=people_rate, mix=mix)
    try:
        yield Scene(
            folder=folder,
            database_url=database_url,
            server=server,
            sink=sink,
            history=history,
            load=load,
            people=people,
            maternity=maternity,
            environment=_environment(product_url or database_url, sink=sink, home=folder / "home"),
        )
    finally:
        load.stop()
        people.stop()
        history.close()
        sink.close()


def create_database(server_url: str, name: str, *, template: str = "template0", owner: str = "DEFAULT") -> str:
    """A new database on a server; returns its URL."""
    _admin(server_url, f"CREATE DATABASE {name} TEMPLATE {template} OWNER {owner}")
    return server_url.rpartition("/")[0] + f"/{name}"


def prepare_database(url: str) -> None:
    """The schema of this release, and the witness of claims."""
    engine = make_engine(parse_url(url), name="storm")
    schema.upgrade(engine)
    engine.dispose()
    with psycopg.connect(url) as connection:
        connection.execute(WITNESS)


def _admin(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def _environment(database_url: str, *, sink: SinkProcess, home: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
    return {
        **inherited,
        **SHORT,
        "DATABASE_URL": database_url,
        "SECRET_KEY": "a-key-for-storms-of-enough-length",
        "SMTP_URL": f"smtp://{sink.host}:{sink.port}",
        "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
        "BASE_URL": "http://snoozer.example",
        "SNOOZER_HOME": str(home),
    }
