"""A recipient whom the mail server refuses for now is tried again like a mail server does: for days, and no attempt is
spent."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.claiming import Delivery
from tests.db.pipelines import a_pipeline, reap_all
from tests.db.transitions import claim, sendable
from tests.factories import a_snooze, the_events, the_row, the_send
from tests.mail.scripted_server import ScriptedServer
from tests.next_try import SECOND, set_next_try

HOUR = timedelta(hours=1)
FULL = "452 4.2.2 The mailbox is full"


def refuse(engine: Engine, home: Path, *, phase: str = "rcpt", reply: str = FULL) -> Any:
    """Deliver what is due to a server that refuses it, and let its wait pass; returns the row as it was before that."""
    deliveries = [Delivery(claim=held, send=sendable(engine, held)[0]) for held in claim(engine)]
    with ScriptedServer({phase: reply}) as server, a_pipeline(engine, server, home) as (pipeline, _):
        pipeline.submit(deliveries)
        reap_all(pipeline)
    row = the_row(engine, deliveries[0].claim.id)
    set_next_try(engine, -SECOND)
    return row


@pytest.mark.parametrize("phase", ["rcpt", "dot"])
def test_a_full_mailbox_spends_no_attempt_and_is_asked_ever_less_often(
    engine: Engine, tmp_path: Path, phase: str
) -> None:
    """It was a case after a quarter of an hour."""
    id = a_snooze(engine)
    rows = [refuse(engine, tmp_path, phase=phase) for _ in range(8)]
    assert {(row.outcome, row.attempts) for row in rows} == {(None, 0)}
    waits = [row.remind_at - row.last_error_at for row in rows]
    assert HOUR / 2 <= waits[0] <= HOUR
    assert all(HOUR <= wait <= 2 * HOUR for wait in waits[1:])
    send = the_send(engine, id)
    assert (send.state, send.smtp_code, send.refusals) == ("failed", 452, 8)
    assert the_events(engine, id) == ["failed"] * 8


def test_after_three_days_it_is_a_case(engine: Engine, tmp_path: Path) -> None:
    id = a_snooze(engine)
    for _ in range(4):
        refuse(engine, tmp_path)
    promised_days_ago(engine, 2)
    assert refuse(engine, tmp_path).outcome is None
    promised_days_ago(engine, 3)
    row = refuse(engine, tmp_path)
    assert (row.outcome, row.attempts) == ("retired", 0)
    assert "452" in row.last_error
    assert the_events(engine, id)[-1] == "retired"


def test_a_promise_that_was_days_late_before_gets_a_few_tries_too(engine: Engine, tmp_path: Path) -> None:
    """The mail server was away for weeks, and then greylists everybody once."""
    a_snooze(engine)
    promised_days_ago(engine, 45)
    assert [refuse(engine, tmp_path).outcome for _ in range(5)] == [None] * 4 + ["retired"]


@pytest.mark.parametrize(("phase", "reply"), [("mail", "452 4.3.1 no room"), ("rcpt", "421 4.3.2 closing")])
def test_what_is_about_the_server_is_not_counted(engine: Engine, tmp_path: Path, phase: str, reply: str) -> None:
    id = a_snooze(engine)
    refuse(engine, tmp_path, phase=phase, reply=reply)
    send = the_send(engine, id)
    assert send is None or send.refusals == 0


def promised_days_ago(engine: Engine, days: int) -> None:
    """As if what is due had been promised, and entered in the ledger, so many days ago."""
    for statement in (
        "UPDATE email_snoozes SET scheduled_for = now() - CAST(:ago AS interval)",
        "UPDATE reminder_sends SET scheduled_for = (SELECT scheduled_for FROM email_snoozes)",
    ):
        with engine.begin() as connection:
            connection.execute(text(statement), {"ago": timedelta(days=days)})
