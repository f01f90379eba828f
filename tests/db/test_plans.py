"""The statements of a delivery find their rows by an index, also when they were planned while the tables were small."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import engine as engine_module
from snoozer.db import ledger, queue
from snoozer.db.engine import TimeoutConnection, make_engine
from snoozer.db.ledger import UncertainPolicy
from snoozer.db.statements import statement
from snoozer.domain.reminder import Claim, Send
from tests.db.transitions import a_fact

# The sixth use of a statement prepares it, and five plans of its own later it gets one that is kept.
ENOUGH = 12
LEASE = timedelta(seconds=90)
DELIVERY = ("queue/claim", "ledger/reserve", "ledger/mark", "ledger/record", "queue/finalize")
FIRST_LINES = {name: statement(name).text.splitlines()[0] for name in DELIVERY}


@pytest.fixture
def worker(engine: Engine, postgres_url: str) -> Iterator[Engine]:
    """A worker's engine with one connection, and tables that vacuum has just seen empty."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE email_snoozes, reminder_sends"))
    worker = make_engine(postgres_url, name="tests", pool_size=1)
    yield worker
    worker.dispose()


def seed(engine: Engine, rows: int) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n % 500, gen_random_uuid()::text, now() - INTERVAL '1 hour' "
                "FROM generate_series(1, :rows) AS n"
            ),
            {"rows": rows},
        )


def deliver(worker: Engine, *, batch_size: int) -> int:
    """Claim, reserve, mark, record and finalize one batch; returns how many."""
    with worker.begin() as connection:
        claims = queue.claim(connection, worker="w", batch_size=batch_size, lease=LEASE)
        sends = _reserve(connection, claims)
    with worker.begin() as connection:
        ledger.mark(connection, dots=[(send, "0" * 64) for send in sends])
    with worker.begin() as connection:
        ledger.record(connection, facts=[a_fact(send) for send in sends])
        queue.finalize(connection, held=[(claim.id, claim.claim_token) for claim in claims])
    return len(sends)


def _reserve(connection: Connection, claims: list[Claim]) -> list[Send]:
    reserved = ledger.reserve(
        connection,
        worker="w",
        ids=[claim.id for claim in claims],
        domain="snoozer.example",
        uncertainty=UncertainPolicy(hold=LEASE),
    )
    return [entry.send for entry in reserved]


def kept_plans(worker: Engine) -> dict[str, str]:
    """The plan that the session of `worker` would run each statement with that it has prepared for good.

    Without a transaction: psycopg forgets what it has prepared at each rollback.
    """
    with worker.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        prepared = connection.execute(
            text(
                "SELECT name, statement, cardinality(parameter_types) AS binds "
                "FROM pg_prepared_statements WHERE generic_plans > 0"
            )
        ).all()
        return {
            name: _plan(connection, row)
            for row in prepared
            for name, line in FIRST_LINES.items()
            if row.statement.startswith(line)
        }


def _plan(connection: Connection, row: Any) -> str:
    nothing = ", ".join(["NULL"] * row.binds)
    return "\n".join(connection.execute(text(f"EXPLAIN EXECUTE {row.name} ({nothing})")).scalars())


def whole_tables(plan: str) -> list[str]:
    """The large tables that a plan reads from end to end."""
    return re.findall(r"Seq Scan on (email_snoozes|reminder_sends)", plan)


def test_a_plan_made_for_an_empty_table_is_not_kept_when_the_table_has_grown(
    engine: Engine, worker: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cost the server three times as much for each reminder, in some runs of a benchmark."""
    seed(engine, ENOUGH)
    for _ in range(ENOUGH):
        assert deliver(worker, batch_size=1) == 1
    small = kept_plans(worker)
    seed(engine, 4_000)
    while deliver(worker, batch_size=1_000):
        pass
    assert any(whole_tables(plan) for plan in small.values())
    monkeypatch.setattr(engine_module, "PLAN_MAX_USES", 1)
    grown = kept_plans(worker)
    assert grown
    assert {verb: whole_tables(plan) for verb, plan in grown.items()} == {verb: [] for verb in grown}


def test_every_statement_of_a_delivery_finds_its_rows_by_an_index(engine: Engine, worker: Engine) -> None:
    seed(engine, 4_000)
    while deliver(worker, batch_size=1_000):
        pass
    seed(engine, ENOUGH * 10)
    with worker.begin() as connection:
        connection.execute(text("SET SESSION plan_cache_mode = force_generic_plan"))
    for _ in range(ENOUGH):
        assert deliver(worker, batch_size=10) == 10
    plans = kept_plans(worker)
    assert sorted(plans) == sorted(DELIVERY)
    for verb, plan in plans.items():
        assert whole_tables(plan) == [], f"{verb}\n{plan}"


def test_one_plan_is_kept_for_each_statement_and_none_is_planned_again_for_every_batch(
    engine: Engine, worker: Engine
) -> None:
    """A claim whose range the planner could not guess was planned every time: half a millisecond a batch."""
    seed(engine, 4_000)
    with engine.begin() as connection:
        connection.execute(text("ANALYZE email_snoozes"))
    for _ in range(ENOUGH * 2):
        assert deliver(worker, batch_size=10) == 10
    assert sorted(kept_plans(worker)) == sorted(DELIVERY)


def test_a_lost_connection_is_replaced_when_its_plans_are_discarded(
    engine: Engine, worker: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worker.connect() as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
    monkeypatch.setattr(engine_module, "PLAN_MAX_USES", 1)
    with worker.connect() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != pid
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


@pytest.mark.parametrize("pgbouncer", [True, False])
def test_plans_are_discarded_except_behind_a_pooler(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, pgbouncer: bool
) -> None:
    """Behind a pooler the statement would run in a session that others use."""
    monkeypatch.setattr(engine_module, "PLAN_MAX_USES", 1)
    executed: list[bytes] = []
    monkeypatch.setattr(TimeoutConnection, "execute", lambda _, query, **options: executed.append(query))
    engine = make_engine(postgres_url, name="tests", pool_size=1, pgbouncer=pgbouncer)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    engine.dispose()
    assert [b"DISCARD PLANS" in query for query in executed] == ([] if pgbouncer else [True])
