"""Recovery beside a worker that marks its send at that moment: the mark is seen, or cannot be made."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.cli import restored
from snoozer.queue import ledger, queue, workers
from snoozer.queue.reminder import Recovered, UncertainPolicy
from tests.acting import cancel, undo
from tests.db.transitions import HOLD, LEASE, SHA, a_held_mail, authorise, claim, lapse, recover
from tests.factories import a_snooze, now, the_row, the_send, wait_until_a_session_waits

STALL = 4711


@pytest.fixture
def slow_statement(engine: Engine) -> Iterator[int]:
    """A statement that asks when the server was met waits, after its snapshot was taken, for this advisory lock."""
    with engine.begin() as connection:
        was = connection.execute(
            text("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'snooze_server_met'")
        ).scalar_one()
        connection.execute(
            text(
                "CREATE OR REPLACE FUNCTION snooze_server_met() RETURNS TIMESTAMPTZ LANGUAGE plpgsql AS $$ BEGIN "
                f"PERFORM pg_advisory_xact_lock({STALL}); RETURN pg_postmaster_start_time() - INTERVAL '1 day'; END $$"
            )
        )
    yield STALL
    with engine.begin() as connection:
        connection.exec_driver_sql(was)


def test_a_mark_that_is_committed_during_the_sweeps_statement_becomes_uncertain(
    engine: Engine, slow_statement: int
) -> None:
    """The statement that locked the row also read the ledger, as it was before the mark: the copy went unnoticed."""
    with engine.begin() as connection:
        for worker in ("alive", "w"):
            workers.register(connection, id=worker)
        workers.deregister(connection, id="w")
    stalls = a_snooze(engine)
    claim(engine, worker="alive")
    lapse(engine, [stalls])
    held, send = a_held_mail(engine)
    found: list[Recovered] = []
    sweep = Thread(target=lambda: found.extend(recover(engine)))
    with engine.begin() as other:
        other.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": slow_statement})
        sweep.start()
        wait_until_a_session_waits(engine, who=sweep)
        assert authorise(engine, send)
    sweep.join()
    assert {(row.id, row.uncertain) for row in found} == {(stalls, False), (held.id, True)}
    assert len(found) == 2
    assert the_send(engine, held.id).state == "uncertain"


def test_no_mark_is_made_between_the_lock_and_the_recovery(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    with engine.begin() as connection:
        workers.register(connection, id="w")
        workers.deregister(connection, id="w")
    with engine.begin() as sweeping:
        assert queue.lock_lapsed(sweeping, batch_size=10, lease=LEASE) == [held.id]
        assert authorise(engine, send) is False


def test_a_mark_that_was_being_written_at_a_restore_becomes_uncertain(engine: Engine) -> None:
    """The operator's command waited for the row, and then read the ledger as it was before."""
    held, send = a_held_mail(engine)

    def apply() -> None:
        with engine.begin() as connection:
            restored.retire(connection, until=now() + timedelta(hours=1), domain="snoozer.example")

    applying = Thread(target=apply)
    with engine.begin() as marking:
        marking.execute(text("SELECT 1 FROM email_snoozes FOR NO KEY UPDATE"))
        applying.start()
        wait_until_a_session_waits(engine, who=applying)
        assert ledger.authorise(marking, dots=[(send, SHA)], uncertainty=UncertainPolicy(hold=HOLD))
    applying.join()
    assert (the_row(engine, held.id).outcome, the_send(engine, held.id).state) == ("retired", "uncertain")


def test_an_uncertain_send_is_not_abandoned_while_its_cancellation_is_undone(engine: Engine) -> None:
    """It counted as no longer wanted, and was sent again without waiting for anything that the policy asks for."""
    held, send = a_held_mail(engine)
    authorise(engine, send)
    at_once = timedelta(seconds=-1)
    with engine.begin() as connection:
        cancel(connection, held.id)
        ledger.expire_orphans(connection, deadline=at_once, batch_size=10)
    with engine.begin() as undoing:
        assert undo(undoing, held.id)
        with engine.begin() as sweeping:
            assert ledger.abandon(sweeping, hold=at_once, batch_size=10) == []
    assert the_send(engine, held.id).state == "uncertain"
