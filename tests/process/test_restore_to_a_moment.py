"""docs/keeping.md, run: a database that is brought back to a moment sends again only what its report names."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.dev import binaries
from snoozer.dev.postgres import Postgres
from tests.conftest import missing
from tests.factories import HOUR, a_snooze, now, the_row
from tests.process.conftest import ROOT, Field, Sink, wait

PAGE = (ROOT / "docs" / "keeping.md").read_text(encoding="utf-8")
PROGRAMS = ("psql", "pg_basebackup")
TIMEOUT = 120.0
# Longer than any poll of a worker that waits.
WAITING_SECONDS = 2.0


def lines_of(begin: str) -> list[str]:
    """The lines of the page's block that begins so."""
    found = re.search(rf"^```\n({re.escape(begin)}.*?)^```$", PAGE, re.M | re.S)
    assert found, begin
    return found[1].splitlines()


@dataclass
class Server:
    """A server whose page of the manual is typed by its own account."""

    postgres: Postgres
    backup: Path

    def type(self, lines: Sequence[str], **more: str) -> None:
        chosen = binaries.find(wanted=self.postgres.wanted)
        programs = binaries.reachable(chosen, account=binaries.server_account(), shared=self.postgres.shared)
        environment = {
            "PATH": f"{programs.folder}:{os.environ['PATH']}",
            "DATABASE_URL": self.postgres.url,
            "BACKUP": str(self.backup),
            "PGDATA": str(self.postgres.data),
            **more,
        }
        script = "set -e\n" + "\n".join(lines)
        run_as = binaries.server_account().run_as
        subprocess.run(["sh", "-c", script], env=environment, check=True, timeout=TIMEOUT, **run_as)

    def stop(self) -> None:
        self.postgres.stop()

    def start(self) -> None:
        """Start it again, on the same port."""
        self.postgres = replace(self.postgres)
        self.postgres.start()


@pytest.fixture
def server() -> Iterator[Server]:
    wanted = os.environ.get("SNOOZER_PG_BIN")
    place = binaries.find(wanted=Path(wanted) if wanted else None).folder
    for program in PROGRAMS:
        if not (place / program).exists():
            missing(program)
    # Not in pytest's folder, which the server's account cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="snoozer-moment-"))
    home, backup = folder / "home", folder / "backup"
    for each in (folder, home, backup):
        each.mkdir(exist_ok=True)
        each.chmod(0o755)
    binaries.server_account().own(backup)
    postgres = Postgres(home, wanted=Path(wanted) if wanted else None, shared=home / "shared")
    server = Server(postgres, backup)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def its_engine(server: Server) -> Iterator[Engine]:
    engine = make_engine(parse_url(server.postgres.url), name="tests")
    schema.upgrade(engine)
    yield engine
    engine.dispose()


def test_a_moment_is_restored_and_the_report_equals_the_mail_servers_log(
    server: Server, its_engine: Engine, sink: Sink, tmp_path: Path
) -> None:
    place = Field(engine=its_engine, sink=sink, home=tmp_path / "home")
    server.type(lines_of('mkdir -p "$BACKUP/wal"'))
    server.stop()
    server.start()
    sent_before_copy = some(its_engine, 3)
    drain(place)
    server.type(lines_of("pg_basebackup"))
    sent_after_copy = some(its_engine, 3)
    drain(place)
    sent_after_moment, never_sent = some(its_engine, 5), some(its_engine, 2)
    later = a_snooze(its_engine, remind_at=now() + HOUR)
    moment = now()
    time.sleep(0.1)
    sent_count = len(sink.accepted())
    forgotten = some(its_engine, 2)
    with its_engine.begin() as connection:
        away = now() + timedelta(days=1)
        postpone = text("UPDATE email_snoozes SET remind_at = :away WHERE id = ANY(:ids)")
        connection.execute(postpone, {"away": away, "ids": never_sent})
    drain(place)
    stopped = now()
    since = {mail["message_id"]: mail["in_reply_to"] for mail in sink.accepted()[sent_count:]}
    assert len(since) == len(sent_after_moment) + len(forgotten)
    forgotten_messages = {the_row(its_engine, id).message_id for id in forgotten}
    with its_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("SELECT pg_switch_wal()"))
    its_engine.dispose()
    server.stop()
    server.type(lines_of('mv "$PGDATA"'), MOMENT=moment.isoformat(sep=" "))
    server.start()
    wait(lambda: takes_writes(its_engine))

    worker = place.start("worker")
    before = len(sink.accepted())
    time.sleep(WAITING_SECONDS)
    assert (worker.poll(), len(sink.accepted())) == (None, before)
    report, apply = lines_of('snoozer restored --until "$STOPPED"')
    listed = run_line(place, report, STOPPED=stopped.isoformat(), MAIL_LOG=str(sink.path))
    ids = {int(line.split()[0]): line.split()[2] for line in listed.splitlines()}
    assert sorted(ids) == sorted(sent_after_moment)
    # The report lists each mail since the moment whose row is in the restored database, and no other row.
    assert set(ids.values()) == {name for name, of in since.items() if of not in forgotten_messages}
    assert run_line(place, apply, STOPPED=stopped.isoformat(), MAIL_LOG=str(sink.path)) == listed
    wait(lambda: all(place.is_sent(id) for id in never_sent))
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert [the_row(its_engine, id).outcome for id in sent_after_moment] == ["retired"] * len(sent_after_moment)
    assert all(place.is_sent(id) for id in [*sent_before_copy, *sent_after_copy])
    assert the_row(its_engine, later).outcome is None
    names = [mail["message_id"] for mail in sink.accepted()]
    assert len(names) == len(set(names))


def some(engine: Engine, count: int) -> list[int]:
    return [a_snooze(engine) for _ in range(count)]


def drain(place: Field) -> None:
    ended = place.run("worker", "--drain")
    assert ended.returncode == 0, ended.stderr


def takes_writes(engine: Engine) -> bool:
    with engine.connect() as connection:
        return not connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one()


def run_line(place: Field, line: str, **variables: str) -> str:
    words = line.split()[1:]
    ended = place.run(*(variables.get(word.strip('"$'), word) for word in words))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
