"""The mail server's reply is never lost, even when it can be recorded in one place only."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db.engine import make_engine
from snoozer.db.fact_journal import FactJournal
from snoozer.db.ledger import UncertainPolicy
from snoozer.delivery.claiming import DeliveryConfig
from snoozer.delivery.outcome_recorder import OutcomeRecorder, record_inherited_facts
from snoozer.domain.reminder import Claim, DeliveryOutcome, Send
from snoozer.smtp.transport import Reply
from tests import loops
from tests.db.transitions import claim, mark, reserve
from tests.factories import a_snooze, the_row, the_send

DAILY = {"unit": "day", "interval": 1, "start": "2026-01-05", "at": "08:00:00", "until": None}
HOUR = timedelta(hours=1)
CONFIG = DeliveryConfig(
    worker="w", domain="x.example", lease=HOUR, uncertainty=UncertainPolicy(hold=HOUR), first_delay=HOUR, deadline=60
)
REPLY = Reply(250, ("2.0.0 queued as 4X1",))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def sent(engine: Engine, **columns: Any) -> tuple[Claim, Send]:
    a_snooze(engine, **columns)
    [held] = claim(engine)
    [entry] = reserve(engine, held)
    mark(engine, entry.send)
    return held, entry.send


def test_a_reply_that_does_not_fit_on_the_disk_is_recorded_in_the_database_all_the_same(
    engine: Engine, tmp_path: Path
) -> None:
    """An attempt was spent on a mail that the server had accepted, and it was sent again."""
    held, send = sent(engine)
    journal = FactJournal(tmp_path, worker="w")
    operator = engine.connect()
    operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": held.id})

    def after_the_first_try() -> bool:
        operator.rollback()
        return False

    recorder = OutcomeRecorder(
        engine=engine, journal=journal, config=CONFIG, shutting_down=after_the_first_try, rng=Random(1)
    )
    with full_disk():
        outcome = loops.run(recorder.complete(held, send, REPLY, recorded=lambda: None))
    operator.close()
    journal.close()
    assert outcome is DeliveryOutcome.SENT
    assert (the_send(engine, held.id).state, the_row(engine, held.id).outcome) == ("sent", "sent")


def test_a_reply_that_the_database_cannot_record_is_in_the_journal_for_the_next_worker(
    engine: Engine, tmp_path: Path
) -> None:
    held, send = sent(engine)
    journal, away = (
        FactJournal(tmp_path, worker="w"),
        make_engine("postgresql+psycopg://someone@127.0.0.1:9/none", name="away"),
    )
    recorder = OutcomeRecorder(engine=away, journal=journal, config=CONFIG, shutting_down=lambda: True, rng=Random(1))
    with pytest.raises(OperationalError):
        loops.run(recorder.complete(held, send, REPLY, recorded=lambda: None))
    journal.close()
    next_one = FactJournal(tmp_path, worker="next")
    assert record_inherited_facts(engine, journal=next_one, actor="worker:next") == 1
    assert the_send(engine, held.id).state == "sent"
    next_one.close()


@pytest.mark.parametrize("recurrence", [None, DAILY], ids=["once", "daily"])
@pytest.mark.parametrize(("still_held", "outcome"), [(True, DeliveryOutcome.SENT), (False, DeliveryOutcome.LOST)])
def test_the_outcome_is_lost_where_the_claim_was_no_longer_held(
    engine: Engine, tmp_path: Path, recurrence: object, still_held: bool, outcome: DeliveryOutcome
) -> None:
    held, send = sent(engine, recurrence=recurrence)
    if not still_held:
        with engine.begin() as connection:
            connection.execute(text("UPDATE email_snoozes SET claim_token = gen_random_uuid()"))
    journal = FactJournal(tmp_path, worker="w")
    recorder = OutcomeRecorder(engine=engine, journal=journal, config=CONFIG, shutting_down=lambda: True, rng=Random(1))
    assert loops.run(recorder.complete(held, send, REPLY, recorded=lambda: None)) is outcome
    assert the_send(engine, held.id).state == "sent"
    journal.close()
