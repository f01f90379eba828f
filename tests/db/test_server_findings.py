"""What the doctor finds about the database server: each made for real."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.cli import server_findings as doctor
from snoozer.cli.finding import Finding
from snoozer.db.engine import autocommit, make_engine
from snoozer.settings import Settings
from tests.factories import a_snooze

NO_TIME = timedelta(0)
TAKES = "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"


@pytest.fixture(autouse=True)
def vacuumed(engine: Engine) -> None:
    """No dead rows of the tests before: nothing else vacuums this server."""
    with autocommit(engine) as connection:
        connection.execute(text("VACUUM"))


def findings(engine: Engine, settings: Settings, *, alive: int = 1) -> dict[str, Finding]:
    with engine.connect() as connection:
        return {one.check: one for one in doctor.server_findings(connection, settings, workers=alive)}


def test_a_server_without_trouble_is_right(engine: Engine, settings: Settings) -> None:
    found = findings(engine, settings)
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(
        ("connections", "autovacuum", "snapshots"), "right"
    )


def test_processes_that_may_open_more_connections_than_the_server_takes(engine: Engine, settings: Settings) -> None:
    with engine.connect() as connection:
        takes = connection.execute(text(TAKES)).scalar_one()
    enough = (takes - 20) // doctor.PER_WORKER
    assert findings(engine, settings, alive=enough)["connections"].verdict == "right"
    found = findings(engine, settings, alive=enough + 20)["connections"]
    assert found.verdict == "advice"
    assert f"the server takes {takes}" in found.says
    assert "max_connections" in found.do


def test_connections_that_are_nearly_all_in_use(
    engine: Engine, settings: Settings, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "NEARLY_ALL", 0.01)
    web = make_engine(postgres_url, name="web")
    try:
        with web.connect():
            found = findings(engine, settings)["connections"]
    finally:
        web.dispose()
    assert found.verdict == "wrong"


def test_a_table_without_autovacuum(engine: Engine, settings: Settings) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE email_snoozes SET (autovacuum_enabled = false)"))
    try:
        found = findings(engine, settings)["autovacuum"]
        assert (found.verdict, "email_snoozes" in found.says) == ("wrong", True)
    finally:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE email_snoozes RESET (autovacuum_enabled)"))
    assert findings(engine, settings)["autovacuum"].verdict == "right"


def test_dead_rows_that_autovacuum_left(engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MANY_DEAD", 0)
    monkeypatch.setattr(doctor, "TIMES_BEHIND", 0)
    a_snooze(engine)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # Other tests have left dead rows in other tables.
        connection.execute(text("VACUUM"))
        connection.execute(text("UPDATE email_snoozes SET note = 'x'"))
        # A session reports what it did when it ends.
        connection.invalidate()
    found = findings(engine, settings)["autovacuum"]
    assert (found.verdict, "email_snoozes" in found.says) == ("wrong", True)
    assert "VACUUM (ANALYZE)" in found.do


@pytest.fixture
def any_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LONG_HELD", NO_TIME)


@pytest.mark.usefixtures("any_age")
def test_a_snapshot_that_is_held_and_by_whom(
    engine: Engine, settings: Settings, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = make_engine(postgres_url, name="a-long-report")
    with holder.connect() as connection:
        pid, _ = connection.execute(text("SELECT pg_backend_pid(), txid_current()")).one()
        found = findings(engine, settings)["snapshots"]
        assert found.verdict == "advice"
        assert f"session {pid} (snoozer-a-long-report, idle in transaction)" in found.says
        assert f"SELECT pg_terminate_backend({pid});" in found.do
        monkeypatch.setattr(doctor, "TOO_LONG_HELD", NO_TIME)
        assert findings(engine, settings)["snapshots"].verdict == "wrong"
    holder.dispose()


@pytest.fixture
def slot(engine: Engine) -> Iterator[str]:
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_create_physical_replication_slot('forgotten', true)"))
    yield "forgotten"
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_drop_replication_slot('forgotten')"))


def test_a_replication_slot_that_nothing_uses(slot: str, engine: Engine, settings: Settings) -> None:
    found = findings(engine, settings)["snapshots"]
    assert (found.verdict, slot in found.says) == ("wrong", True)
    assert found.do == "SELECT pg_drop_replication_slot('forgotten');"


@pytest.mark.usefixtures("any_age")
def test_a_prepared_transaction_that_was_left(engine: Engine, settings: Settings) -> None:
    with engine.connect() as connection:
        if connection.execute(text("SHOW max_prepared_transactions")).scalar_one() == "0":
            pytest.skip("this server takes no prepared transactions")
        connection.execute(text("SELECT pg_current_xact_id()"))
        connection.execute(text("PREPARE TRANSACTION 'left'"))
    try:
        found = findings(engine, settings)["snapshots"]
        assert (found.verdict, found.do) == ("wrong", "ROLLBACK PREPARED 'left';")
    finally:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ROLLBACK PREPARED 'left'"))
