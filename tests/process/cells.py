"""Two cells, each a whole Snoozer with a host name, keys and a database of its own, behind the door of deploy/cells."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import URL, Engine, NullPool, create_engine, text

from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from tests.factories import People, Person, an_original
from tests.imap.server_process import free_port
from tests.mail_doors import MailDoors
from tests.process.conftest import ROOT, TIMEOUT, Field, Sink, a_sink, wait
from tests.web.live_site import LiveSite, live_site

DOMAIN = "people.example"
FRONT = ROOT / "deploy" / "cells"
PROCESSES = ("worker", "clock", "inbound")
# Processes outlive what a busy machine delays, and a database that is away for a moment.
PATIENT = {"SNOOZER_WORKER_DEAD_SECONDS": "60", "SNOOZER_LEASE_SECONDS": "120"}


@dataclass
class Cell:
    """A Snoozer with its processes; `people` have their accounts here."""

    name: str
    place: Field
    site: LiveSite
    processes: "dict[str, subprocess.Popen[str]]"
    people: list[Person] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        return self.place.engine

    @property
    def base_url(self) -> str:
        return base_url(self.name)

    @property
    def lmtp(self) -> str:
        return f"inet:127.0.0.1:{self.place.settings['SNOOZER_INBOUND_PORT']}"

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> tuple[int, str]:
        """The status and the response of a page of this host."""
        return self.site.request(path, method=method, body=body, host=f"{self.name}.snoozer.example", **headers)

    def doors(self) -> MailDoors:
        """The LMTP server of `snoozer inbound`."""
        port = self.place.settings["SNOOZER_INBOUND_PORT"]
        url = self.engine.url.render_as_string(hide_password=False)
        return MailDoors(self.engine, Settings(DATABASE_URL=url, SNOOZER_INBOUND_PORT=port))

    def deliver(self, *to: str) -> list[str]:
        return self.doors().deliver(an_original(), *to)

    def join(self, email: str) -> Person:
        """An account here."""
        self.people.append(People(self.engine).ann(email))
        return self.people[-1]

    def come_due(self, rows: int = 1) -> list[int]:
        """New snoozes of each person that are due."""
        insert = text(
            "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
            "SELECT email, '<' || gen_random_uuid() || '@mail.example>', now() "
            "FROM unnest(CAST(:emails AS text[])) AS email, generate_series(1, :rows) RETURNING id"
        )
        emails = [person.email for person in self.people]
        with self.engine.begin() as connection:
            return list(connection.execute(insert, {"emails": emails, "rows": rows}).scalars())

    def has_sent(self, ids: Sequence[int]) -> bool:
        rows = text("SELECT count(*) FROM email_snoozes WHERE id = ANY(:ids) AND outcome = 'sent'")
        with self.engine.connect() as connection:
            return bool(connection.execute(rows, {"ids": list(ids)}).scalar_one() == len(ids))

    def sends_new(self) -> None:
        """Returns once rows that come due now are mailed."""
        ids = self.come_due()
        wait(lambda: self.has_sent(ids))

    def stop(self) -> None:
        """Stop every process but the web."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.communicate(timeout=TIMEOUT)
        self.processes.clear()

    def ready(self) -> int:
        return self.ask("/readyz")[0]


@dataclass
class Door:
    """The processes of deploy/cells/front.py: the page, and the socketmap for Postfix."""

    environment: dict[str, str]
    site: LiveSite | None = None
    port: int = 0
    processes: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def open(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            number = listener.fileno()
            gunicorn = [
                "gunicorn",
                "--preload",
                "--threads",
                "4",
                "--bind",
                f"fd://{number}",
                "front:from_environment()",
            ]
            web = self._start(gunicorn, pass_fds=(number,))
            self.site = LiveSite(port=listener.getsockname()[1], log=Path(os.devnull), pid=web.pid)
        started = subprocess.Popen(
            [sys.executable, "front.py", "socketmap", "--port", "0"],
            cwd=FRONT, env=self.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.processes.append(started)
        assert started.stdout is not None
        self.port = int(started.stdout.readline().rpartition(":")[2].strip(".\n"))

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
            process.communicate(timeout=TIMEOUT)
        self.processes.clear()

    def run(self, *command: str, given: str = "") -> str:
        front = [sys.executable, "front.py", *command]
        ended = subprocess.run(
            front, cwd=FRONT, env=self.environment, input=given, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def lead(self, email: str) -> str:
        """Where the page leads an address that was typed."""
        assert self.site is not None
        status, response = self.site.request(
            "/",
            method="POST",
            body=urlencode({"email": email}).encode(),
            content_type="application/x-www-form-urlencoded",
        )
        found = re.search(r"^Location: (\S+)", response, re.MULTILINE)
        assert (status, bool(found)) == (303, True), response
        assert found is not None
        return found[1]

    def transport(self, address: str) -> str:
        """The reply to this question of Postfix."""
        question = f"cells {address}".encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT) as connection:
            connection.sendall(b"%d:%s," % (len(question), question))
            connection.shutdown(socket.SHUT_WR)
            reply = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        length, _, text = reply.partition(":")
        assert text == f"{text[: int(length)]},"
        return text[:-1]

    def _start(self, command: list[str], *, pass_fds: tuple[int, ...] = ()) -> "subprocess.Popen[str]":
        module = [sys.executable, "-m", *command]
        self.processes.append(subprocess.Popen(module, cwd=FRONT, env=self.environment, pass_fds=pass_fds, text=True))
        return self.processes[-1]


@dataclass(frozen=True)
class Cells:
    a: Cell
    b: Cell
    door: Door
    sink: Sink

    def of(self, email: str) -> Cell:
        """The cell to which the door leads this address."""
        [cell] = [each for each in (self.a, self.b) if self.door.lead(email).startswith(f"{each.base_url}/")]
        return cell


def base_url(name: str) -> str:
    return f"http://{name}.snoozer.example"


@contextmanager
def two_cells(server: URL, folder: Path) -> Iterator[Cells]:
    """Everything runs and is well; all of it ends with the block."""
    with ExitStack() as stack:
        sink = stack.enter_context(a_sink(folder / "accepted.jsonl"))
        a, b = (stack.enter_context(_a_cell(server, name, sink, folder)) for name in ("a", "b"))
        door = Door(_configuration(folder, [a, b]))
        stack.callback(door.close)
        door.open()
        wait(lambda: (a.ready(), b.ready()) == (200, 200))
        yield Cells(a, b, door, sink)


@contextmanager
def _a_cell(server: URL, name: str, sink: Sink, folder: Path) -> Iterator[Cell]:
    home = folder / name
    home.mkdir()
    settings = {
        **PATIENT,
        "SECRET_KEY": f"a-key-of-cell-{name}-of-enough-length",
        "BASE_URL": base_url(name),
        "SNOOZER_INBOUND_DOMAIN": f"{name}.snooze.example.org",
        "MAIL_FROM": f"Snoozer <snoozer@{name}.snoozer.example>",
        "SNOOZER_INBOUND_PORT": str(free_port()),
        "SNOOZER_FRONT_DOOR_URL": "http://snoozer.example",
    }
    with _a_database(server, f"cell_{name}") as engine, ExitStack() as stack:
        place = Field(engine, sink, home, settings)
        stack.callback(place.end)
        migrated = place.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
        url = engine.url.render_as_string(hide_password=False)
        site = stack.enter_context(live_site(url, home, **settings))
        cell = Cell(name, place, site, {process: place.start(process) for process in PROCESSES})
        stack.callback(cell.stop)
        yield cell


@contextmanager
def _a_database(server: URL, name: str) -> Iterator[Engine]:
    patient = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with patient.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))
    engine = make_engine(server.set(database=name).render_as_string(hide_password=False), name="tests")
    yield engine
    engine.dispose()
    with patient.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def _configuration(folder: Path, cells: Sequence[Cell]) -> dict[str, str]:
    lines = [f'domains = ["{DOMAIN}"]', 'separator = "+"']
    for cell in cells:
        lines += [f"[cells.{cell.name}]", f'base_url = "{cell.base_url}"', f'lmtp = "{cell.lmtp}"']
    (folder / "cells.toml").write_text("\n".join(lines))
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "FRONT_CELLS": str(folder / "cells.toml"),
        "FRONT_DIRECTORY": str(folder / "directory.sqlite"),
        "FRONT_SECRET_KEY": "the-key-of-the-door-of-enough-length",
    }
