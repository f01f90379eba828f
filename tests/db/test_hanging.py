"""A server that hangs with its connections open: every wait ends, and what was given up does no harm when it wakes."""

import time

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import make_engine
from snoozer.db.errors import is_transient, is_unavailable
from snoozer.db.timeouts import QueryTimeout, deadline, per_query_timeout
from tests.stalling import StallingWay


def an_engine(way: StallingWay, *, patience: float = 0.3, quiet: float = 60) -> Engine:
    return make_engine(way.url, name="hanging", pool_size=2, ping_after=quiet, read_timeout=lambda: patience)


def seconds_to_give_up(engine: Engine, *, within: float) -> float:
    began = time.monotonic()
    with pytest.raises(DBAPIError), deadline(within), engine.connect():
        pass
    return time.monotonic() - began


def test_a_statement_whose_answer_never_comes_counts_as_a_lost_connection(way: StallingWay) -> None:
    engine = an_engine(way)
    with pytest.raises(DBAPIError) as gone, engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        way.stall()
        connection.execute(text("SELECT 2"))
    assert isinstance(gone.value.orig, QueryTimeout)
    assert gone.value.connection_invalidated
    assert is_transient(gone.value)
    assert is_unavailable(gone.value)
    engine.dispose()


def test_a_session_that_hung_is_never_used_again(way: StallingWay) -> None:
    """Its answers came late, and would be taken for those to other statements."""
    engine = an_engine(way)
    with pytest.raises(DBAPIError), engine.connect() as connection:
        first = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        way.stall()
        connection.execute(text("SELECT 2"))
    way.flow()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != first
    engine.dispose()


def test_where_one_session_hangs_the_others_that_lie_unused_are_not_waited_for(way: StallingWay) -> None:
    engine = an_engine(way, patience=60, quiet=0)
    with engine.connect() as one, engine.connect() as other:
        before = {each.execute(text("SELECT pg_backend_pid()")).scalar_one() for each in (one, other)}
    way.stall()
    assert seconds_to_give_up(engine, within=1) < 30
    way.flow()
    with engine.connect() as one, engine.connect() as other:
        assert not before & {each.execute(text("SELECT pg_backend_pid()")).scalar_one() for each in (one, other)}
    engine.dispose()


def test_who_has_an_end_set_waits_no_longer_and_who_is_given_longer_waits(way: StallingWay) -> None:
    engine = an_engine(way, patience=0.2)
    with engine.connect() as connection, per_query_timeout(30):
        connection.execute(text("SELECT pg_sleep(0.5)"))
    engine.dispose()
    patient = an_engine(way, patience=60)
    with pytest.raises(DBAPIError), patient.connect() as connection:
        way.stall()
        with deadline(0.2):
            connection.execute(text("SELECT 1"))
    patient.dispose()


def test_a_new_connection_to_a_server_that_hangs_is_given_up(way: StallingWay) -> None:
    engine = an_engine(way)
    way.stall()
    assert seconds_to_give_up(engine, within=0.1) < 4
    engine.dispose()


def test_the_server_notices_soon_that_we_vanished(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("SHOW tcp_keepalives_idle")).scalar_one() == "30"
