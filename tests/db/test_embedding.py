"""docs/guide/embedding.md: each example runs as it stands there, in the transaction of the program, and what it names
is there."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text

from tests.db.transitions import a_held_mail, authorise, claim, record
from tests.factories import a_snooze, the_row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "embedding.md"
SCHEMA = "embedding_guide"
MESSAGE = {"user_email": "ann@example.org", "message_id": "<1@mail.example>"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", PAGE.read_text(), re.M | re.S)


def the_sql(containing: str) -> str:
    [block] = [block for block in blocks("sql") if containing in block]
    return block


@pytest.fixture
def invoices(engine: Engine) -> Iterator[str]:
    """The search path of a program with a table of its own, whose constraint fails when its transaction commits."""
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
        connection.execute(text(f"CREATE TABLE {SCHEMA}.invoices (number TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
    yield f"{SCHEMA},public"
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {SCHEMA} CASCADE"))


def counts(engine: Engine) -> tuple[int, int]:
    """How many invoices and snoozes there are."""
    with engine.connect() as connection:
        invoices = connection.execute(text(f"SELECT count(*) FROM {SCHEMA}.invoices")).scalar_one()  # noqa: S608
        snoozes = connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one()
    return invoices, snoozes


def an_invoice(engine: Engine, *, taken: bool) -> None:
    with engine.begin() as connection:
        statement = "INSERT INTO {}.invoices VALUES ('17')" if taken else "DELETE FROM {}.invoices"
        connection.execute(text(statement.format(SCHEMA)))


@pytest.mark.parametrize("number", [0, 1, 2], ids=["psycopg", "SQLAlchemy", "acts.snooze"])
def test_an_example_commits_both_or_neither(
    number: int, invoices: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = compile(blocks("python")[number], str(PAGE), "exec")
    url = engine.url.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={invoices}"})
    monkeypatch.setenv("DATABASE_URL", url.render_as_string(hide_password=False))
    an_invoice(engine, taken=True)
    names: dict[str, Any] = {}
    with pytest.raises(Exception, match="invoices_number_key"):
        exec(block, names)  # noqa: S102 - the page is ours
    if "engine" in names:
        names["engine"].dispose()
    assert counts(engine) == (1, 0)
    an_invoice(engine, taken=False)
    exec(block, {})  # noqa: S102
    assert counts(engine) == (1, 1)
    row = the_row(engine, 2)
    assert (row.message_id, row.subject, row.inactive) == ("invoice-17", "Invoice 17 is due", False)


def test_the_example_of_django_commits_both_or_neither(invoices: str, engine: Engine, tmp_path: Path) -> None:
    """In a process of its own: Django's settings are those of a process."""
    url = engine.url
    environment = {
        **{"PGHOST": url.host, "PGPORT": str(url.port), "PGUSER": url.username, "PGPASSWORD": str(url.password)},
        **{"PGDATABASE": url.database, "PGOPTIONS": f"-csearch_path={invoices}"},
    }
    block = blocks("python")[3]

    def run() -> str:
        command = [sys.executable, "-W", "error", "-c", block]
        ended = subprocess.run(
            command,
            env={name: str(value) for name, value in environment.items()},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return ended.stderr

    an_invoice(engine, taken=True)
    assert "invoices_number_key" in run()
    assert counts(engine) == (1, 0)
    an_invoice(engine, taken=False)
    assert run() == ""
    assert counts(engine) == (1, 1)


def test_every_example_of_python_is_run_by_a_test() -> None:
    assert len(blocks("python")) == 4


def test_a_listener_hears_what_was_sent_and_what_is_over(engine: Engine) -> None:
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN app_snoozes")
        try:
            with engine.begin() as connection:
                connection.exec_driver_sql(the_sql("app_snooze_happened"))
            _, send = a_held_mail(engine)
            assert authorise(engine, send)
            record(engine, send)
            id = a_snooze(engine, **MESSAGE)
            with engine.begin() as connection:
                connection.exec_driver_sql(the_sql("'cancelled', finished_at"))
            heard = [notification.payload for notification in listener.notifies(timeout=30, stop_after=2)]
        finally:
            with engine.begin() as connection:
                connection.execute(text("DROP FUNCTION IF EXISTS app_snooze_happened() CASCADE"))
    assert heard == [f"sent {send.snooze_id}", f"over {id}"]


def test_a_bump_leaves_a_claim_alone(engine: Engine) -> None:
    id = a_snooze(engine, **MESSAGE)
    [held] = claim(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(the_sql("SET priority = 100"))
    row = the_row(engine, id)
    assert (row.priority, row.claim_token) == (100, held.claim_token)


def test_rows_of_one_key_are_claimed_one_after_the_other(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(the_sql("'invoice-17-late'"))
        connection.execute(text("UPDATE email_snoozes SET priority = 0, remind_at = remind_at - INTERVAL '10 years'"))
    assert [row.message_id for row in claim(engine)] == ["invoice-17-due"]


def promised() -> dict[str, list[str]]:
    """The names of each row of the table."""
    table = PAGE.read_text().partition("## Names that stay")[2]
    return {
        what: re.findall(r"`(\w+)`", names)
        for what, names in re.findall(r"^\| (?!What|-)(.+?) \| (.+) \|$", table, re.M)
    }


def test_the_names_that_stay_are_there(engine: Engine) -> None:
    asked = {
        "columns": "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(:table) AND attnum > 0",
        "constraints": "SELECT relname FROM pg_class UNION SELECT conname FROM pg_constraint",
        "sequences": "SELECT relname FROM pg_class WHERE relkind = 'S'",
    }
    rows = promised()
    assert len(rows) == 7
    for what, names in rows.items():
        table: Any = re.search(r"`(\w+)`", what)
        values = {"table": table[1]} if table else {}
        with engine.connect() as connection:
            found = set(connection.execute(text(asked[what.split()[0]]), values).scalars())
        assert set(names) <= found, what
