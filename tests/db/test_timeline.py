"""Another timeline, server or database than was accepted: workers notice it, and one acceptance ends it."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db import schema, timeline
from snoozer.delivery.claiming import FairScheduler
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


def claimed(engine: Engine, *, any_timeline: bool = False) -> int:
    """How many rows a worker claims; they are given back."""
    scheduler = FairScheduler(worker="w", lease=timedelta(seconds=90), any_timeline=any_timeline)
    with engine.connect() as connection:
        return len(scheduler.claim_batch(connection, batch_size=10))


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
    assert claimed(engine) == 0
    assert claimed(engine, any_timeline=True) == 1
    accept(engine)
    assert (changed(engine), claimed(engine)) == (None, 1)


def test_where_nothing_was_accepted_nothing_is_waited_for(engine: Engine) -> None:
    a_snooze(engine)
    assert (changed(engine), claimed(engine)) == (None, 1)


def test_what_a_role_may_not_ask_is_no_change_and_the_rest_is_compared(stranger: Engine) -> None:
    for what in CHANGES:
        accept_other(stranger, what)
        with stranger.begin() as connection:
            connection.execute(text("SET LOCAL ROLE stranger"))
            change = timeline.change(connection)
        assert (change and change.what) == (None if what == "server" else what)
