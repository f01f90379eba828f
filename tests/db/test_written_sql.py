"""The SQL that README and guides offer does what they say: each block is executed as it stands there."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import IntegrityError

from tests.db.transitions import claim
from tests.factories import a_snooze

ROOT = Path(__file__).resolve().parents[2]
# Of the runbook, whose statements have words to fill in, each is executed by its play in tests/process/test_runbook.py.
RUNBOOK = ROOT / "docs" / "runbook.md"
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page != RUNBOOK)]
MESSAGE = {"user_email": "ann@example.org", "message_id": "<1@mail.example>"}
REFUSED = re.compile(r"^-- Refused where a worker holds the row: (\w+)$", re.M)


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```sql\n(.+?)^```$", page.read_text(), re.M | re.S)


def the_block(page: str, *, containing: str) -> str:
    [block] = [block for block in blocks(ROOT / page) if containing in block]
    return block


@pytest.fixture
def transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that is rolled back, with the role that docs/keeping.md gives rights to."""
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(text("CREATE ROLE snoozer_app"))
        yield connection
        transaction.rollback()


def rows(connection: Connection) -> list[Any]:
    found = text("SELECT * FROM email_snoozes WHERE user_email = 'ann@example.org' ORDER BY id")
    return list(connection.execute(found).all())


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_every_block_of_sql_can_be_executed(page: Path, transaction: Connection) -> None:
    for block in blocks(page):
        transaction.exec_driver_sql(block)


@pytest.mark.parametrize("page", ["README.md", "docs/guide/embedding.md"])
def test_a_message_is_moved_even_from_a_workers_hands(page: str, engine: Engine) -> None:
    """README had an INSERT alone, whose second execution ended the producer's transaction."""
    promised = datetime(2026, 1, 1, tzinfo=UTC)
    id = a_snooze(engine, **MESSAGE, remind_at=promised, recurrence={"freq": "daily"}, zone="UTC", time_kind="wall")
    [held] = claim(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(the_block(page, containing="DO UPDATE"))
        connection.exec_driver_sql(the_block(page, containing="DO UPDATE"))
        [row] = rows(connection)
    assert (row.id, row.remind_at.year, row.scheduled_for, row.recurrence) == (id, 2027, None, None)
    assert (row.claimed_at, row.claim_token, row.attempts) == (None, None, 0)
    assert held.claim_token is not None


def test_a_message_that_is_snoozed_already_is_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="'2027-01-04 09:00+01');"))
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="DO NOTHING"))
        [row] = rows(connection)
    assert row.remind_at.astimezone(UTC) == datetime(2027, 1, 4, 8, tzinfo=UTC)


def test_a_change_that_forgets_a_part_of_the_claim_is_refused_by_the_name_that_the_guide_gives(engine: Engine) -> None:
    a_snooze(engine, **MESSAGE)
    [held] = claim(engine)
    block = the_block("docs/guide/embedding.md", containing="-- Refused")
    [constraint] = REFUSED.findall(block)
    with pytest.raises(IntegrityError, match=constraint), engine.begin() as connection:
        connection.exec_driver_sql(block)
    with engine.connect() as connection:
        assert rows(connection)[0].claim_token == held.claim_token


def test_a_message_is_cancelled_even_from_a_workers_hands(engine: Engine) -> None:
    a_snooze(engine, **MESSAGE)
    claim(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="'cancelled', finished_at"))
        [row] = rows(connection)
    assert (row.outcome, row.claim_token) == ("cancelled", None)
