"""A statement that timed out is executed minutes later, when the connection flows again: it does no harm.

The worker has gone on by another way meanwhile. Decisions are fenced by the claim's token, facts are facts whenever.
"""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import autocommit, make_engine
from snoozer.queue import ledger, queue, workers
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from tests.db.transitions import SHA, a_fact, a_held_mail, authorise, claim, finalize, refuse_one, sendable
from tests.factories import the_row, the_send
from tests.stalling import StallingWay

NAME = "snoozer-hanging"


@pytest.fixture
def far(way: StallingWay) -> Iterator[Engine]:
    """The database through a stalling proxy, with one session open that was used before."""
    far = make_engine(way.url, name="hanging", pool_size=1, ping_after=60, read_timeout=lambda: 0.2)
    with far.connect() as connection:
        connection.execute(text("SELECT 1"))
    yield far
    far.dispose()


def mark_without_reply(far: Engine, send: Send) -> None:
    with pytest.raises(DBAPIError), autocommit(far) as connection:
        ledger.authorise(connection, dots=[(send, SHA)], uncertainty=UncertainPolicy(hold=timedelta(0)))


def abort_send(engine: Engine, held: Claim, send: Send) -> None:
    with engine.begin() as connection:
        queue.unclaim(connection, held=[(held.id, held.claim_token)])
        refuse_one(connection, send, reply="The final dot was never sent")


def wait_for_abandoned_sessions(engine: Engine) -> None:
    """Abandoned sessions end once they have executed what was sent to them."""
    left = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = :name")
    with engine.connect() as connection:
        while connection.execute(left, {"name": NAME}).scalar_one():
            connection.rollback()
            time.sleep(0.005)


@pytest.mark.parametrize("lost", ["the mark", "its answer"])
def test_an_abandoned_mark_authorises_one_dot_later_and_no_more(
    engine: Engine, way: StallingWay, far: Engine, lost: str
) -> None:
    held, send = a_held_mail(engine)
    (way.asks if lost == "the mark" else way.answers).clear()
    mark_without_reply(far, send)
    if lost == "its answer":
        wait_for_abandoned_sessions(engine)
        assert the_send(engine, held.id).state == "sending"
    abort_send(engine, held, send)
    way.flow()
    wait_for_abandoned_sessions(engine)
    left = the_send(engine, held.id)
    assert (left is None) if lost == "the mark" else (left.state == "failed")
    [again] = claim(engine)
    [entry] = sendable(engine, again)
    assert authorise(engine, entry)
    assert not authorise(engine, send)


def test_a_late_statement_changes_nothing_and_a_fact_is_recorded_once(
    engine: Engine, way: StallingWay, far: Engine
) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    way.answers.clear()
    with pytest.raises(DBAPIError), autocommit(far) as connection:
        ledger.record(connection, facts=[a_fact(send)])
    with engine.begin() as connection:
        ledger.record(connection, facts=[a_fact(send)])
    assert finalize(engine, held)
    way.flow()
    wait_for_abandoned_sessions(engine)
    assert (the_row(engine, held.id).outcome, the_send(engine, held.id).state) == ("sent", "sent")


def test_a_late_heartbeat_revives_no_dead_worker(engine: Engine, way: StallingWay, far: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="w")
    way.asks.clear()
    with pytest.raises(DBAPIError), autocommit(far) as connection:
        workers.heartbeat(connection, id="w")
    with engine.begin() as connection:
        assert workers.mark_dead(connection, dead_after=timedelta(0)) == ["w"]
    way.flow()
    wait_for_abandoned_sessions(engine)
    with engine.connect() as connection:
        assert workers.list_alive(connection) == []
