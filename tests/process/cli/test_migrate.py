"""A schema that is not the one of this release: every command reports it in the same sentence and ends in 2."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from tests.conftest import HANG_SECONDS
from tests.forked import PIPES, start_forked
from tests.process.cli.running import environment, refusal, run_command

ROWS = """
INSERT INTO email_snoozes (user_email, message_id, remind_at, bucket)
SELECT 'ann@snoozer.example', '<' || n || '@rest.example>', now() + INTERVAL '1 year', 0
FROM generate_series(1, 5000) AS n
"""


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


def test_a_lock_of_another_session_is_tried_again_and_reported_in_words(empty_database: Engine, tmp_path: Path) -> None:
    """It ended with "canceling statement due to lock timeout", and a person had to run it again."""
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE definitions SET source = 'of another release' WHERE name = 'snooze_state'"))
    with empty_database.begin() as other:
        other.execute(text("SET application_name = 'a long report'; LOCK TABLE email_snoozes IN ACCESS SHARE MODE"))
        pid = other.execute(text("SELECT pg_backend_pid()")).scalar_one()
        migrating = start_forked("migrate", env=environment(empty_database, tmp_path), **PIPES)
        assert migrating.stderr is not None
        first = migrating.stderr.readline()
    out, _ = migrating.communicate(timeout=HANG_SECONDS)
    assert (migrating.returncode, out[:17]) == (0, "The schema is at ")
    assert first.startswith(f"snoozer: Process {pid} (a long report), at work for ")
    assert "holds a lock (LockNotAvailable, SQLSTATE 55P03); tries again in " in first


def test_the_check_says_what_is_locked_and_how_long_and_changes_nothing(empty_database: Engine, tmp_path: Path) -> None:
    empty = run_command("migrate", "--check", engine=empty_database, home=tmp_path)
    assert (empty.returncode, "nothing waits" in empty.stdout) == (1, True)
    schema.upgrade(empty_database, revision="0078")
    with empty_database.begin() as connection:
        connection.execute(text(ROWS))
        connection.execute(text("ANALYZE email_snoozes"))
    with empty_database.begin() as other:
        other.execute(text("LOCK TABLE email_snoozes IN ACCESS SHARE MODE"))
        check = run_command("migrate", "--check", engine=empty_database, home=tmp_path)
    assert (check.returncode, check.stderr) == (1, "")
    printed = check.stdout
    assert printed.startswith("The schema is at 0078, not at ")
    assert re.search(
        r"  0079  An index .*\n        first, while others go on: reads email_snoozes \(5,000 rows\)", printed
    )
    assert re.search(r"  0121  .*\n  0125 .*\n        locks reminder_sends \(0 rows\)", printed)
    waits = re.search(r"From the first lock to the end others wait about 1 s, .* for (.*)\.\n", printed)
    assert waits
    assert waits[1].split(", ")[0] == "accounts"
    assert "email_snoozes" in waits[1]
    assert "alembic_version" not in printed
    assert re.search(r"Now process \d+ \(snoozer-.*\), at work for .*, holds a lock that would be waited for", printed)
    with empty_database.connect() as connection:
        assert schema.versions(connection)[0] == "0078"
    schema.upgrade(empty_database)
    done = run_command("migrate", "--check", engine=empty_database, home=tmp_path)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "this Snoozer is older" in refusal("migrate", "--check", engine=empty_database, home=tmp_path)
