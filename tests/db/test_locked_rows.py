"""A row that another transaction has locked delays no other: it is left out, and tried again."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db.engine import autocommit
from snoozer.queue import ledger, queue
from snoozer.queue.ledger import Reserved
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from tests.db.transitions import SHA, a_fact, a_reserved_send, claim, mark, release, release_one, schedule_next_one
from tests.factories import HOUR, a_kept_message, a_snooze, now

Act = Callable[[Connection, Claim, Send], object]

TEN_MINUTES = UncertainPolicy(hold=timedelta(minutes=10))
LOCKS = {
    "snooze": "SELECT 1 FROM email_snoozes FOR UPDATE",
    "send": "SELECT 1 FROM reminder_sends FOR UPDATE",
    "message": "SELECT 1 FROM messages FOR UPDATE",
}

ACTS: dict[str, Act] = {
    "mark": lambda connection, held, send: ledger.mark(connection, dots=[(send, SHA)]),
    "record": lambda connection, held, send: ledger.record(connection, facts=[a_fact(send)]),
    "lock": lambda connection, held, send: ledger.lock(connection, sends=[send]),
    "finalize": lambda connection, held, send: queue.finalize(connection, held=_pair(held)),
    "unclaim": lambda connection, held, send: queue.unclaim(connection, held=_pair(held)),
    "schedule_next": lambda connection, held, send: schedule_next_one(connection, held, now() + HOUR),
    "release": lambda connection, held, send: release_one(connection, held, error="451", attempts_used=1, delay=HOUR),
}


def _pair(held: Claim) -> queue.HeldClaims:
    return [(held.id, held.claim_token)]


@pytest.mark.parametrize(
    ("name", "locked"),
    [
        ("mark", "snooze"),
        ("mark", "send"),
        ("record", "send"),
        ("lock", "send"),
        ("finalize", "snooze"),
        ("schedule_next", "snooze"),
        ("schedule_next", "message"),
        ("unclaim", "snooze"),
        ("release", "snooze"),
    ],
)
def test_a_locked_row_is_not_waited_for(name: str, locked: str, engine: Engine) -> None:
    """A forgotten transaction over a worker's rows stopped all its mail, a second for each row."""
    held, send = a_reserved_send(engine)
    a_kept_message(engine, message_id=held.message_id)
    if name != "mark":
        mark(engine, send)
    act = ACTS[name]
    with autocommit(engine) as connection:
        connection.execute(text("SET statement_timeout = '20s'"))
        with engine.begin() as other:
            other.execute(text(LOCKS[locked]))
            assert not act(connection, held, send)
            assert queue.owned(connection, held=_pair(held)) == {held.id}
        assert act(connection, held, send)
        connection.invalidate()


def test_a_locked_entry_of_an_earlier_attempt_stops_no_claim(engine: Engine) -> None:
    """It was waited for, and every claim after the statement timeout found the same row first."""
    held, _ = a_reserved_send(engine)
    release(engine, held, delay=timedelta(0))
    other = a_snooze(engine)
    claims = claim(engine)
    with autocommit(engine) as connection:
        connection.execute(text("SET statement_timeout = '20s'"))
        with engine.begin() as operator:
            operator.execute(text("SELECT 1 FROM reminder_sends FOR UPDATE"))
            assert [entry.send.snooze_id for entry in _reserved(connection, claims)] == [other]
        assert {entry.send.snooze_id for entry in _reserved(connection, claims)} == {held.id, other}
        connection.invalidate()


def _reserved(connection: Connection, claims: Sequence[Claim]) -> list[Reserved]:
    return ledger.reserve(
        connection, worker="w", ids=[one.id for one in claims], domain="snoozer.example", uncertainty=TEN_MINUTES
    )
