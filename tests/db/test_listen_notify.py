"""Workers are notified of what is due before the next poll; a cut connection is replaced, and nothing depends on it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db.engine import make_engine
from snoozer.queue.listen_notify import listen, notify_listener
from tests.db.transitions import claim, finalize
from tests.factories import HOUR, a_snooze, now
from tests.stalling import StallingWay

TIMEOUT = 60


@contextmanager
def listening(engine: Engine, *, first_wait: float = 0.1) -> Iterator[SimpleQueue[None]]:
    calls: SimpleQueue[None] = SimpleQueue()
    listener = notify_listener(engine, on_notify=lambda: calls.put(None), first_wait=first_wait)
    listener.start()
    try:
        wait_for_a_listener(engine)
        calls.get(timeout=TIMEOUT)  # The first call is for what was sent before.
        yield calls
    finally:
        listener.stop()


def listeners(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT pid FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()")
        )
        return list(found.scalars())


def wait_for_a_listener(engine: Engine, *, other_than: int | None = None) -> int:
    while True:
        for pid in listeners(engine):
            if pid != other_than:
                return pid
        time.sleep(0.005)


def was_silent(calls: SimpleQueue[None], engine: Engine) -> bool:
    """No notification came before that of a row which surely sends one: they come in the order of their commits."""
    a_snooze(engine, remind_at=now())
    calls.get(timeout=TIMEOUT)
    try:
        calls.get_nowait()
    except Empty:
        return True
    return False


def test_a_row_that_is_due_soon_notifies(engine: Engine) -> None:
    with listening(engine) as calls:
        a_snooze(engine, remind_at=now())
        calls.get(timeout=TIMEOUT)


def test_many_rows_of_one_statement_notify_once(engine: Engine) -> None:
    with listening(engine) as calls:
        with engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                    "SELECT 'ann@snoozer.example', gen_random_uuid()::text, now() FROM generate_series(1, 50)"
                )
            )
        calls.get(timeout=TIMEOUT)
        assert was_silent(calls, engine)


def test_rows_due_later_and_the_updates_of_workers_do_not_notify(engine: Engine) -> None:
    with listening(engine) as calls:
        a_snooze(engine, remind_at=now() + HOUR)
        a_snooze(engine, remind_at=now(), inactive=True)
        assert was_silent(calls, engine)
        [held] = claim(engine)
        finalize(engine, held)
        assert was_silent(calls, engine)


def test_a_connection_that_was_cut_is_replaced(engine: Engine) -> None:
    with listening(engine, first_wait=0) as calls:
        [first] = listeners(engine)
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first})
        wait_for_a_listener(engine, other_than=first)
        calls.get(timeout=TIMEOUT)
        a_snooze(engine, remind_at=now())
        calls.get(timeout=TIMEOUT)


def test_a_primary_that_was_demoted_and_stays_alive_is_left(engine: Engine) -> None:
    """Rows came in at the new one, and no notification came until the old one ended."""
    session = make_engine(engine.url.render_as_string(hide_password=False), name="demoted", pool_size=1)
    with session.connect() as connection:
        connection.execute(text("SET default_transaction_read_only = on"))
        connection.commit()
    ends = time.monotonic() + TIMEOUT
    listen(session, on_notify=lambda: None, until=lambda: time.monotonic() > ends, check_interval=0.05)
    assert time.monotonic() < ends
    session.dispose()


def test_a_server_that_hangs_is_left(way: StallingWay) -> None:
    hanging = make_engine(way.url, name="hanging")
    ends = time.monotonic() + TIMEOUT
    with pytest.raises(OperationalError):
        listen(
            hanging, on_notify=way.stall, until=lambda: time.monotonic() > ends, check_interval=0.05, check_timeout=0.2
        )
    hanging.dispose()
