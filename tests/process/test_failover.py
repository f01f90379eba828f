"""A standby that forgot the last commits is promoted: workers wait, people decide, and then the rest is sent."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.dev.postgres import Postgres
from snoozer.dev.processes import database_reaper
from tests.api_sites import a_script
from tests.conftest import missing
from tests.factories import HOUR, a_snooze, now, the_row
from tests.process.conftest import ROOT, TIMEOUT, Field, Sink, wait


class Standby:
    """A server of its own, which becomes a standby and is promoted."""

    def __init__(self, make: Callable[[], Postgres]) -> None:
        self._make = make
        self._server = make()
        self.url = self._server.start()

    def promote(self) -> None:
        self._server.stop()
        (self._server.data / "standby.signal").touch()
        self._server = self._make()
        with psycopg.connect(self._server.start(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote(TRUE, 60)")

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def standby(open_folder: Path) -> Iterator[Standby]:
    wanted = os.environ.get("SNOOZER_PG_BIN")
    with database_reaper() as register:
        standby = Standby(
            lambda: Postgres(
                open_folder, wanted=Path(wanted) if wanted else None, shared=open_folder / "shared", on_launch=register
            )
        )
        yield standby
        standby.stop()


@pytest.fixture
def place(standby: Standby, sink: Sink, tmp_path: Path) -> Iterator[Field]:
    engine = make_engine(parse_url(standby.url), name="tests")
    schema.upgrade(engine)
    yield Field(engine=engine, sink=sink, home=tmp_path / "home")
    engine.dispose()


def test_after_a_promotion_nothing_is_sent_until_people_have_decided(place: Field, standby: Standby) -> None:
    due = a_snooze(place.engine)
    repeats = a_snooze(place.engine, recurrence={"every": "day"})
    place.engine.dispose()
    standby.promote()
    worker = place.start("worker")
    try:
        assert worker.stderr is not None
        line = next(line for line in worker.stderr if "nothing is claimed" in line)
        assert "a standby was promoted" in line
        report = json.loads(place.run("doctor", "--json").stdout)
        [finding] = [check for check in report["checks"] if check["check"] == "timeline"]
        assert finding["verdict"] == "wrong"
        until = (now() + HOUR).isoformat()
        listed = place.run("restored", "--until", until).stdout.splitlines()
        assert [int(line.split()[0]) for line in listed] == [due, repeats]
        assert [the_row(place.engine, id).claimed_at for id in (due, repeats)] == [None, None]
        applied = place.run("restored", "--until", until, "--apply")
        assert applied.stdout.splitlines() == listed
        wait(lambda: len(place.sink.accepted()) == 1)
    finally:
        worker.terminate()
        worker.communicate(timeout=TIMEOUT)
    assert the_row(place.engine, due).outcome == "retired"
    assert the_row(place.engine, repeats).scheduled_for is not None


def test_workers_go_on_where_a_failover_forgets_nothing(place: Field, standby: Standby) -> None:
    """Because the setting says so, or because an operator has accepted it."""
    by_setting, by_operator = a_snooze(place.engine), a_snooze(place.engine, remind_at=now() + HOUR)
    place.engine.dispose()
    standby.promote()
    place.run("worker", "--drain", SNOOZER_FAILOVER="continue")
    assert place.is_sent(by_setting)
    with place.engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() WHERE id = :id"), {"id": by_operator})
    assert place.run("restored").returncode == 2
    assert place.run("restored", "--accept").returncode == 0
    place.run("worker", "--drain")
    assert place.is_sent(by_operator)


@pytest.mark.parametrize(
    ("mode", "role", "reason"),
    [
        ("true", "replica", ""),
        ("false", "primary", "the cluster is not synchronous"),
        ('"quorum"', "primary", "as after a restore"),
    ],
    ids=["demoted", "asynchronous", "restored"],
)
def test_the_callback_of_patroni_accepts_nothing_that_may_have_been_forgotten(
    place: Field, standby: Standby, mode: str, role: str, reason: str
) -> None:
    """The standby here was promoted without a commit from any primary, like a backup that was restored."""
    if shutil.which("curl") is None or shutil.which("psql") is None:
        missing("curl or psql")
    place.engine.dispose()
    standby.promote()
    file = place.home.parent / "patroni.env"
    file.write_text(f"DATABASE_URL={standby.url}\n")
    with a_script((200, {}, f'{{"ttl": 7, "synchronous_mode": {mode}}}'.encode())) as patroni:
        script = ROOT / "deploy" / "patroni" / "accept.sh"
        command = [str(script), patroni.url, str(file), "on_role_change", role, "snoozer"]
        ended = subprocess.run(
            command, env=os.environ | {"SNOOZER": "/bin/false"}, capture_output=True, text=True, check=False
        )
    assert (ended.returncode, reason in ended.stderr) == (1 if reason else 0, True), ended.stderr
