"""The clock is killed in the middle of an operation on thousands of rows: each row is acted on once."""

import signal
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.db import audit
from tests.db.operations import an_operation, the_operation
from tests.process.cli.running import run_command

pytestmark = pytest.mark.process

ROWS = 2_500
CASES = """
INSERT INTO email_snoozes (user_email, message_id, remind_at, inactive, outcome, finished_at, attempts, last_error)
SELECT n % 100 || '@x.example', n || '@x', now() + INTERVAL '1 day', TRUE, 'retired', now(), 5, '451 4.7.1 Try later'
FROM generate_series(1, :rows) AS n
RETURNING id
"""


def test_a_clock_that_is_killed_three_times_acts_on_each_row_once(engine: Engine, tmp_path: Path) -> None:
    """A second operator does the same at the same time. The kills are in a chunk, after a chunk was recorded and is not
    committed, and after it was."""
    with engine.begin() as connection:
        ids = list(connection.execute(text(CASES), {"rows": ROWS}).scalars())
    first = an_operation(engine, act="reactivate", ids=ids)
    second = an_operation(engine, act="reactivate", ids=ids, actor="operator:2")
    for step in ("operation_changed:kill:3", "operation_recorded:kill:4", "operation_committed:kill:2"):
        settings = {"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": step}
        killed = run_command("clock", "--once", engine=engine, home=tmp_path, **settings)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert 0 < decided(engine, first, second) < 2 * ROWS
    for _ in range(3):
        ended = run_command("clock", "--once", engine=engine, home=tmp_path)
        assert ended.returncode == 0, ended.stderr
    assert [the_operation(engine, id).finished_at is not None for id in (first, second)] == [True, True]
    with engine.connect() as connection:
        events = connection.execute(text("SELECT count(*), count(DISTINCT snooze_id) FROM snooze_events")).one()
        results = connection.execute(
            text(
                "SELECT count(*) FILTER (WHERE result = 'done'),"
                " count(DISTINCT snooze_id) FILTER (WHERE result = 'done'),"
                " count(*) FILTER (WHERE detail = 'already in the queue') FROM operation_members"
            )
        ).one()
        audited = connection.execute(
            text("SELECT count(*), count(DISTINCT snooze_id) FROM audit_log WHERE act = 'reactivate'")
        ).one()
        links = audit.check_links(connection, after_id=0)
    assert tuple(events) == tuple(audited) == (ROWS, ROWS)
    assert (links.checked, links.broken_at) == (ROWS, None)
    assert tuple(results) == (ROWS, ROWS, ROWS)


def decided(engine: Engine, *ids: int) -> int:
    return sum(row.done + row.unchanged for row in (the_operation(engine, id) for id in ids))
