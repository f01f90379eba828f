"""A row that the ledger refuses stops no other: the row at fault is found, and a broken ledger is no row's fault."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import ProgrammingError

from snoozer.db.engine import make_engine
from snoozer.delivery.claiming import DeliveryConfig, FairScheduler, claim_mails, no_failpoint
from snoozer.delivery.verdicts import Dot, Permission, Permissions, RefusedRow, authorise_individually
from snoozer.queue import ledger, queue
from snoozer.queue.reminder import UncertainPolicy
from tests.db.operations import operate
from tests.db.transitions import SHA, release_one
from tests.factories import a_long_snooze, a_snooze, the_row, the_send

LEASE = timedelta(seconds=90)
CONFIG = DeliveryConfig(
    worker="w",
    domain="snoozer.example",
    lease=LEASE,
    uncertainty=UncertainPolicy(hold=timedelta(seconds=600)),
    first_delay=timedelta(seconds=60),
    deadline=720.0,
)


def authorise(connection: Connection, dots: Sequence[Dot]) -> Permissions:
    mails = [(dot.send, dot.digest) for dot in dots]
    found = ledger.authorise(connection, dots=mails, uncertainty=CONFIG.uncertainty)
    return {one.claim_token: Permission(due=0, read_in=0, since=0) for one in found}


def authorised(engine: Engine) -> dict[int, RefusedRow | None]:
    """Claims what is due, and asks for the dots of its mails; by snooze, the row that was refused."""
    claim = partial(queue.claim, worker=CONFIG.worker, batch_size=50, lease=LEASE)
    deliveries = claim_mails(engine, config=CONFIG, claim=claim, failpoint=no_failpoint)
    sends = [delivery.send for delivery in deliveries if delivery.send is not None]
    tokens, refused = authorise_individually(
        engine, dots=[Dot(send=send, digest=SHA) for send in sends], authorise=authorise
    )
    assert all((send.claim_token in tokens) != (send.snooze_id in refused) for send in sends)
    return {send.snooze_id: refused.get(send.snooze_id) for send in sends}


def the_error(refused: RefusedRow | None) -> RefusedRow:
    assert refused is not None
    return refused


@contextmanager
def altered(engine: Engine, there: str, back: str) -> Iterator[None]:
    """The ledger's table, altered by hand."""
    with engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE reminder_sends {there}"))
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE reminder_sends {back}"))


def refusing(engine: Engine, what: str) -> AbstractContextManager[None]:
    return altered(engine, f"ADD CONSTRAINT ck_odd CHECK (NOT ({what})) NOT VALID", "DROP CONSTRAINT ck_odd")


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_row_too_long_for_the_ledger_delays_no_other(
    engine: Engine, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [a_long_snooze(engine) if number == place else a_snooze(engine) for number in range(7)]
    with caplog.at_level(logging.INFO):
        verdicts = authorised(engine)
    bad = ids.pop(place)
    assert all(verdicts[id] is None for id in ids)
    error = the_error(verdicts[bad])
    assert (error.permanent, error.attempts_used) == (True, 1)
    assert the_row(engine, bad).claimed_by == "w"
    assert the_send(engine, bad) is None
    assert f"snooze {bad} (SQLSTATE 54000)" in caplog.text
    logged = caplog.text + error.error
    assert not any(word in logged for word in ("Quarterly", "@", the_row(engine, bad).message_id[:5]))


def test_a_row_too_long_is_at_fault_though_it_is_alone(engine: Engine) -> None:
    bad = a_long_snooze(engine)
    assert the_error(authorised(engine)[bad]).permanent


def test_several_bad_rows_are_all_found(engine: Engine) -> None:
    bad = [a_long_snooze(engine, user_email=f"p{number}@snoozer.example") for number in range(5)]
    fine = [a_snooze(engine) for _ in range(5)]
    verdicts = authorised(engine)
    assert [(the_error(verdicts[id]).permanent, the_error(verdicts[id]).attempts_used) for id in bad] == [
        (True, 1)
    ] * len(bad)
    assert all(verdicts[id] is None for id in fine)


def test_a_row_whose_values_are_refused_is_at_fault_if_others_are_accepted(engine: Engine) -> None:
    bad, fine = a_snooze(engine, subject="odd"), a_snooze(engine)
    with refusing(engine, "subject = 'odd'"):
        verdicts = authorised(engine)
    assert the_error(verdicts[bad]).permanent
    assert "23514" in the_error(verdicts[bad]).error
    assert verdicts[fine] is None


def test_a_row_that_is_refused_alone_spends_an_attempt_and_is_no_case_yet(engine: Engine) -> None:
    bad = a_snooze(engine)
    with refusing(engine, "TRUE"):
        error = the_error(authorised(engine)[bad])
    assert (error.permanent, error.attempts_used) == (False, 1)


def test_a_ledger_that_refuses_every_row_spends_no_attempt(engine: Engine) -> None:
    ids = [a_snooze(engine) for _ in range(5)]
    with refusing(engine, "TRUE"):
        errors = [the_error(verdict) for verdict in authorised(engine).values()]
    assert len(errors) == len(ids)
    assert {(error.permanent, error.attempts_used) for error in errors} == {(False, 0)}


def test_a_statement_that_is_wrong_is_no_rows_fault_and_claims_nothing(engine: Engine) -> None:
    id = a_snooze(engine)
    with altered(engine, "RENAME zone TO zone_of_old", "RENAME zone_of_old TO zone"), pytest.raises(ProgrammingError):
        authorised(engine)
    assert the_row(engine, id).claimed_at is None


def test_a_case_can_be_claimed_once_it_is_corrected_and_reactivated(engine: Engine) -> None:
    bad, fine = a_long_snooze(engine), a_snooze(engine)
    error = the_error(authorised(engine)[bad])
    row = the_row(engine, bad)
    with engine.begin() as connection:
        state = release_one(
            connection,
            row,
            error=error.error,
            attempts_used=error.attempts_used,
            delay=timedelta(0),
            permanent=error.permanent,
        )
        assert state == "retired"
        connection.execute(
            text("UPDATE email_snoozes SET message_id = '<short@mail.example>' WHERE id = :id"), {"id": bad}
        )
        assert operate(connection, "reactivate", [bad]) == [bad]
    verdicts = authorised(engine)
    assert verdicts[bad] is None
    assert fine not in verdicts


@contextmanager
def slow_updates(engine: Engine) -> Iterator[None]:
    """Each row that is claimed takes the server a while."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION slowly() RETURNS TRIGGER LANGUAGE plpgsql "
                "AS 'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END';"
                "CREATE TRIGGER slowly BEFORE UPDATE ON email_snoozes FOR EACH ROW EXECUTE FUNCTION slowly()"
            )
        )
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP TRIGGER slowly ON email_snoozes; DROP FUNCTION slowly()"))


def test_a_claim_that_exceeds_the_statement_timeout_is_tried_again_with_fewer_rows(
    engine: Engine, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It failed again and again, and the log reported a database that is unavailable."""
    for number in range(50):
        a_snooze(engine, user_email=f"p{number}@snoozer.example")
    scheduler = FairScheduler(worker="w", lease=LEASE)
    limited = make_engine(postgres_url, name="tests", pool_size=1)
    with limited.connect() as connection:
        connection.execute(text("SET SESSION statement_timeout = '2s'"))
        connection.commit()
    with slow_updates(engine), caplog.at_level(logging.WARNING):
        claim = partial(scheduler.claim_batch, batch_size=50)
        deliveries = claim_mails(limited, config=CONFIG, claim=claim, failpoint=no_failpoint)
    limited.dispose()
    assert len(deliveries) == 6
    assert "statement timeout" in caplog.text
    assert "unavailable" not in caplog.text
