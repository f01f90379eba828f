"""Another timeline, server or database than was accepted: workers notice it, and one acceptance ends it."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Engine, text

from snoozer.db import queue, schema, timeline
from snoozer.delivery.breaker_client import BreakerClient
from snoozer.smtp.server_limits import ServerLimits
from tests.factories import a_snooze

CHANGES = {"server": "system_identifier = 1", "database": "database_oid = 1", "timeline": "timeline = '00000000'"}


def changed(engine: Engine) -> str | None:
    with engine.connect() as connection:
        change = timeline.change(connection)
    return change.what if change else None


def accept(engine: Engine) -> None:
    with engine.begin() as connection:
        timeline.accept(connection, accepted_by="tests")


def accept_other(engine: Engine, what: str) -> None:
    """As if another place had been accepted."""
    accept(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE accepted_timelines SET {CHANGES[what]}"))  # noqa: S608


def a_client(engine: Engine, *, waits: bool = True) -> BreakerClient:
    return BreakerClient(
        engine=engine,
        limits=ServerLimits(threshold=5),
        server="mail.example:25",
        threshold=5,
        cooldown=timedelta(seconds=30),
        waits_after_failover=waits,
    )


def claimed(engine: Engine, client: BreakerClient) -> int:
    """How many rows a worker with this client claims; they are given back."""
    claim = partial(queue.claim, worker="w", batch_size=10, lease=timedelta(seconds=90))
    with engine.connect() as connection:
        return len(client.claim_if_accepted(claim, connection))


@pytest.fixture
def stranger(engine: Engine) -> Iterator[Engine]:
    """The database as a role without the right to read the control file."""
    with engine.begin() as connection:
        connection.execute(text("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public"))
        connection.execute(text("CREATE ROLE stranger"))
        connection.execute(text("GRANT SELECT ON accepted_timelines TO stranger"))
    yield engine
    with engine.begin() as connection:
        connection.execute(text("DROP OWNED BY stranger"))
        connection.execute(text("DROP ROLE stranger"))
        connection.execute(text("GRANT EXECUTE ON FUNCTION pg_control_system() TO public"))


def test_the_place_of_the_migration_is_accepted(empty_database: Engine) -> None:
    schema.upgrade(empty_database)
    assert changed(empty_database) is None
    with empty_database.connect() as connection:
        known = connection.execute(text("SELECT * FROM accepted_timelines")).one()
    assert known.accepted_by == "migrate"
    assert None not in known


@pytest.mark.parametrize("what", CHANGES)
def test_nothing_is_claimed_until_the_change_is_accepted(engine: Engine, what: str) -> None:
    a_snooze(engine)
    accept_other(engine, what)
    assert changed(engine) == what
    assert claimed(engine, a_client(engine)) == 0
    assert claimed(engine, a_client(engine, waits=False)) == 1
    accept(engine)
    assert (changed(engine), claimed(engine, a_client(engine))) == (None, 1)


def test_where_nothing_was_accepted_nothing_is_waited_for(engine: Engine) -> None:
    a_snooze(engine)
    assert (changed(engine), claimed(engine, a_client(engine))) == (None, 1)


def test_what_a_role_may_not_ask_is_no_change_and_the_rest_is_compared(stranger: Engine) -> None:
    for what in CHANGES:
        accept_other(stranger, what)
        with stranger.begin() as connection:
            connection.execute(text("SET LOCAL ROLE stranger"))
            change = timeline.change(connection)
        assert (change and change.what) == (None if what == "server" else what)


def test_waiting_is_logged_once_in_a_while(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    accept_other(engine, "timeline")
    client = a_client(engine)
    assert [claimed(engine, client) for _ in range(3)] == [0] * 3
    [line] = caplog.messages
    assert "a standby was promoted, or a backup restored; nothing is claimed until `snoozer restored`" in line
