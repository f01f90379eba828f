"""A worker that cannot reach the database must assume the worst."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import cast
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import READ_TIMEOUT, make_engine
from snoozer.delivery.heartbeat import Heartbeat, boot_time
from snoozer.queue.reminder import Claim
from snoozer.queue.workers import Description
from tests.db.transitions import claim
from tests.factories import a_snooze, the_row
from tests.stalling import StallingWay


@pytest.fixture
def heartbeat(engine: Engine) -> Iterator[Heartbeat]:
    heartbeat = Heartbeat(engine, worker="w", interval=3600, dead_after=10, lease=90, deadline=720)
    heartbeat.start()
    yield heartbeat
    heartbeat.stop()


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Move the boot-time clock on."""
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + seconds)


def claimed(engine: Engine, count: int) -> list[Claim]:
    for _ in range(count):
        a_snooze(engine)
    return claim(engine, worker="w")


def lease_of(engine: Engine, claim: Claim) -> datetime:
    return cast("datetime", the_row(engine, claim.id).lease_expires_at)


def test_a_worker_registers_what_it_is(engine: Engine) -> None:
    description = Description(version="1.2.3", host="ant", batch_size=50, concurrency=8)
    heartbeat = Heartbeat(
        engine, worker="w", interval=3600, dead_after=10, lease=90, deadline=720, description=description
    )
    heartbeat.start()
    heartbeat.stop()
    with engine.connect() as connection:
        known = connection.execute(text("SELECT version, host, batch_size, concurrency FROM workers")).one()
    assert tuple(known) == ("1.2.3", "ant", 50, 8)


def test_the_lease_of_a_fresh_claim_is_safe_until_it_ends(engine: Engine, heartbeat: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    heartbeat.track([held], since=boot_time())
    assert heartbeat.lease_is_safe(held) is True
    assert heartbeat.lease_is_safe(replace(held, claim_token=uuid4())) is False, "another claim of the same row"
    heartbeat.untrack(held)
    assert heartbeat.lease_is_safe(held) is False


def test_a_claim_whose_lease_is_nearly_over_authorises_no_dot(engine: Engine, heartbeat: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    heartbeat.track([held], since=boot_time() - 90 * 0.81)
    assert heartbeat.lease_is_safe(held) is False


def test_a_worker_without_a_recent_heartbeat_authorises_no_dot(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat = Heartbeat(engine, worker="silent", interval=3600, dead_after=10, lease=90, deadline=720)
    heartbeat.start()
    [held] = claimed(engine, 1)
    heartbeat.track([held], since=boot_time())
    assert heartbeat.lease_is_safe(held) is True
    later(monkeypatch, 8.1)
    assert heartbeat.lease_is_safe(held) is False
    assert heartbeat.is_healthy is False
    heartbeat.stop()


def test_a_heartbeat_extends_the_leases_of_tracked_claims_only(engine: Engine, heartbeat: Heartbeat) -> None:
    held, other = claimed(engine, 2)
    first, others = lease_of(engine, held), lease_of(engine, other)
    heartbeat.track([held], since=boot_time())
    heartbeat.beat()
    assert lease_of(engine, held) > first
    assert lease_of(engine, other) == others


def test_a_claim_that_was_taken_away_is_noticed_at_the_next_heartbeat(engine: Engine, heartbeat: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET claim_token = gen_random_uuid()"))
    heartbeat.track([held], since=boot_time())
    heartbeat.beat()
    assert heartbeat.lease_is_safe(held) is False


def test_a_locked_row_does_not_delay_the_heartbeat(
    engine: Engine, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat waited for the lock while it held all leases, and the worker was declared dead."""
    locked, other = claimed(engine, 2)
    heartbeat.track([locked, other], since=boot_time() - 9)
    first, others = lease_of(engine, locked), lease_of(engine, other)
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": locked.id})
        later(monkeypatch, 8.1)
        assert not heartbeat.is_healthy
        heartbeat.beat()
        assert heartbeat.is_healthy
        assert lease_of(engine, other) > others
        assert heartbeat.lease_is_safe(locked)
    assert lease_of(engine, locked) == first
    heartbeat.beat()
    assert lease_of(engine, locked) > first


def test_the_lease_of_a_delivery_past_its_deadline_is_not_extended(engine: Engine, heartbeat: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    first = lease_of(engine, held)
    heartbeat.track([held], since=boot_time() - 721)
    heartbeat.beat()
    assert lease_of(engine, held) == first


def test_a_worker_that_was_declared_dead_stops(engine: Engine, heartbeat: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    heartbeat.track([held], since=boot_time())
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now()"))
    heartbeat.beat()
    assert heartbeat.declared_dead.is_set()
    assert heartbeat.lease_is_safe(held) is False


def test_a_heartbeat_thread_that_ends_for_any_reason_ends_the_worker(engine: Engine) -> None:
    heartbeat = Heartbeat(engine, worker="broken", interval=0.01, dead_after=0.1, lease=90, deadline=720)
    heartbeat.start()
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now() WHERE id = 'broken'"))
    assert heartbeat.declared_dead.wait(30)
    assert heartbeat.is_healthy is False
    heartbeat.stop()


def test_a_heartbeat_on_a_hanging_connection_is_repeated_on_another(
    way: StallingWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for a reply until long after the worker was declared dead."""
    hanging = make_engine(way.url, name="hanging", ping_after=60)
    heartbeat = Heartbeat(hanging, worker="w", interval=3600, dead_after=4, lease=90, deadline=720)
    heartbeat.start()
    way.stall()
    began = time.monotonic()
    with pytest.raises(DBAPIError):
        heartbeat.beat()
    assert time.monotonic() - began < READ_TIMEOUT - 5
    way.flow()
    later(monkeypatch, 3.3)
    assert not heartbeat.is_healthy
    heartbeat.beat()
    assert heartbeat.is_healthy
    heartbeat.stop()
    hanging.dispose()
