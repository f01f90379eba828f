"""The schema upgrades, models agree with migrations, and an INSERT of three columns is a snooze."""

import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, OperationalError

from snoozer import resources
from snoozer.db import health_checks, pending, schema
from snoozer.db.models import metadata
from snoozer.queue.limits import DEFAULT_MAX_ATTEMPTS
from snoozer.resources import resource_folder
from tests.factories import a_snooze, now, the_row, wait_until_a_session_waits

FIRST = "0077"
NEXT = """
from alembic import op

revision, down_revision = "9998", "{head}"


def upgrade():
    op.execute("LOCK TABLE email_snoozes IN SHARE ROW EXCLUSIVE MODE")
    op.execute("ALTER TABLE email_snoozes ADD COLUMN next INTEGER")
"""


@pytest.fixture
def empty(migrated: Engine) -> Iterator[Engine]:
    """A database beside the tests' own, with nothing in it."""
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE IF EXISTS updown"))
        connection.execute(text("CREATE DATABASE updown"))
    engine = create_engine(make_url(migrated.url).set(database="updown"))
    yield engine
    engine.dispose()
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE updown WITH (FORCE)"))


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more migration, which takes a weak lock before a strong one."""
    folder = Path(shutil.copytree(resource_folder("migrations"), tmp_path / "migrations"))
    (folder / "versions" / "9998_next.py").write_text(NEXT.format(head=ScriptDirectory(str(folder)).get_current_head()))
    monkeypatch.setattr(resources, "resource_folder", lambda name: folder if name == "migrations" else None)


def test_models_agree_with_migrations(migrated: Engine) -> None:
    with migrated.connect() as connection:
        opts = {"compare_type": True, "compare_server_default": True, "include_name": _is_no_month}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, metadata) == []


def test_upgrading_twice_changes_nothing(migrated: Engine) -> None:
    schema.upgrade(migrated)
    with migrated.connect() as connection:
        current, head = schema.versions(connection)
    assert current == head


def test_a_second_upgrade_waits_for_the_first_however_long_it_takes(empty: Engine) -> None:
    """The second of two ended after the seconds that any statement has, while the first was still at work."""
    brief = create_engine(empty.url, connect_args={"options": "-c statement_timeout=100ms -c lock_timeout=100ms"})
    waits = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND query_start < clock_timestamp() - INTERVAL '300 ms'"
    )
    with ThreadPoolExecutor(1) as another, empty.connect() as watcher:
        with empty.begin() as first:
            first.execute(text("SELECT pg_advisory_xact_lock(7266837001)"))
            upgrading = another.submit(schema.upgrade, brief)
            while not upgrading.done() and not watcher.execute(waits).scalar_one():
                watcher.rollback()
                time.sleep(0.01)
        upgrading.result()
    brief.dispose()
    with empty.connect() as connection:
        current, head = schema.versions(connection)
    assert current == head


@pytest.mark.usefixtures("next_release")
@pytest.mark.parametrize(
    ("first", "then"),
    [
        # A claim reads, then writes. The upgrade held a trigger's lock, which lets others read, and waited for more.
        ("SELECT FROM email_snoozes", "UPDATE email_snoozes SET updated_at = now()"),
        # The upgrade locks `messages` after the queue. A person had to run `snoozer migrate` again after a deadlock.
        ("LOCK TABLE messages IN ROW EXCLUSIVE MODE", "LOCK TABLE email_snoozes IN ROW EXCLUSIVE MODE"),
    ],
    ids=["a claim", "another order of tables"],
)
def test_an_upgrade_does_not_deadlock_with_a_worker(empty: Engine, first: str, then: str) -> None:
    schema.upgrade(empty, revision=FIRST)
    with ThreadPoolExecutor(1) as another, empty.connect() as worker:
        with worker.begin():
            worker.execute(text(first))
            upgrading = another.submit(schema.upgrade, empty)
            wait_until_a_session_waits(empty)
            worker.execute(text(then))
        upgrading.result()
    with empty.connect() as connection:
        current, head = schema.versions(connection)
    assert current == head


def test_an_upgrade_that_gets_no_lock_gives_up_and_changes_nothing(empty: Engine) -> None:
    schema.upgrade(empty, revision=FIRST)
    printed: list[str] = []
    with empty.begin() as reader:
        reader.execute(text("LOCK TABLE email_snoozes IN ACCESS SHARE MODE"))
        with pytest.raises(OperationalError, match="lock timeout"):
            schema.upgrade(empty, report=printed.append, within=4)
    assert printed
    with empty.connect() as connection:
        assert schema.versions(connection)[0] == FIRST


def test_an_index_that_was_not_made_to_its_end_is_made_again(empty: Engine) -> None:
    """CREATE INDEX CONCURRENTLY leaves an unusable one when it is interrupted, and IF NOT EXISTS keeps that."""
    schema.upgrade(empty, revision=FIRST)
    half = "CREATE UNIQUE INDEX CONCURRENTLY ix_email_snoozes_of_message ON email_snoozes (priority)"
    with empty.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        rows = "SELECT 'ann@snoozer.example', '<' || n || '>', now(), 0 FROM generate_series(1, 2) AS n"
        connection.execute(text(f"INSERT INTO email_snoozes (user_email, message_id, remind_at, bucket) {rows}"))
        with pytest.raises(IntegrityError):
            connection.execute(text(half))
    schema.upgrade(empty)
    with empty.connect() as connection:
        index = connection.execute(text("SELECT pg_get_indexdef('ix_email_snoozes_of_message'::regclass)")).scalar_one()
        assert "md5" in index
        assert health_checks.unusable_indexes(connection) == []


def test_large_indexes_are_made_while_others_write(empty: Engine) -> None:
    """An upgrade from 1.0.0 kept others waiting for as long as its indexes took."""
    schema.upgrade(empty, revision=FIRST)
    with empty.connect() as connection:
        found = pending.migrations(connection)
    assert [change.table for one in found for change in one.first] == ["email_snoozes", "snooze_events"]
    seen: list[bool] = []

    @event.listens_for(empty, "before_cursor_execute")
    def write(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if "CONCURRENTLY IF NOT" in statement:
            with empty.begin() as other:
                row = "VALUES ('ann@snoozer.example', gen_random_uuid()::text, now(), 0)"
                other.execute(text("SET LOCAL lock_timeout = '1s'"))
                other.execute(text(f"INSERT INTO email_snoozes (user_email, message_id, remind_at, bucket) {row}"))
            seen.append(True)

    schema.upgrade(empty)
    assert seen == [True, True]


def test_what_runs_with_its_owners_rights_finds_names_in_one_schema_only(migrated: Engine) -> None:
    """Others may create a table or a function of the same name in a schema of theirs, or a temporary one."""
    functions = text(
        "SELECT proname, "
        "COALESCE(format('search_path=%s, pg_temp', current_schema()) = ANY(proconfig), FALSE) AS is_safe "
        "FROM pg_proc WHERE prosecdef AND pronamespace = current_schema()::regnamespace"
    )
    with migrated.connect() as connection:
        found = connection.execute(functions).all()
        assert {"email_snoozes_inserted", "email_snoozes_deleted"} <= {row.proname for row in found}
        assert [row.proname for row in found if not row.is_safe] == []
        connection.execute(text("CREATE FUNCTION careless() RETURNS INT LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"))
        assert [row.proname for row in connection.execute(functions) if not row.is_safe] == ["careless"]
        connection.rollback()


def test_an_insert_of_three_columns_is_a_whole_snooze(engine: Engine) -> None:
    with engine.begin() as connection:
        id = connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "VALUES ('ann@snoozer.example', '<1@mail.example>', now()) RETURNING id"
            )
        ).scalar_one()
    row = the_row(engine, id)
    assert (row.attempts, row.max_attempts, row.inactive, row.crash_count) == (0, DEFAULT_MAX_ATTEMPTS, False, 0)
    assert 0 <= row.bucket <= 1023


def test_the_bucket_is_the_same_wherever_it_is_computed(engine: Engine) -> None:
    with engine.connect() as connection:
        bucket = connection.execute(text("SELECT snooze_bucket('ann@snoozer.example')")).scalar_one()
    assert the_row(engine, a_snooze(engine)).bucket == bucket


def test_unpausing_with_a_careless_update_does_not_resurrect_a_sent_snooze(engine: Engine) -> None:
    id = a_snooze(engine, inactive=True, outcome="sent", finished_at=now())
    with pytest.raises(IntegrityError, match="finished_is_inactive"), engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET inactive = FALSE WHERE id = :id"), {"id": id})


@pytest.mark.parametrize(
    "columns",
    [
        {"claimed_by": "w"},
        {"attempts": -1},
        {"max_attempts": 0},
        {"priority": 1001},
        {"priority": -1001},
        {"outcome": "lost", "inactive": True, "finished_at": now()},
        {"outcome": "sent", "inactive": True},
        {"user_email": ""},
        {"message_id": ""},
        {"inactive": True, "claimed_at": now()},
        {"wall_time": "infinity"},
        {"wall_time": "0044-03-15 09:00 BC"},
        {"recurrence": "1"},
        {"recurrence": "[]"},
        {"outcome": "sent", "inactive": True, "finished_at": "infinity"},
        {"outcome": "sent", "inactive": True, "finished_at": "-infinity"},
        {"created_at": "0044-03-15 09:00 BC"},
        {"last_error_at": "1969-12-31 00:00+00"},
    ],
)
def test_a_row_that_breaks_an_invariant_is_refused(engine: Engine, columns: dict[str, object]) -> None:
    with pytest.raises(IntegrityError):
        a_snooze(engine, **columns)


@pytest.mark.parametrize(("column", "most"), [("user_email", 254), ("message_id", 998), ("serialization_key", 998)])
def test_a_text_too_long_for_the_ledgers_index_is_refused_by_name(engine: Engine, column: str, most: int) -> None:
    longest = "€" * (most // 3) + "x" * (most % 3)
    a_snooze(engine, **{column: longest})
    with pytest.raises(IntegrityError, match="ck_email_snoozes_texts_fit") as refused:
        a_snooze(engine, **{column: longest[:-1] + "é"})
    diagnosis = refused.value.orig.diag  # type: ignore[union-attr]
    assert (diagnosis.constraint_name, diagnosis.table_name) == ("ck_email_snoozes_texts_fit", "email_snoozes")
    assert f"{column} {most + 1}" in diagnosis.message_detail
    assert "€" not in str(refused.value)


def test_a_message_is_asleep_once_for_a_person(engine: Engine) -> None:
    a_snooze(engine, message_id="<same@mail.example>")
    a_snooze(engine, message_id="<same@mail.example>", inactive=True)
    a_snooze(engine, message_id="<same@mail.example>", user_email="bob@snoozer.example")
    with pytest.raises(IntegrityError, match="uq_email_snoozes_live"):
        a_snooze(engine, message_id="<same@mail.example>")


def _is_no_month(name: str | None, *_: object) -> bool:
    """The archive's partitions are made by the clock, not by a migration."""
    return re.search(r"_archive_\d{4}_\d{2}$", name or "") is None


def test_the_newest_revision_is_the_one_that_alembic_would_upgrade_to(migrated: Engine) -> None:
    scripts = ScriptDirectory(str(resource_folder("migrations")))
    with migrated.connect() as connection:
        assert schema.versions(connection) == (scripts.get_current_head(), scripts.get_current_head())


@pytest.mark.usefixtures("next_release")
def test_a_revision_of_this_release_is_behind_an_earlier_one_unreleased_and_any_other_ahead(empty: Engine) -> None:
    with empty.connect() as connection:
        assert schema.status(connection).where == "nothing there"
    schema.upgrade(empty, revision=FIRST)
    for revision, where in ((FIRST, "behind"), ("0042", "unreleased"), ("9999", "ahead"), ("9998", "at head")):
        with empty.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
            assert schema.status(connection).where == where


def test_a_database_of_an_unreleased_state_is_left_as_it_is(empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('0042')"))
    with pytest.raises(schema.SchemaError, match="before the first release"):
        schema.upgrade(empty)
    assert inspect(empty).get_table_names() == ["alembic_version"]


def test_what_runs_with_its_owners_rights_is_called_by_triggers_and_the_owner_only(migrated: Engine) -> None:
    """A role that may run it by hand has the owner's rights."""
    public = text(
        "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = current_schema()::regnamespace"
        " AND prorettype <> 'trigger'::regtype AND has_function_privilege('public', oid, 'EXECUTE')"
    )
    with migrated.connect() as connection:
        assert connection.execute(public).scalars().all() == []
