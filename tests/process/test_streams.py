"""Streams of events to open lists, when the database crashes under them."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.postgres import Postgres
from snoozer.dev.processes import database_reaper
from tests.conftest import HANG_SECONDS
from tests.factories import People, a_snooze
from tests.web.live_site import live_site
from tests.web.streams import Stream, snapshot


@pytest.fixture
def own(open_folder: Path) -> Iterator[Engine]:
    """A server of this test's own, which it may crash."""
    wanted = os.environ.get("SNOOZER_PG_BIN")
    with database_reaper() as register:
        server = Postgres(
            open_folder, wanted=Path(wanted) if wanted else None, shared=open_folder / "shared", on_launch=register
        )
        engine = make_engine(server.start().replace("postgresql://", "postgresql+psycopg://"), name="tests")
        schema.upgrade(engine)
        yield engine
        engine.dispose()
        server.stop()


def crash(engine: Engine) -> None:
    """A process of the server is killed: it ends all sessions, recovers, and empties unlogged tables."""
    with engine.connect() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(DBAPIError):
            connection.execute(text("SELECT pg_sleep(60)"))


def a_snooze_once_it_recovered(engine: Engine) -> None:
    ends = time.monotonic() + HANG_SECONDS
    while time.monotonic() < ends:
        try:
            a_snooze(engine)
        except DBAPIError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the database did not recover")


def test_streams_survive_a_crash_of_the_database_and_say_what_was_missed(own: Engine, tmp_path: Path) -> None:
    url = own.url.render_as_string(hide_password=False)
    ann = People(own).ann()
    with live_site(url, tmp_path) as site, Stream(site, ann, seen=snapshot(own)) as stream:
        stream.until("event: ready")
        crash(own)
        # Once because nothing is known, and once because nothing is known of the time before notes were taken again.
        stream.until("event: change\ndata: null\n")
        stream.until("event: change\ndata: null\n")
        a_snooze_once_it_recovered(own)
        stream.until("event: change\ndata: [")
