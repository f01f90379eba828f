"""Statements for a whole batch wait for a lock for a second at most; the rows behind it are tried alone."""

from collections.abc import Callable

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db import ledger, queue
from snoozer.db.engine import autocommit
from snoozer.domain.reminder import Claim, Send
from tests.db.transitions import SHA, a_fact, a_reserved_send, mark

Act = Callable[[Connection, Claim, Send], object]

SNOOZES, SENDS = "SELECT 1 FROM email_snoozes FOR UPDATE", "SELECT 1 FROM reminder_sends FOR UPDATE"

ACTS: dict[str, tuple[str, Act]] = {
    "mark": (SNOOZES, lambda connection, held, send: ledger.mark(connection, dots=[(send, SHA)])),
    "record": (SENDS, lambda connection, held, send: ledger.record(connection, facts=[a_fact(send)])),
    "finalize": (
        SNOOZES,
        lambda connection, held, send: queue.finalize(connection, held=[(held.id, held.claim_token)]),
    ),
}


@pytest.mark.parametrize("name", ACTS)
def test_it_does_not_wait_long_for_a_lock(name: str, engine: Engine) -> None:
    lock, act = ACTS[name]
    held, send = a_reserved_send(engine)
    if name != "mark":
        mark(engine, send)
    with engine.begin() as somebody:
        somebody.execute(text(lock))
        with autocommit(engine) as connection:
            connection.execute(text("SET statement_timeout = '20s'"))
            with pytest.raises(OperationalError) as raised:
                act(connection, held, send)
            connection.invalidate()
    assert isinstance(raised.value.orig, LockNotAvailable)
