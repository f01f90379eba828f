"""The bell rings for what is due before the next poll, is heard anew after a cut, and nothing depends on it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db import listen_notify
from snoozer.db.engine import make_engine
from snoozer.db.listen_notify import listen
from snoozer.delivery import notify_listener
from snoozer.delivery.notify_listener import NotifyListener
from tests.db.transitions import claim, finalize
from tests.factories import HOUR, a_snooze, now
from tests.stalling import StallingWay

LONG_ENOUGH = 20


@contextmanager
def ringing(engine: Engine) -> Iterator[SimpleQueue[None]]:
    rings: SimpleQueue[None] = SimpleQueue()
    listening = NotifyListener(engine, on_notify=lambda: rings.put(None))
    listening.start()
    try:
        until_somebody_listens(engine)
        rings.get(timeout=LONG_ENOUGH)  # Who begins to listen rings, too.
        yield rings
    finally:
        listening.stop()


def listeners(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT pid FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()")
        )
        return list(found.scalars())


def until_somebody_listens(engine: Engine, *, other_than: int | None = None) -> int:
    while True:
        for pid in listeners(engine):
            if pid != other_than:
                return pid


def is_silent(rings: SimpleQueue[None], engine: Engine) -> bool:
    """Nothing rang before a row that surely rings: notices come in the order of their commits."""
    a_snooze(engine, remind_at=now())
    rings.get(timeout=LONG_ENOUGH)
    try:
        rings.get_nowait()
    except Empty:
        return True
    return False


def test_a_row_that_is_due_soon_rings(engine: Engine) -> None:
    with ringing(engine) as rings:
        a_snooze(engine, remind_at=now())
        rings.get(timeout=LONG_ENOUGH)


def test_many_rows_of_one_statement_ring_once(engine: Engine) -> None:
    with ringing(engine) as rings:
        with engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                    "SELECT 'ann@snoozer.example', gen_random_uuid()::text, now() FROM generate_series(1, 50)"
                )
            )
        rings.get(timeout=LONG_ENOUGH)
        assert is_silent(rings, engine)


def test_what_lies_ahead_and_what_workers_do_is_silent(engine: Engine) -> None:
    with ringing(engine) as rings:
        a_snooze(engine, remind_at=now() + HOUR)
        a_snooze(engine, remind_at=now(), inactive=True)
        assert is_silent(rings, engine)
        [held] = claim(engine)
        finalize(engine, held)
        assert is_silent(rings, engine)


def test_a_line_that_was_cut_is_taken_up_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_listener, "INITIAL_BACKOFF", 0)
    with ringing(engine) as rings:
        [first] = listeners(engine)
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first})
        until_somebody_listens(engine, other_than=first)
        rings.get(timeout=LONG_ENOUGH)
        a_snooze(engine, remind_at=now())
        rings.get(timeout=LONG_ENOUGH)


def test_a_primary_that_was_demoted_and_lives_on_is_left(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows came in at the new one, and nothing rang for them until the old one ended."""
    monkeypatch.setattr(listen_notify, "LIFE_SECONDS", 0.05)
    session = make_engine(engine.url.render_as_string(hide_password=False), name="demoted", pool_size=1)
    with session.connect() as connection:
        connection.execute(text("SET default_transaction_read_only = on"))
        connection.commit()
    ends = time.monotonic() + LONG_ENOUGH
    listen(session, heard=lambda: None, until=lambda: time.monotonic() > ends)
    assert time.monotonic() < ends
    session.dispose()


def test_a_server_that_hangs_is_left(way: StallingWay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_notify, "LIFE_SECONDS", 0.05)
    monkeypatch.setattr(listen_notify, "CONNECT_TIMEOUT", 0.2)
    hanging = make_engine(way.url, name="hanging")
    ends = time.monotonic() + LONG_ENOUGH
    with pytest.raises(OperationalError):
        listen(hanging, heard=way.stall, until=lambda: time.monotonic() > ends)
    hanging.dispose()
