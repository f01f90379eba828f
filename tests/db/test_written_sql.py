"""The SQL that README and guides offer does what they say: each block is executed as it stands there."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.snoozes import recurrence
from snoozer.timephrase.recurrence import Recurrence
from tests.db.every_state import STATES
from tests.db.transitions import a_held_mail, authorise, claim, record, sendable
from tests.factories import HOUR, a_snooze, now, the_row, the_send

ROOT = Path(__file__).resolve().parents[2]
# The statements of the runbook have words to fill in. tests/process/test_runbook.py executes each.
RUNBOOK = ROOT / "docs" / "runbook.md"
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page != RUNBOOK)]
MESSAGE = {"user_email": "ann@example.org", "message_id": "<1@mail.example>"}
MOVE, BUMP = "DO UPDATE SET remind_at = EXCLUDED", "GREATEST("
DAILY = Recurrence(unit="day", interval=1, start=date(2026, 1, 1), at=time(9)).as_json()


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


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize(
    ("page", "containing"),
    [("README.md", MOVE), ("docs/guide/embedding.md", MOVE), ("docs/guide/embedding.md", BUMP)],
)
def test_a_message_is_moved_even_from_a_workers_hands(page: str, containing: str, engine: Engine) -> None:
    promised = datetime(2026, 1, 1, 9, tzinfo=UTC)
    id = a_snooze(engine, **MESSAGE, remind_at=promised, recurrence=DAILY, zone="UTC", time_kind="wall", attempts=2)
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    for _ in range(2):
        execute(engine, the_block(page, containing=containing))
        row = the_row(engine, id)
        assert (row.remind_at.year, row.scheduled_for, row.recurrence) == (2027, None, DAILY)
        assert (row.claimed_at, row.claim_token, row.attempts, row.wall_time) == (None, None, 0, None)
    assert not authorise(engine, entry)
    following = recurrence.following(row, now=promised)
    assert following is not None
    assert timedelta(0) < following - row.remind_at <= timedelta(days=1)


def test_the_upsert_is_the_same_in_the_readme_and_in_the_guide() -> None:
    readme, guide = (the_block(page, containing=MOVE) for page in ("README.md", "docs/guide/embedding.md"))
    assert readme.partition("ON CONFLICT")[2] == guide.partition("ON CONFLICT")[2]


def test_a_bump_makes_nothing_earlier(engine: Engine) -> None:
    later = datetime(2028, 1, 1, tzinfo=UTC)
    id = a_snooze(engine, **MESSAGE, remind_at=later)
    before = the_row(engine, id)
    execute(engine, the_block("docs/guide/embedding.md", containing=BUMP))
    assert the_row(engine, id) == before


@pytest.mark.parametrize("containing", [MOVE, BUMP])
def test_what_is_leaving_may_arrive_and_comes_at_the_new_time_too(engine: Engine, containing: str) -> None:
    held, send = a_held_mail(engine, **MESSAGE)
    assert authorise(engine, send)
    execute(engine, the_block("docs/guide/embedding.md", containing=containing))
    row = the_row(engine, held.id)
    assert (row.remind_at.year, row.claim_token, row.outcome) == (2027, None, None)
    record(engine, send)
    assert the_send(engine, held.id).state == "sent"


def leaving(engine: Engine) -> int:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    return held.id


SENDER = "bob@mail.example"
STATES_OF_ROWS: dict[str, Callable[[Engine], int]] = {
    **{name: STATES[name] for name in ("asleep", "due", "retry", "hold", "rest")},
    "held": lambda engine: a_held_mail(engine)[0].id,
    "leaving": leaving,
}


def by_hand(engine: Engine, containing: str, **fill: str) -> None:
    """A statement of the runbook, with its words filled in."""
    statement = the_block("docs/runbook.md", containing=containing)
    for word, value in {"SENDER": SENDER, **fill}.items():
        statement = statement.replace(word, value)
    execute(engine, statement.replace("%", "%%"))


@pytest.mark.parametrize("state", STATES_OF_ROWS)
def test_a_class_is_paused_and_goes_on_with_its_promise(state: str, engine: Engine) -> None:
    id = STATES_OF_ROWS[state](engine)
    before, left = the_row(engine, id), sends(engine)
    by_hand(engine, "RETURNING id")
    row = the_row(engine, id)
    assert (row.inactive, row.outcome, row.claim_token, row.claimed_at) == (True, None, None, None)
    assert claim(engine) == []
    by_hand(engine, "(IDS)", IDS=str(id))
    row = the_row(engine, id)
    assert (row.inactive, row.remind_at, row.scheduled_for) == (False, before.remind_at, before.scheduled_for)
    assert (row.attempts, row.last_error) == (before.attempts, before.last_error)
    assert sends(engine) == left


@pytest.mark.parametrize("state", STATES_OF_ROWS)
def test_what_is_delayed_is_a_new_promise(state: str, engine: Engine) -> None:
    id = STATES_OF_ROWS[state](engine)
    before = the_row(engine, id)
    by_hand(engine, "INTERVAL 'SPAN'", SPAN="2 hours")
    row = the_row(engine, id)
    assert row.remind_at == before.remind_at + 2 * HOUR
    assert (row.inactive, row.outcome, row.scheduled_for, row.claim_token) == (False, None, None, None)
    assert (row.attempts, row.crash_count, row.last_error, row.deferred_until) == (0, 0, None, None)
    assert claim(engine) == []


@pytest.mark.parametrize("columns", [{}, {"last_error": "550 no", "last_error_at": now()}])
def test_cases_run_again_and_nothing_else_does(columns: dict[str, Any], engine: Engine) -> None:
    case = STATES["case"](engine, **columns)
    kept = [STATES[name](engine) for name in ("sent", "cancelled", "owner_pause", "retry")]
    before = [the_row(engine, id) for id in kept]
    by_hand(engine, "attempts = 0")
    row = the_row(engine, case)
    assert (row.inactive, row.outcome, row.finished_at, row.attempts) == (False, None, None, 0)
    assert (row.last_error, row.last_error_at) == (None, None)
    assert [the_row(engine, id) for id in kept] == before
    assert [held.id for held in claim(engine)] == [case]


def sends(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT state, scheduled_for, resends FROM reminder_sends ORDER BY id")))


def test_a_message_that_is_snoozed_already_is_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="'2027-01-04 09:00+01');"))
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="DO NOTHING"))
        [row] = rows(connection)
    assert row.remind_at.astimezone(UTC) == datetime(2027, 1, 4, 8, tzinfo=UTC)


def test_a_message_is_cancelled_even_from_a_workers_hands(engine: Engine) -> None:
    a_snooze(engine, **MESSAGE)
    claim(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(the_block("docs/guide/embedding.md", containing="'cancelled', finished_at"))
        [row] = rows(connection)
    assert (row.outcome, row.claim_token) == ("cancelled", None)
