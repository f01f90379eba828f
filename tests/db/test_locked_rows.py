"""A row that another transaction has locked delays no other: it is left out, and tried again."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db.engine import autocommit
from snoozer.queue import ledger, queue
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from tests.db.transitions import (
    SHA,
    a_fact,
    a_held_mail,
    authorise,
    refuse_one,
    release_one,
    schedule_next_one,
    sendable,
)
from tests.factories import HOUR, a_kept_message, now

Act = Callable[[Connection, Claim, Send], object]

TEN_MINUTES = UncertainPolicy(hold=timedelta(minutes=10))
LOCKS = {
    "snooze": "SELECT 1 FROM email_snoozes FOR UPDATE",
    "send": "SELECT 1 FROM reminder_sends FOR UPDATE",
    "message": "SELECT 1 FROM messages FOR UPDATE",
}

ACTS: dict[str, Act] = {
    "authorise": lambda connection, held, send: _authorise(connection, [send]),
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
        ("authorise", "snooze"),
        ("authorise", "send"),
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
    held, send = a_held_mail(engine)
    if locked == "message":
        a_kept_message(engine, message_id=held.message_id)
    if name == "authorise":
        send = a_refused_mail(engine, held, send)
    else:
        authorise(engine, send)
    act = ACTS[name]
    with autocommit(engine) as connection:
        connection.execute(text("SET statement_timeout = '20s'"))
        with engine.begin() as other:
            other.execute(text(LOCKS[locked]))
            assert not act(connection, held, send)
            assert queue.owned(connection, held=_pair(held)) == {held.id}
        assert act(connection, held, send)
        connection.invalidate()


def test_a_locked_entry_of_an_earlier_attempt_delays_no_other(engine: Engine) -> None:
    """It was waited for, and every claim after the statement timeout found the same row first."""
    held, send = a_held_mail(engine)
    earlier = a_refused_mail(engine, held, send)
    _, other = a_held_mail(engine)
    with autocommit(engine) as connection:
        connection.execute(text("SET statement_timeout = '20s'"))
        with engine.begin() as operator:
            operator.execute(text("SELECT 1 FROM reminder_sends FOR UPDATE"))
            assert _authorise(connection, [earlier, other]) == [other.snooze_id]
        assert _authorise(connection, [earlier]) == [held.id]
        connection.invalidate()


def a_refused_mail(engine: Engine, held: Claim, send: Send) -> Send:
    """The mail of the same claim, after the server refused it once."""
    with engine.begin() as connection:
        refuse_one(connection, send, reply="451 later", smtp_code=451)
    [again] = sendable(engine, held)
    return again


def _authorise(connection: Connection, sends: Sequence[Send]) -> list[int]:
    dots = [(send, SHA) for send in sends]
    return [one.snooze_id for one in ledger.authorise(connection, dots=dots, uncertainty=TEN_MINUTES)]
