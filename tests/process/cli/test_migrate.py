"""A schema that is not the one of this release: every command reports it in the same sentence and ends in 2."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from tests.process.cli.running import refusal, run_command


def test_a_release_that_is_rolled_back_reports_that_it_is_too_old(empty_database: Engine, tmp_path: Path) -> None:
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    sentence = refusal("migrate", engine=empty_database, home=tmp_path)
    assert "at 9999, and this Snoozer is older" in sentence
    assert "snoozer migrate" not in sentence
    doctor = run_command("doctor", engine=empty_database, home=tmp_path)
    assert doctor.returncode == 1
    assert "this Snoozer is older" in doctor.stdout
    assert "Run the release of Snoozer that belongs to it" in doctor.stdout
    assert "`snoozer migrate`" not in doctor.stdout


def test_an_old_schema_and_an_empty_database_are_reported_differently(empty_database: Engine, tmp_path: Path) -> None:
    sentence = refusal("worker", "--drain", engine=empty_database, home=tmp_path)
    assert "no tables of Snoozer yet; run `snoozer migrate`" in sentence
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("DROP TABLE email_snoozes, accounts CASCADE"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0042'"))
    commands = ("worker", "--drain"), ("clock", "--once"), ("account", "create", "ann@snoozer.example"), ("migrate",)
    for command in commands:
        sentence = refusal(*command, engine=empty_database, home=tmp_path)
        assert "The schema is at 0042, of a state before the first release" in sentence
        assert "docs/keeping.md" in sentence


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_mail_is_refused(migrated: Engine, tmp_path: Path, encoding: str) -> None:
    """In the first, which a server set up under LANG=C makes by default, each command ended in a traceback; the second
    cannot hold every mail."""
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE IF EXISTS narrow"))
        connection.execute(text(f"CREATE DATABASE narrow TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"))
    narrow = make_engine(migrated.url.set(database="narrow").render_as_string(hide_password=False), name="tests")
    sentence = refusal("migrate", engine=narrow, home=tmp_path)
    assert f"encoding is {encoding}, and mail needs UTF8; make one by `createdb " in sentence
    doctor = run_command("doctor", engine=narrow, home=tmp_path)
    assert (doctor.returncode, "Traceback" in doctor.stderr) == (1, False)
    assert f"The database's encoding is {encoding}" in doctor.stdout
    narrow.dispose()


def test_the_client_encoding_of_the_environment_does_not_matter(engine: Engine, tmp_path: Path) -> None:
    ended = run_command("migrate", engine=engine, home=tmp_path, PGCLIENTENCODING="SQL_ASCII")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_lock_of_another_session_is_reported_in_words(empty_database: Engine, tmp_path: Path) -> None:
    """It reported "canceling statement due to lock timeout", and not what that meant for the schema."""
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE definitions SET source = 'of another release' WHERE name = 'snooze_state'"))
    with empty_database.begin() as other:
        other.execute(text("LOCK TABLE email_snoozes IN ACCESS SHARE MODE"))
        sentence = refusal("migrate", engine=empty_database, home=tmp_path)
    assert "holds a lock that is needed" in sentence
    assert "nothing was changed; wait for it to end, then run this again" in sentence
    assert run_command("migrate", engine=empty_database, home=tmp_path).stdout.startswith("The schema is at ")
