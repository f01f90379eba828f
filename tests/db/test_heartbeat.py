"""A worker that cannot reach the database must assume the worst."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import cast

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import make_engine
from snoozer.delivery.heartbeat import Heartbeat, boot_time
from snoozer.domain.reminder import Claim
from tests.db.transitions import claim
from tests.factories import a_snooze, the_row
from tests.stalling import StallingWay


@pytest.fixture
def pulse(engine: Engine) -> Iterator[Heartbeat]:
    pulse = Heartbeat(engine, worker="w", interval=3600, dead_after=10, lease=90, deadline=720)
    pulse.start()
    yield pulse
    pulse.stop()


def claimed(engine: Engine, count: int) -> list[Claim]:
    for _ in range(count):
        a_snooze(engine)
    return claim(engine, worker="w")


def lease_of(engine: Engine, claim: Claim) -> datetime:
    return cast("datetime", the_row(engine, claim.id).lease_expires_at)


def test_a_fresh_claim_is_ours_and_a_settled_one_is_not(engine: Engine, pulse: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    pulse.track([held], since=boot_time())
    assert pulse.lease_is_safe(held.id) is True
    pulse.untrack(held)
    assert pulse.lease_is_safe(held.id) is False


def test_a_claim_whose_lease_is_nearly_over_authorises_no_dot(engine: Engine, pulse: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    pulse.track([held], since=boot_time() - 90 * 0.81)
    assert pulse.lease_is_safe(held.id) is False


def test_a_worker_that_was_not_heard_lately_authorises_no_dot(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    pulse = Heartbeat(engine, worker="deaf", interval=3600, dead_after=10, lease=90, deadline=720)
    pulse.start()
    [held] = claimed(engine, 1)
    pulse.track([held], since=boot_time())
    assert pulse.lease_is_safe(held.id) is True
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + 8.1)
    assert pulse.lease_is_safe(held.id) is False
    assert pulse.is_healthy is False
    pulse.stop()


def test_a_heartbeat_lengthens_the_lease_of_what_is_in_hand_only(engine: Engine, pulse: Heartbeat) -> None:
    held, other = claimed(engine, 2)
    first, others = lease_of(engine, held), lease_of(engine, other)
    pulse.track([held], since=boot_time())
    pulse.beat()
    assert lease_of(engine, held) > first
    assert lease_of(engine, other) == others


def test_a_claim_that_was_taken_away_is_noticed_at_the_next_heartbeat(engine: Engine, pulse: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET claim_token = gen_random_uuid()"))
    pulse.track([held], since=boot_time())
    pulse.beat()
    assert pulse.lease_is_safe(held.id) is False


def test_a_row_that_somebody_has_locked_keeps_nobodys_heart_from_beating(engine: Engine, pulse: Heartbeat) -> None:
    """The heartbeat waited for the lock with everybody's leases in its hands, and the worker was declared dead."""
    locked, other = claimed(engine, 2)
    pulse.track([locked, other], since=boot_time() - 9)
    heard, first, others = pulse._last_success, lease_of(engine, locked), lease_of(engine, other)
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": locked.id})
        pulse.beat()
        assert pulse._last_success > heard
        assert lease_of(engine, other) > others
        assert pulse.lease_is_safe(locked.id)
    assert lease_of(engine, locked) == first
    pulse.beat()
    assert lease_of(engine, locked) > first


def test_a_delivery_past_its_deadline_is_not_held_any_longer(engine: Engine, pulse: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    first = lease_of(engine, held)
    pulse.track([held], since=boot_time() - 721)
    pulse.beat()
    assert lease_of(engine, held) == first


def test_a_worker_that_was_declared_dead_stops(engine: Engine, pulse: Heartbeat) -> None:
    [held] = claimed(engine, 1)
    pulse.track([held], since=boot_time())
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now()"))
    pulse.beat()
    assert pulse.declared_dead.is_set()
    assert pulse.lease_is_safe(held.id) is False


def test_a_pulse_that_stops_beating_for_whatever_reason_ends_the_worker(engine: Engine) -> None:
    pulse = Heartbeat(engine, worker="broken", interval=0.01, dead_after=0.1, lease=90, deadline=720)
    pulse.start()
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now() WHERE id = 'broken'"))
    assert pulse.declared_dead.wait(30)
    assert pulse.is_healthy is False
    pulse.stop()


def test_a_heart_whose_line_hangs_beats_on_another_one(engine: Engine, way: StallingWay) -> None:
    """It waited for an answer until long after the worker was taken for dead."""
    hanging = make_engine(way.url, name="hanging", ping_after=60)
    pulse = Heartbeat(hanging, worker="w", interval=3600, dead_after=4, lease=90, deadline=720)
    pulse.start()
    heard = pulse._last_success
    way.stall()
    began = time.monotonic()
    with pytest.raises(DBAPIError):
        pulse.beat()
    assert time.monotonic() - began < 4
    way.flow()
    pulse.beat()
    assert pulse._last_success > heard
    pulse.stop()
    hanging.dispose()
