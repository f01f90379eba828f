"""A role lost its rights: processes ask seldom, stop when asked, and what is refused is on the overview."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.db import overview, schema
from snoozer.db.engine import make_engine
from snoozer.dev.ports import any_free
from tests.factories import a_snooze
from tests.process.cli.running import run_command
from tests.process.conftest import TIMEOUT, Field, Sink, wait

ROLE = "snoozer_refused_process"
# The defaults of the product, because the test measures how often it asks.
DEFAULTS = {
    "SNOOZER_SWEEP_SECONDS": "5",
    "SNOOZER_POLL_SECONDS": "1",
    "SNOOZER_HEARTBEAT_SECONDS": "3",
    "SNOOZER_WORKER_DEAD_SECONDS": "10",
    "SNOOZER_LEASE_SECONDS": "90",
    "SNOOZER_BACKOFF_SECONDS": "30",
}
REFUSED = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
# The first seconds are left out, because the clock tries each chore once before it pauses.
FIRST_SECONDS, MEASURED_SECONDS, MOST_A_SECOND = 3.0, 5.0, 8
# Shorter than any host waits before it kills.
STOPPED_SECONDS = 9.0


@pytest.fixture
def app(engine: Engine) -> Iterator[Engine]:
    """The way of a role that was granted the least."""
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'refused'"))
    schema.grant(engine, role=ROLE)
    url = engine.url.set(username=ROLE, password="refused").render_as_string(hide_password=False)
    app = make_engine(url, name="refused")
    yield app
    app.dispose()
    with engine.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {ROLE}"))
        connection.execute(text(f"DROP ROLE {ROLE}"))


@pytest.fixture
def refused_place(app: Engine, sink: Sink, tmp_path: Path) -> Iterator[Field]:
    settings = DEFAULTS | {"SNOOZER_INBOUND_PORT": str(any_free())}
    place = replace(Field(engine=app, sink=sink, home=tmp_path / "home"), settings=settings)
    yield place
    place.end()


def refused(engine: Engine) -> int:
    """How many transactions were rolled back, by the server's count."""
    with engine.connect() as connection:
        return int(connection.execute(text(REFUSED)).scalar_one())


@pytest.mark.parametrize("command", ["worker", "clock", "mailbox", "inbound"])
def test_a_process_that_lost_every_right_asks_seldom_and_stops_when_asked(
    command: str, engine: Engine, refused_place: Field
) -> None:
    """A statement was refused 38 times a second, by a process that SIGTERM did not end."""
    a_snooze(engine)
    process = refused_place.start(command)
    wait(lambda: sessions(engine) > 0)
    with engine.begin() as connection:
        connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {ROLE}"))
        connection.execute(text(f"GRANT SELECT ON alembic_version TO {ROLE}"))
    time.sleep(FIRST_SECONDS)
    before = refused(engine)
    time.sleep(MEASURED_SECONDS)
    asked = refused(engine) - before
    assert asked <= MOST_A_SECOND * MEASURED_SECONDS, asked
    began = time.monotonic()
    process.terminate()
    _, errors = process.communicate(timeout=TIMEOUT)
    # A worker has ended by then, and is started again by what keeps it running.
    assert (process.returncode, time.monotonic() - began < STOPPED_SECONDS) in {(0, True), (2, True)}, errors
    assert "Traceback" not in errors


def sessions(engine: Engine) -> int:
    with engine.connect() as connection:
        found = text("SELECT count(*) FROM pg_stat_activity WHERE usename = :role")
        return int(connection.execute(found, {"role": ROLE}).scalar_one())


def refusals(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(overview.clock(connection).refused)


def test_a_refused_chore_is_named_at_once_and_not_after_it_is_allowed(
    engine: Engine, refused_place: Field, tmp_path: Path
) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"REVOKE INSERT ON queue_minutes FROM {ROLE}"))
        connection.execute(text("INSERT INTO housekeeping_runs VALUES ('refused: long ago', now())"))
    clock = refused_place.start("clock")
    wait(lambda: refusals(engine) == ["minutes"])
    doctor = run_command("doctor", engine=engine, home=tmp_path)
    assert re.search(r"The database has refused for 0\s+min: minutes", doctor.stdout), doctor.stdout
    clock.terminate()
    clock.communicate(timeout=TIMEOUT)
    schema.grant(engine)
    clock = refused_place.start("clock")
    wait(lambda: not refusals(engine))
    clock.terminate()
    clock.communicate(timeout=TIMEOUT)
