"""Locks in the database are named as the cause of what waits for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import overview
from snoozer.db.engine import make_engine
from tests.factories import wait_until_a_session_waits
from tests.web.overviews import MINUTE, all_is_well, housekeeping, troubles_of


@pytest.fixture(autouse=True)
def no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "LONG_WAIT", timedelta(0))


@contextmanager
def waiting(engine: Engine, *, name: str) -> Iterator[None]:
    """A session of this name waits for a lock on the queue."""
    other = make_engine(engine.url.render_as_string(hide_password=False), name=name)

    def lock() -> None:
        with other.begin() as connection:
            connection.execute(text("LOCK TABLE email_snoozes IN ROW EXCLUSIVE MODE"))

    with engine.begin() as migration:
        migration.execute(text("LOCK TABLE email_snoozes IN SHARE ROW EXCLUSIVE MODE"))
        thread = Thread(target=lock)
        thread.start()
        wait_until_a_session_waits(engine, who=thread)
        yield
    thread.join()
    other.dispose()


@pytest.mark.parametrize(("name", "kinds"), [("clock", ["locks"]), ("worker", ["locks", "clock"])])
def test_a_clock_that_waits_for_locks_is_not_called_silent(
    operator: FlaskClient, engine: Engine, name: str, kinds: list[str]
) -> None:
    all_is_well(engine)
    housekeeping(engine, ago=MINUTE)
    assert troubles_of(operator) == ["clock"]
    with waiting(engine, name=name):
        assert troubles_of(operator) == kinds
    assert troubles_of(operator) == ["clock"]
