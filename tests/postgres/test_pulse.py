"""A worker that cannot reach the database must assume the worst."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from snoozer.worker.pulse import Pulse, boot_time
from tests.factories import a_snooze, the_row
from tests.postgres.test_queue import claim


@pytest.fixture
def pulse(engine: Engine) -> Iterator[Pulse]:
    pulse = Pulse(engine, worker="w", every=3600, dead_after=10, lease=90, deadline=720)
    pulse.start()
    yield pulse
    pulse.stop()


def test_a_fresh_claim_is_ours_and_a_settled_one_is_not(pulse: Pulse) -> None:
    pulse.hold([1], since=boot_time())
    assert pulse.still_ours(1) is True
    pulse.let_go(1)
    assert pulse.still_ours(1) is False


def test_a_claim_whose_lease_is_nearly_over_authorises_no_dot(pulse: Pulse) -> None:
    pulse.hold([1], since=boot_time() - 90 * 0.81)
    assert pulse.still_ours(1) is False


def test_a_worker_that_was_not_heard_lately_authorises_no_dot(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    pulse = Pulse(engine, worker="deaf", every=3600, dead_after=10, lease=90, deadline=720)
    pulse.start()
    pulse.hold([1], since=boot_time())
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + 8.1)
    assert pulse.still_ours(1) is False
    pulse.stop()


def test_a_heartbeat_lengthens_the_lease_of_what_is_in_hand_only(engine: Engine, pulse: Pulse) -> None:
    held, other = a_snooze(engine), a_snooze(engine)
    claim(engine, worker="w")
    before = {id: the_row(engine, id).lease_expires_at for id in (held, other)}
    pulse.hold([held], since=boot_time())
    pulse.beat()
    assert the_row(engine, held).lease_expires_at > before[held]
    assert the_row(engine, other).lease_expires_at == before[other]


def test_a_claim_that_was_taken_away_is_noticed_at_the_next_heartbeat(engine: Engine, pulse: Pulse) -> None:
    held = a_snooze(engine)
    claim(engine, worker="somebody else")
    pulse.hold([held], since=boot_time())
    pulse.beat()
    assert pulse.still_ours(held) is False


def test_a_delivery_past_its_deadline_is_not_held_any_longer(engine: Engine, pulse: Pulse) -> None:
    held = a_snooze(engine)
    claim(engine, worker="w")
    before = the_row(engine, held).lease_expires_at
    pulse.hold([held], since=boot_time() - 721)
    pulse.beat()
    assert the_row(engine, held).lease_expires_at == before


def test_a_worker_that_was_declared_dead_stops(engine: Engine, pulse: Pulse) -> None:
    pulse.hold([1], since=boot_time())
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now()"))
    pulse.beat()
    assert pulse.declared_dead.is_set()
    assert pulse.still_ours(1) is False
