"""Engines from a DATABASE_URL: several hosts, session settings, failover."""

import gc
import weakref
from datetime import timedelta

import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError

from snoozer.db.engine import autocommit, make_engine
from snoozer.db.errors import is_read_only, is_transient
from snoozer.db.url import parse_url


@pytest.mark.parametrize(
    ("given", "hosts", "ports", "database"),
    [
        ("postgresql://u:p@h1:5432,h2:5433/db?target_session_attrs=read-write", "h1,h2", "5432,5433", "db"),
        ("postgres://u:p@h1,h2/db", "h1,h2", "5432,5432", "db"),
        ("postgresql://u@[::1]:1,h2:2", "::1,h2", "1,2", ""),
        ("postgresql://u:p@/db?host=h1,h2&port=1,2", "h1,h2", "1,2", "db"),
    ],
)
def test_several_hosts_are_parsed_as_libpq_does(given: str, hosts: str, ports: str, database: str) -> None:
    url = make_url(parse_url(given))
    assert (url.query["host"], url.query["port"], url.database or "") == (hosts, ports, database)
    assert ("target_session_attrs" in url.query) == ("target" in given)


@pytest.mark.parametrize("given", ["postgresql://u:p,q@h:1/db", "postgresql://u:p@h:1/a,b"])
def test_a_comma_elsewhere_is_no_second_host(given: str) -> None:
    url = make_url(parse_url(given))
    assert (url.host, url.port, dict(url.query)) == ("h", 1, {})


def test_the_writable_host_is_found_behind_one_that_is_down(postgres_url: str) -> None:
    there = make_url(postgres_url)
    password = f":{there.password}" if there.password else ""
    place = f"127.0.0.1:1,{there.host}:{there.port}/{there.database}"
    engine: Engine = make_engine(
        parse_url(f"postgresql://{there.username}{password}@{place}?target_session_attrs=read-write"), name="tests"
    )
    with engine.connect() as connection:
        assert connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one() is False
    engine.dispose()


def test_defaults_set_by_an_administrator_are_overridden(empty_database: Engine) -> None:
    """Times could not be parsed, and workers failed by serialization errors."""
    odd = ("datestyle = 'German'", "timezone = 'Asia/Kolkata'", "default_transaction_isolation = 'serializable'")
    with empty_database.begin() as connection:
        for setting in odd:
            connection.execute(text(f"ALTER DATABASE another SET {setting}"))
    engine = make_engine(empty_database.url.render_as_string(hide_password=False), name="odd")
    with engine.connect() as connection:
        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
    with autocommit(engine) as connection:
        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
        now = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    engine.dispose()
    assert now.utcoffset() == timedelta(0)


def test_sessions_of_a_demoted_primary_are_replaced(postgres_url: str) -> None:
    """A demoted primary that kept running kept the workers' sessions, and no reminder was claimed."""
    engine = make_engine(postgres_url, name="tests", pool_size=2)
    with engine.connect() as one, engine.connect() as other:
        for demoted in (one, other):
            demoted.execute(text("SET default_transaction_read_only = on"))
            demoted.commit()
    with pytest.raises(DBAPIError) as error, engine.begin() as connection:
        connection.execute(text("CREATE TABLE nothing ()"))
    assert is_read_only(error.value)
    assert is_transient(error.value)
    with engine.connect() as one, engine.connect() as other:
        modes = [each.execute(text("SHOW transaction_read_only")).scalar_one() for each in (one, other)]
    assert modes == ["off", "off"]
    engine.dispose()


def test_lost_sessions_are_not_kept(postgres_url: str) -> None:
    """A worker looks for cycles rarely, and grew by 14 MB over 854 lost sessions."""
    engine, watcher = (make_engine(postgres_url, name=name, pool_size=1) for name in ("lost", "watcher"))
    lost: list[weakref.ref[object]] = []
    gc.disable()
    try:
        for _ in range(5):
            with pytest.raises(OperationalError), engine.connect() as connection:
                lost.append(weakref.ref(connection.connection.dbapi_connection))
                pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
                with watcher.connect() as other:
                    other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
                connection.execute(text("SELECT 1"))
        assert sum(session() is not None for session in lost) <= 1
    finally:
        gc.enable()
        engine.dispose()
        watcher.dispose()
