"""A mail server's reply is recorded, by any worker, however late and however often."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Engine

from snoozer.queue import ledger
from tests.db.transitions import a_fact, a_held_mail, authorise, lapse, record, recover, recovered, sendable
from tests.factories import the_send


def test_a_late_250_is_recorded_without_a_claim(engine: Engine) -> None:
    """Seeds 001 and 002 throw the fact away when the lease is over, and send again."""
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    recover(engine)
    assert the_send(engine, held.id).state == "uncertain"
    assert record(engine, send).late is True
    row = the_send(engine, held.id)
    assert (row.state, row.late, row.resolution, row.resolved_by) == ("sent", True, "late reply", "server")


def test_recording_a_fact_twice_is_no_second_copy(engine: Engine) -> None:
    _, send = a_held_mail(engine)
    authorise(engine, send)
    assert (record(engine, send).late, record(engine, send).second_copy) == (False, False)


def test_two_250s_recorded_in_one_batch_are_two_copies(engine: Engine) -> None:
    held, first = a_held_mail(engine)
    authorise(engine, first)
    again = recovered(engine, held)
    [entry] = sendable(engine, again, hold=timedelta(0))
    authorise(engine, entry)
    with engine.begin() as connection:
        ledger.record(connection, facts=[a_fact(first)])
        with engine.begin() as other:
            assert ledger.record(other, facts=[a_fact(entry)]) == {}
            known = {entry.reminder_message_id}
            assert ledger.exists(other, reminder_message_ids=sorted(known)) == known
    assert record(engine, entry) == ledger.Recorded(late=False, second_copy=True)


def test_a_fact_of_another_database_changes_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    foreign = replace(a_fact(send), reminder_message_id="<elsewhere@snoozer.example>")
    with engine.begin() as connection:
        assert ledger.record(connection, facts=[foreign]) == {}
    assert the_send(engine, held.id) is None


def test_a_second_250_of_another_worker_is_a_second_copy(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    again = recovered(engine, held)
    [entry] = sendable(engine, again, hold=timedelta(0))
    assert entry.resends == 1
    authorise(engine, entry)
    record(engine, entry)
    assert record(engine, send).second_copy is True
