"""What the mail server said is never forgotten, also when it can be written down in one place only."""

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
from snoozer.delivery.outcome import OutcomeRecorder, record_inherited_facts
from snoozer.domain.reminder import Claim, DeliveryOutcome, Send
from snoozer.smtp.transport import Reply
from tests import loops
from tests.db.transitions import claim, mark, reserve
from tests.factories import a_snooze, the_row, the_send

DAILY = {"unit": "day", "interval": 1, "start": "2026-01-05", "at": "08:00:00", "until": None}
HOUR = timedelta(hours=1)
TERMS = DeliveryConfig(
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


def test_a_reply_that_no_disk_takes_is_told_to_the_database_all_the_same(engine: Engine, tmp_path: Path) -> None:
    """An attempt was spent on a mail that the server had taken, and it went out again."""
    held, send = sent(engine)
    journal = FactJournal(tmp_path, worker="w")
    operator = engine.connect()
    operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": held.id})

    def after_a_first_try() -> bool:
        operator.rollback()
        return False

    settlement = OutcomeRecorder(
        engine=engine, journal=journal, config=TERMS, shutting_down=after_a_first_try, rng=Random(1)
    )
    with full_disk():
        verdict = loops.run(settlement.complete(held, send, REPLY, recorded=lambda: None))
    operator.close()
    journal.close()
    assert verdict is DeliveryOutcome.SENT
    assert (the_send(engine, held.id).state, the_row(engine, held.id).outcome) == ("sent", "sent")


def test_what_the_database_cannot_be_told_lies_on_disk_for_the_next_worker(engine: Engine, tmp_path: Path) -> None:
    held, send = sent(engine)
    journal, away = (
        FactJournal(tmp_path, worker="w"),
        make_engine("postgresql+psycopg://nobody@127.0.0.1:9/none", name="away"),
    )
    settlement = OutcomeRecorder(engine=away, journal=journal, config=TERMS, shutting_down=lambda: True, rng=Random(1))
    with pytest.raises(OperationalError):
        loops.run(settlement.complete(held, send, REPLY, recorded=lambda: None))
    journal.close()
    next_one = FactJournal(tmp_path, worker="next")
    assert record_inherited_facts(engine, journal=next_one, actor="worker:next") == 1
    assert the_send(engine, held.id).state == "sent"
    next_one.close()


@pytest.mark.parametrize("recurrence", [None, DAILY], ids=["once", "daily"])
@pytest.mark.parametrize(("ours", "verdict"), [(True, DeliveryOutcome.SENT), (False, DeliveryOutcome.LOST)])
def test_a_verdict_says_whether_the_claim_was_still_ours(
    engine: Engine, tmp_path: Path, recurrence: object, ours: bool, verdict: DeliveryOutcome
) -> None:
    held, send = sent(engine, recurrence=recurrence)
    if not ours:
        with engine.begin() as connection:
            connection.execute(text("UPDATE email_snoozes SET claim_token = gen_random_uuid()"))
    journal = FactJournal(tmp_path, worker="w")
    settlement = OutcomeRecorder(
        engine=engine, journal=journal, config=TERMS, shutting_down=lambda: True, rng=Random(1)
    )
    assert loops.run(settlement.complete(held, send, REPLY, recorded=lambda: None)) is verdict
    assert the_send(engine, held.id).state == "sent"
    journal.close()
