"""Housekeeping: several clocks do no harm, and an outage of the database makes no worker dead."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.delivery.chores import chores, recovery
from snoozer.delivery.chores.chore_runner import record_server_start, run_exclusive, run_if_due
from snoozer.queue import workers
from snoozer.queue.reminder import UncertainPolicy
from tests.db.transitions import a_held_mail, authorise, claim, lapse
from tests.factories import HOUR, a_snooze, the_events, the_row

CONFIG = recovery.SweepConfig(
    lease=timedelta(seconds=90),
    dead_after=timedelta(seconds=10),
    delay=timedelta(0),
    uncertainty=UncertainPolicy(hold=timedelta(minutes=10)),
    deadline=timedelta(minutes=12),
)


def test_a_sweep_declares_workers_dead_recovers_and_retires(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="silent")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 hour'"))
    held = a_snooze(engine)
    claim(engine, worker="silent")
    exhausted = a_snooze(engine, attempts=5)
    since_start = timedelta(microseconds=1)
    swept = recovery.sweep(engine, config=_with(dead_after=since_start))
    assert (swept.dead_workers, [row.id for row in swept.recovered], swept.retired) == (["silent"], [held], [exhausted])
    assert the_events(engine, held) == ["recovered"]
    assert the_events(engine, exhausted) == ["retired"]
    assert swept.cases == 1


def test_the_hold_policy_leaves_an_uncertain_send_to_people(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    recovery.sweep(engine, config=_with(uncertainty=UncertainPolicy(hold=timedelta(0), for_operator=True)))
    assert the_row(engine, held.id).outcome == "retired"
    assert the_events(engine, held.id) == ["recovered", "uncertain", "retired"]


def test_the_hold_policy_makes_no_case_of_what_was_never_sent(engine: Engine) -> None:
    held = a_snooze(engine)
    claim(engine, worker="w")
    lapse(engine, [held])
    recovery.sweep(engine, config=_with(uncertainty=UncertainPolicy(hold=timedelta(0), for_operator=True)))
    assert (the_row(engine, held).outcome, the_events(engine, held)) == (None, ["recovered"])


def test_three_clocks_at_once_do_each_chore_once(engine: Engine) -> None:
    ids = [a_snooze(engine) for _ in range(50)]
    claim(engine, worker="w")
    lapse(engine, ids)
    clocks = [Thread(target=recovery.sweep, args=(engine,), kwargs={"config": CONFIG}) for _ in range(3)]
    for clock in clocks:
        clock.start()
    for clock in clocks:
        clock.join()
    assert {the_row(engine, id).crash_count for id in ids} == {1}


def test_a_chore_that_another_clock_runs_is_skipped(engine: Engine) -> None:
    def meanwhile(_: Connection) -> tuple[str | None, str | None]:
        return run_exclusive(engine, "recover", lambda _: "again"), run_exclusive(engine, "retire", lambda _: "another")

    assert run_exclusive(engine, "recover", meanwhile) == (None, "another")


def test_a_row_that_cannot_be_recovered_does_not_stop_the_others(engine: Engine) -> None:
    ids = [a_snooze(engine) for _ in range(7)]
    exhausted = a_snooze(engine, attempts=5)
    claim(engine, worker="w", batch_size=7)
    lapse(engine, ids)
    with broken_row(engine, ids[3]):
        swept = recovery.sweep(engine, config=CONFIG)
    assert sorted(row.id for row in swept.recovered) == ids[:3] + ids[4:]
    assert swept.retired == [exhausted]
    assert the_events(engine, ids[3]) == []
    assert [row.id for row in recovery.sweep(engine, config=CONFIG).recovered] == [ids[3]]


def test_a_worker_is_not_declared_dead_after_an_outage_of_the_database(engine: Engine) -> None:
    """The server's process starts before it has recovered: what counts is when it was first seen after that."""
    with engine.begin() as connection:
        workers.register(connection, id="slow")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 hour'"))
    a_snooze(engine)
    [held] = claim(engine, worker="slow")
    lapse(engine, [held.id])
    seen_for(engine, "1 second")
    swept = recovery.sweep(engine, config=CONFIG)
    assert (swept.dead_workers, swept.recovered) == ([], [])
    seen_for(engine, "30 seconds")
    swept = recovery.sweep(engine, config=CONFIG)
    assert (swept.dead_workers, [row.id for row in swept.recovered]) == (["slow"], [held.id])


def test_a_worker_has_one_lease_to_extend_its_claims_after_an_outage(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="slow")
    a_snooze(engine)
    [held] = claim(engine, worker="slow")
    lapse(engine, [held.id])
    seen_for(engine, "60 seconds")
    assert recovery.sweep(engine, config=CONFIG).recovered == []
    seen_for(engine, "2 minutes")
    assert [row.id for row in recovery.sweep(engine, config=CONFIG).recovered] == [held.id]


def test_each_start_of_the_server_is_recorded_once_and_earlier_ones_are_deleted(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO server_starts VALUES ('2001-01-01', '2001-01-02')"))
    record_server_start(engine)
    record_server_start(engine)
    with engine.begin() as connection:
        [(met_at, is_used)] = connection.execute(
            text("SELECT met_at, met_at = snooze_server_met() FROM server_starts")
        ).all()
        assert is_used
        assert met_at < connection.execute(text("SELECT now()")).scalar_one()


def test_a_dead_worker_stays_dead(engine: Engine) -> None:
    """In seed 002 the next heartbeat revives a dead worker."""
    with engine.begin() as connection:
        workers.register(connection, id="dead")
        workers.deregister(connection, id="dead")
        assert workers.heartbeat(connection, id="dead") is None
        workers.drain(connection, id="dead")
        assert connection.execute(text("SELECT state FROM workers")).scalar_one() == "dead"


def test_pruning_deletes_old_workers(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="old")
        workers.deregister(connection, id="old")
        connection.execute(text("UPDATE workers SET stopped_at = now() - INTERVAL '8 days'"))
        for lately in ("at work", "gone"):
            workers.register(connection, id=lately)
        workers.deregister(connection, id="gone")
    chores.prune(engine)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, state FROM workers ORDER BY id")).all()
    assert [tuple(row) for row in rows] == [("at work", "alive"), ("gone", "dead")]


def test_a_chore_is_due_by_the_record_of_its_last_end(engine: Engine) -> None:
    """By the uptime of the clock, the chores of every hour never ran where it was restarted every hour."""
    ran: list[str] = []

    def run(name: str = "hourly") -> bool:
        return run_if_due(engine, name, every=HOUR, chore=lambda: ran.append(name))

    assert [run(), run(), run("another")] == [True, False, True]
    for moment, is_due in (("59 minutes", False), ("61 minutes", True), ("-1 minute", True)):
        finished(engine, "hourly", ago=moment)
        assert (run(), run()) == (is_due, False), moment
    assert ran == ["hourly", "another", "hourly", "hourly"]


def test_a_chore_that_failed_is_due_again(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError):
        run_if_due(engine, "hourly", every=HOUR, chore=lambda: 1 // 0)
    assert run_if_due(engine, "hourly", every=HOUR, chore=lambda: None)


@contextmanager
def broken_row(engine: Engine, id: int) -> Iterator[None]:
    """Every update of this row fails."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'spoilt' USING ERRCODE = 'data_exception'; END $$"
            )
        )
        connection.execute(
            text(
                "CREATE TRIGGER spoil BEFORE UPDATE ON email_snoozes FOR EACH ROW "
                f"WHEN (OLD.id = {id}) EXECUTE FUNCTION spoil()"
            )
        )
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP FUNCTION spoil CASCADE"))


def finished(engine: Engine, chore: str, *, ago: str) -> None:
    """As if the chore had ended so long ago."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE housekeeping_runs SET finished_at = clock_timestamp() - CAST(:ago AS interval) "
                "WHERE chore = :chore"
            ),
            {"chore": chore, "ago": ago},
        )


def seen_for(engine: Engine, interval: str) -> None:
    """The server was first seen so long ago since its start."""
    record_server_start(engine)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE server_starts SET met_at = clock_timestamp() - CAST(:interval AS interval)"),
            {"interval": interval},
        )


def _with(**changed: Any) -> recovery.SweepConfig:
    return replace(CONFIG, **changed)
