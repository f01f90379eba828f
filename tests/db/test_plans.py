"""The statements of a delivery find their rows by an index, also when they were planned while the tables were small."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import engine as engine_module
from snoozer.db.engine import TimeoutConnection, make_engine
from snoozer.db.statements import statement
from snoozer.queue import digests, ledger, queue
from snoozer.queue.queue import HeldClaims
from snoozer.queue.reminder import Claim, Deferral, Send, UncertainPolicy
from tests.db.reading import reading
from tests.db.transitions import a_fact, mark_uncertain_one, refuse_one, release_one, schedule_next_one

# A worker's session keeps the plan of a statement's first use.
ENOUGH = 12
LEASE = timedelta(seconds=90)
UNCERTAINTY = UncertainPolicy(hold=LEASE)
PROMISED = datetime(2036, 1, 1, tzinfo=UTC)
FAILED = {"error": "451 try later", "attempts_used": 1, "delay": LEASE}
DELIVERY = ("queue/claim", "ledger/list_sendable", "ledger/authorise", "ledger/record", "queue/finalize")
FIRST_LINES = {name: statement(name).text.splitlines()[0] for name in DELIVERY}
End = Callable[[Connection, list[Claim], list[Send]], object]
# What a worker does to its claims and their ledger entries.
ENDS: dict[str, End] = {
    "extend": lambda connection, claims, sends: queue.extend(connection, held=_held(claims), lease=LEASE),
    "authorise": lambda connection, claims, sends: _authorise(connection, sends),
    "record": lambda connection, claims, sends: ledger.record(connection, facts=[a_fact(send) for send in sends]),
    "lock": lambda connection, claims, sends: ledger.lock(connection, sends=sends),
    "refuse": lambda connection, claims, sends: [refuse_one(connection, one, reply="") for one in sends],
    "mark uncertain": lambda connection, claims, sends: [mark_uncertain_one(connection, one) for one in sends],
    "finalize": lambda connection, claims, sends: queue.finalize(connection, held=_held(claims)),
    "schedule next": lambda connection, claims, sends: [schedule_next_one(connection, one, PROMISED) for one in claims],
    "release": lambda connection, claims, sends: [release_one(connection, one, **FAILED) for one in claims],
    "unclaim": lambda connection, claims, sends: queue.unclaim(connection, held=_held(claims)),
    "defer": lambda connection, claims, sends: queue.defer(
        connection, held=_held(claims), delays=[LEASE] * len(claims)
    ),
    "rest": lambda connection, claims, sends: queue.rest(
        connection, held=_held(claims), deferrals=[Deferral(id=one.id, until=PROMISED, reason="rest") for one in claims]
    ),
    "set aside": lambda connection, claims, sends: queue.set_aside(
        connection, held=_held(claims), pause_ids=[0] * len(claims)
    ),
    "gather": lambda connection, claims, sends: digests.gather(connection, people=_people(claims), domain="x.example"),
    "lock digests": lambda connection, claims, sends: digests.lock(connection, people=_people(claims)),
}


@pytest.fixture
def worker(engine: Engine, postgres_url: str) -> Iterator[Engine]:
    """A worker's engine with one connection, and tables that vacuum has just seen empty."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE email_snoozes, reminder_sends"))
    worker = make_engine(postgres_url, name="tests", pool_size=1, by_index=True)
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
    """Claim, authorise, record and finalize one batch; returns how many."""
    with worker.begin() as connection:
        claims = queue.claim(connection, worker="w", batch_size=batch_size, lease=LEASE)
        sends = _list_sendable(connection, claims)
    with worker.begin() as connection:
        _authorise(connection, sends)
    with worker.begin() as connection:
        ledger.record(connection, facts=[a_fact(send) for send in sends])
        queue.finalize(connection, held=_held(claims))
    return len(sends)


def _list_sendable(connection: Connection, claims: list[Claim]) -> list[Send]:
    ids = [claim.id for claim in claims]
    return ledger.list_sendable(connection, worker="w", ids=ids, domain="snoozer.example", uncertainty=UNCERTAINTY)


def _authorise(connection: Connection, sends: list[Send]) -> object:
    return ledger.authorise(connection, dots=_dots(sends), uncertainty=UNCERTAINTY)


def _held(claims: list[Claim]) -> HeldClaims:
    return [(claim.id, claim.claim_token) for claim in claims]


def _dots(sends: list[Send]) -> list[tuple[Send, str]]:
    return [(send, "0" * 64) for send in sends]


def _people(claims: list[Claim]) -> list[str]:
    return [claim.user_email for claim in claims]


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
    """The large tables that a plan reads from end to end, if only by an index for its order."""
    scan = r"(?:Seq Scan|Index (?:Only )?Scan using pk_\w+) on (email_snoozes|reminder_sends)\b"
    return re.findall(scan + r".*$(?!\n *Index Cond)", plan, re.M)


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


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_the_end_of_a_claim_reads_no_row_of_another(engine: Engine, worker: Engine, end: End) -> None:
    """Beside half a million rows a reminder took seconds: to be locked in the order of their ids, a handful was looked
    for among all rows, by the index of that order."""
    seed(engine, 4_000)
    with worker.begin() as connection:
        claims = queue.claim(connection, worker="w", batch_size=10, lease=LEASE)
        sends = _list_sendable(connection, claims)
    assert reading(worker, lambda connection: end(connection, claims, sends)).rows < 500


@pytest.mark.parametrize("analyzes", [False, True], ids=["old statistics", "new statistics"])
def test_the_sweeps_read_what_has_lapsed_and_no_row_that_waits(engine: Engine, worker: Engine, analyzes: bool) -> None:
    """They read all that was due, every few seconds: half of what the server did beside half a million rows."""
    seed(engine, 4_000)
    if analyzes:
        with engine.begin() as connection:
            connection.execute(text("ANALYZE email_snoozes"))
    assert reading(engine, lambda connection: queue.retire(connection, batch_size=10)).rows < 500
    assert reading(engine, lambda connection: queue.lock_lapsed(connection, batch_size=10, lease=LEASE)).rows < 500


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
