"""A row that another transaction has locked delays no other: it is left out, and tried again."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import ledger, queue
from snoozer.db.engine import autocommit
from snoozer.domain.reminder import Claim, Send
from tests.db.transitions import SHA, a_fact, a_reserved_send, mark, release_one, schedule_next_one
from tests.factories import HOUR, now

Act = Callable[[Connection, Claim, Send], object]

SNOOZE, SEND = "SELECT 1 FROM email_snoozes FOR UPDATE", "SELECT 1 FROM reminder_sends FOR UPDATE"

ACTS: dict[str, tuple[str, Act]] = {
    "mark": (SNOOZE, lambda connection, held, send: ledger.mark(connection, dots=[(send, SHA)])),
    "record": (SEND, lambda connection, held, send: ledger.record(connection, facts=[a_fact(send)])),
    "finalize": (SNOOZE, lambda connection, held, send: queue.finalize(connection, held=_pair(held))),
    "unclaim": (SNOOZE, lambda connection, held, send: queue.unclaim(connection, held=_pair(held))),
    "schedule_next": (SNOOZE, lambda connection, held, send: schedule_next_one(connection, held, now() + HOUR)),
    "release": (
        SNOOZE,
        lambda connection, held, send: release_one(connection, held, error="451", attempts_used=1, delay=HOUR),
    ),
}


def _pair(held: Claim) -> queue.HeldClaims:
    return [(held.id, held.claim_token)]


@pytest.mark.parametrize("name", ACTS)
def test_a_locked_row_is_not_waited_for(name: str, engine: Engine) -> None:
    """A forgotten transaction over a worker's rows stopped all its mail, a second for each row."""
    lock, act = ACTS[name]
    held, send = a_reserved_send(engine)
    if name != "mark":
        mark(engine, send)
    with autocommit(engine) as connection:
        connection.execute(text("SET statement_timeout = '20s'"))
        with engine.begin() as other:
            other.execute(text(lock))
            assert not act(connection, held, send)
            assert queue.owned(connection, held=_pair(held)) == {held.id}
        assert act(connection, held, send)
        connection.invalidate()
