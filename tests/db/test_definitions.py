"""Functions, triggers and views are as their files define them; a change by hand is found, and `migrate` undoes it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from snoozer.db import definitions, schema
from tests.db.schema_file import dumped


@pytest.fixture
def database(migrated: Engine) -> Iterator[Engine]:
    """A database of its own, whose definitions may be broken."""
    admin = migrated.execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS defined WITH (FORCE)"))
        connection.execute(text("CREATE DATABASE defined"))
    engine = create_engine(make_url(migrated.url).set(database="defined"))
    schema.upgrade(engine)
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE defined WITH (FORCE)"))


def changed(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(definitions.changed(connection))


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        (
            "CREATE OR REPLACE FUNCTION snooze_bucket(user_email text) RETURNS smallint IMMUTABLE LANGUAGE sql "
            "AS 'SELECT 1::smallint'",
            "snooze_bucket",
        ),
        ("ALTER FUNCTION audit_log_append() RESET search_path", "audit_log_append"),
        ("ALTER TABLE email_snoozes DISABLE TRIGGER email_snoozes_promise", "email_snoozes_promise"),
        ("DROP TRIGGER reminder_sends_push_return ON reminder_sends", "reminder_sends_push"),
        ("DROP VIEW invariant_due_is_taken", "invariant_due_is_taken"),
        ("CREATE OR REPLACE VIEW invariant_sent_stays_sent AS SELECT 1::bigint AS snooze_id, 1::bigint AS send_id, "
         "clock_timestamp() AS since, ''::text AS what", "invariant_sent_stays_sent"),
    ],
)  # fmt: skip
def test_what_was_changed_by_hand_is_named_and_made_again(database: Engine, statement: str, name: str) -> None:
    before = dumped(database)
    assert changed(database) == []
    with database.begin() as connection:
        connection.execute(text(statement))
    assert changed(database) == [name]
    schema.upgrade(database)
    assert changed(database) == []
    assert dumped(database) == before


def test_a_changed_file_is_made(database: Engine) -> None:
    with database.begin() as connection:
        connection.execute(text("UPDATE definitions SET source = 'of another release' WHERE name = 'snooze_state'"))
    assert changed(database) == ["snooze_state"]
    schema.upgrade(database)
    assert changed(database) == []


def test_what_is_unchanged_takes_no_lock(database: Engine) -> None:
    with database.begin() as writer:
        writer.execute(text("LOCK TABLE email_snoozes, reminder_sends IN ROW EXCLUSIVE MODE"))
        schema.upgrade(database)


def test_functions_with_rights_of_their_own_use_the_schema_of_the_tables(migrated: Engine) -> None:
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS elsewhere CASCADE"))
        connection.execute(text("CREATE SCHEMA elsewhere"))
    engine = create_engine(migrated.url, connect_args={"options": "-csearch_path=elsewhere"})
    try:
        schema.upgrade(engine)
        assert changed(engine) == []
        with engine.connect() as connection:
            paths = connection.execute(
                text(
                    "SELECT DISTINCT setting FROM pg_proc, unnest(proconfig) AS setting "
                    "WHERE pronamespace = 'elsewhere'::regnamespace AND setting LIKE 'search_path=%'"
                )
            ).scalars()
            assert list(paths) == ["search_path=elsewhere, pg_temp"]
    finally:
        engine.dispose()
        with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("DROP SCHEMA elsewhere CASCADE"))


def test_a_definition_of_an_earlier_release_is_forgotten(database: Engine) -> None:
    with database.begin() as connection:
        connection.execute(text("INSERT INTO definitions VALUES ('snooze_of_old', 'a', 'b')"))
    schema.upgrade(database)
    with database.connect() as connection:
        assert connection.execute(text("SELECT name FROM definitions WHERE name = 'snooze_of_old'")).first() is None
