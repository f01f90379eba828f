"""The guarantees of the queue, each named after the failure it survives."""

from datetime import timedelta
from uuid import uuid4

from sqlalchemy import Engine

from snoozer.queue import queue, workers
from tests.db.transitions import DELAY, LEASE, claim, finalize, lapse, recover, release
from tests.factories import HOUR, a_snooze, now, the_row


def test_a_late_worker_changes_nothing(engine: Engine) -> None:
    """Seed 000 gives a claim back by its id alone: a worker that wakes up late releases another's."""
    a_snooze(engine)
    [late] = claim(engine, worker="late")
    lapse(engine, [late.id])
    recover(engine)
    [current] = claim(engine, worker="current", poison_rows=True)
    assert release(engine, late) is None
    assert finalize(engine, late) is False
    with engine.begin() as connection:
        assert queue.extend(connection, held=[(late.id, late.claim_token)], lease=LEASE) == {}
        assert queue.unclaim(connection, held=[(late.id, late.claim_token)]) == set()
    assert the_row(engine, late.id).claim_token == current.claim_token
    assert finalize(engine, current) is True


def test_a_failure_spends_an_attempt_and_comes_back_later(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    assert release(engine, held) == "released"
    row = the_row(engine, held.id)
    assert (row.attempts, row.claimed_at, row.last_error) == (1, None, "451 try later")
    assert row.remind_at > row.last_error_at + DELAY - timedelta(seconds=1)
    assert claim(engine) == []


def test_backoff_does_not_move_the_promise(engine: Engine) -> None:
    """Seed 000 keys its send record by remind_at and moves remind_at: every retry could be sent anew."""
    promised = now() - HOUR
    a_snooze(engine, remind_at=promised)
    [held] = claim(engine)
    release(engine, held, delay=timedelta(0))
    [again] = claim(engine)
    assert again.scheduled_for == held.scheduled_for == promised
    assert the_row(engine, held.id).remind_at > promised


def test_the_last_attempt_retires_in_the_same_statement(engine: Engine) -> None:
    a_snooze(engine, attempts=4)
    [held] = claim(engine)
    assert release(engine, held) == "retired"
    row = the_row(engine, held.id)
    assert (row.inactive, row.outcome, row.attempts, row.claimed_at) == (True, "retired", 5, None)
    assert row.finished_at is not None


def test_a_permanent_failure_retires_at_once(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    assert release(engine, held, permanent=True) == "retired"
    assert the_row(engine, held.id).attempts == 1


def test_an_outage_of_the_mail_server_spends_nothing(engine: Engine) -> None:
    a_snooze(engine, attempts=4)
    [held] = claim(engine)
    assert release(engine, held, attempts_used=0) == "released"
    assert the_row(engine, held.id).attempts == 4


def test_max_attempts_is_each_rows_own(engine: Engine) -> None:
    a_snooze(engine, max_attempts=1)
    [held] = claim(engine)
    assert release(engine, held) == "retired"


def test_rows_whose_attempts_were_spent_from_outside_become_cases(engine: Engine) -> None:
    id = a_snooze(engine, attempts=5)
    a_snooze(engine, attempts=5, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert queue.retire(connection, batch_size=10) == [id]
    assert the_row(engine, id).outcome == "retired"


def test_the_claims_of_a_dead_worker_come_back_before_their_lease_ends(engine: Engine) -> None:
    id = a_snooze(engine)
    with engine.begin() as connection:
        workers.register(connection, id="mortal")
    claim(engine, worker="mortal")
    assert recover(engine) == []
    with engine.begin() as connection:
        workers.deregister(connection, id="mortal")
    [found] = recover(engine)
    assert (found.id, found.worker, found.uncertain, found.retired) == (id, "mortal", False, False)
    row = the_row(engine, id)
    assert (row.crash_count, row.attempts, row.claimed_at) == (1, 0, None)


def test_a_lease_that_ran_out_is_taken_back(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine, worker="unregistered")
    assert recover(engine) == []
    lapse(engine, [held.id])
    assert [row.id for row in recover(engine)] == [held.id]


def test_recovery_records_the_present_error_and_not_an_older_one(engine: Engine) -> None:
    """Seed 000 keeps the old error and stamps it with the new time."""
    id = a_snooze(engine, last_error="550 no such user", last_error_at=now() - 100 * HOUR)
    claim(engine)
    lapse(engine, [id])
    recover(engine)
    assert "lost" in the_row(engine, id).last_error


def test_a_row_with_two_billion_attempts_does_not_stop_the_sweep(engine: Engine) -> None:
    """Seeds 001 and 002 compute an interval that overflows, and nothing is recovered any more."""
    monster = a_snooze(engine, attempts=2_000_000_000, max_attempts=2_100_000_000, crash_count=2_000_000_000)
    innocent = a_snooze(engine)
    claim(engine)
    claim(engine, poison_rows=True)
    lapse(engine, [monster, innocent])
    assert {row.id for row in recover(engine)} == {monster, innocent}


def test_a_row_that_kills_its_workers_is_delivered_apart_and_retired(engine: Engine) -> None:
    """Seed 000: a killer row comes first in every batch for ever, and takes its batch with it."""
    killer = a_snooze(engine)
    claim(engine)
    for death in range(1, 6):
        lapse(engine, [killer])
        [found] = recover(engine)
        assert found.retired is (death == 5)
        assert claim(engine) == []
        claim(engine, poison_rows=True)
    assert the_row(engine, killer).outcome == "retired"


def test_a_stopping_worker_gives_back_claims_it_never_began(engine: Engine) -> None:
    id = a_snooze(engine)
    before = the_row(engine, id)
    [held] = claim(engine, worker="leaving")
    with engine.begin() as connection:
        assert queue.unclaim(connection, held=[(id, held.claim_token)]) == {id}
    row = the_row(engine, id)
    assert (row.attempts, row.crash_count, row.remind_at, row.claimed_at) == (0, 0, before.remind_at, None)


def test_an_invented_token_changes_nothing(engine: Engine) -> None:
    id = a_snooze(engine)
    with engine.begin() as connection:
        assert queue.finalize(connection, held=[(id, uuid4())]) == set()
