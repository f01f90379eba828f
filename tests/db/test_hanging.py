"""A server that hangs with its connections open: every wait ends, and a late reply does no harm."""

import asyncio
import time
from inspect import signature

import psycopg
import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import QueryTimeout, TimeoutConnection, deadline, make_engine, on_loop, per_query_timeout
from snoozer.db.errors import is_transient, is_unavailable
from tests.loops import on_a_loop
from tests.stalling import StallingWay


def test_psycopg_still_has_the_method_that_the_timeout_overrides() -> None:
    assert list(signature(psycopg.Connection.wait).parameters) == list(signature(TimeoutConnection.wait).parameters)


def an_engine(
    way: StallingWay, *, read_timeout: float = 0.3, while_it_flows: float = 60, ping_after: float = 60
) -> Engine:
    def timeout() -> float:
        return while_it_flows if way.answers.is_set() else read_timeout

    return make_engine(way.url, name="hanging", pool_size=2, ping_after=ping_after, read_timeout=timeout)


def seconds_to_time_out(engine: Engine, *, within: float) -> float:
    began = time.monotonic()
    with pytest.raises(DBAPIError), deadline(within), engine.connect():
        pass
    return time.monotonic() - began


def test_a_statement_without_a_reply_counts_as_a_lost_connection(way: StallingWay) -> None:
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
    """Its late replies would be taken for those to other statements."""
    engine = an_engine(way)
    with pytest.raises(DBAPIError), engine.connect() as connection:
        first = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        way.stall()
        connection.execute(text("SELECT 2"))
    way.flow()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != first
    engine.dispose()


def test_where_one_session_hangs_the_idle_ones_are_dropped_without_waiting(way: StallingWay) -> None:
    engine = an_engine(way, read_timeout=60, ping_after=0)
    with engine.connect() as one, engine.connect() as other:
        before = {each.execute(text("SELECT pg_backend_pid()")).scalar_one() for each in (one, other)}
    way.stall()
    assert seconds_to_time_out(engine, within=1) < 30
    way.flow()
    with engine.connect() as one, engine.connect() as other:
        assert not before & {each.execute(text("SELECT pg_backend_pid()")).scalar_one() for each in (one, other)}
    engine.dispose()


def test_a_deadline_and_a_query_timeout_replace_the_read_timeout(way: StallingWay) -> None:
    engine = an_engine(way, while_it_flows=0.2)
    with per_query_timeout(30), engine.connect() as connection:
        connection.execute(text("SELECT pg_sleep(0.5)"))
    engine.dispose()
    slow = an_engine(way, read_timeout=60)
    with pytest.raises(DBAPIError), slow.connect() as connection:
        way.stall()
        with deadline(0.2):
            connection.execute(text("SELECT 1"))
    slow.dispose()


def test_opening_a_connection_to_a_server_that_hangs_times_out(
    way: StallingWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snoozer.db.engine.CONNECT_TIMEOUT", 60)
    engine = an_engine(way)
    way.stall()
    assert seconds_to_time_out(engine, within=0.1) < 30
    engine.dispose()


@on_a_loop
async def test_an_event_loop_goes_on_while_the_database_thinks_and_gives_up_in_time(way: StallingWay) -> None:
    engine = an_engine(way)

    def wait_for_ever(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))
        way.stall()
        connection.execute(text("SELECT 2"))

    with engine.connect() as connection:
        waiting = asyncio.create_task(on_loop(wait_for_ever, connection))
        turns = 0
        while not waiting.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 5
        with pytest.raises(DBAPIError) as gone:
            await waiting
    assert isinstance(gone.value.orig, QueryTimeout)
    engine.dispose()


@on_a_loop
async def test_an_event_loop_goes_on_while_a_connection_is_opened(way: StallingWay) -> None:
    engine = an_engine(way)
    way.stall()
    opening = asyncio.create_task(on_loop(lambda _: engine.connect(), None))
    for _ in range(5):
        await asyncio.sleep(0.01)
    assert not opening.done()
    way.flow()
    (await opening).close()
    engine.dispose()


def test_the_server_probes_for_vanished_clients(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("SHOW tcp_keepalives_idle")).scalar_one() == "30"
