"""Housekeeping: several clocks do no harm, an outage of the database is not held against workers."""

from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Any

from sqlalchemy import Engine, text

from snoozer import housekeeping
from snoozer.postgres import workers
from snoozer.postgres.housekeeping import alone
from snoozer.postgres.ledger import Uncertainty
from tests.factories import a_snooze, the_events, the_row
from tests.postgres.test_ledger import a_reserved_send, mark
from tests.postgres.test_queue import claim, lapse

TERMS = housekeeping.Terms(
    lease=timedelta(seconds=90),
    dead_after=timedelta(seconds=10),
    delay=timedelta(0),
    uncertainty=Uncertainty(hold=timedelta(minutes=10)),
    deadline=timedelta(minutes=12),
)


def test_a_sweep_buries_recovers_and_retires(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="silent")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 hour'"))
    held = a_snooze(engine)
    claim(engine, worker="silent")
    spent = a_snooze(engine, attempts=5)
    since_start = timedelta(microseconds=1)
    swept = housekeeping.sweep(engine, terms=_with(dead_after=since_start))
    assert (swept.buried, [row.id for row in swept.recovered], swept.retired) == (["silent"], [held], [spent])
    assert the_events(engine, held) == ["recovered"]
    assert the_events(engine, spent) == ["retired"]
    assert swept.cases == 1


def test_a_held_policy_leaves_an_uncertain_send_to_people(engine: Engine) -> None:
    held, send = a_reserved_send(engine)
    mark(engine, send)
    lapse(engine, [held.id])
    housekeeping.sweep(engine, terms=_with(uncertainty=Uncertainty(hold=timedelta(0), for_operator=True)))
    assert the_row(engine, held.id).outcome == "retired"
    assert the_events(engine, held.id) == ["recovered", "uncertain", "retired"]


def test_three_clocks_at_once_do_each_chore_once(engine: Engine) -> None:
    ids = [a_snooze(engine) for _ in range(50)]
    claim(engine, worker="nobody")
    lapse(engine, ids)
    clocks = [Thread(target=housekeeping.sweep, args=(engine,), kwargs={"terms": TERMS}) for _ in range(3)]
    for clock in clocks:
        clock.start()
    for clock in clocks:
        clock.join()
    assert {the_row(engine, id).crash_count for id in ids} == {1}


def test_a_chore_that_another_clock_is_at_is_left_to_it(engine: Engine) -> None:
    with engine.begin() as first, engine.begin() as second:
        assert alone(first, chore="recover") is True
        assert alone(second, chore="recover") is False
        assert alone(second, chore="retire") is True


def test_a_worker_is_not_dead_because_the_database_was_away(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="patient")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 hour'"))
        years = timedelta(days=3650)
        assert workers.bury(connection, dead_after=years) == []


def test_a_buried_worker_stays_dead(engine: Engine) -> None:
    """Seed 002 brings a dead worker back to life with its next heartbeat."""
    with engine.begin() as connection:
        workers.register(connection, id="undead")
        workers.leave(connection, id="undead")
        assert workers.heartbeat(connection, id="undead") is False
        workers.drain(connection, id="undead")
        assert connection.execute(text("SELECT state FROM workers")).scalar_one() == "dead"


def test_tidying_leaves_no_old_workers_behind(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="old")
        workers.leave(connection, id="old")
        connection.execute(text("UPDATE workers SET stopped_at = now() - INTERVAL '8 days'"))
    housekeeping.tidy(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM workers")).scalar_one() == 0


def _with(**changed: Any) -> housekeeping.Terms:
    return replace(TERMS, **changed)
