"""Deliveries side by side: each is settled once, and none waits for another one's server, row or error."""

from hashlib import sha256
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import ProgrammingError

from snoozer.delivery import pipeline as module
from snoozer.delivery.claiming import Delivery
from snoozer.mail.smtp import connection_pool
from snoozer.queue import ledger, queue
from snoozer.queue.reminder import Send
from tests.db.pipelines import CONFIG, MESSAGE, TIMEOUT, a_pipeline, reap_all
from tests.db.transitions import claim, mark_uncertain_one, sendable
from tests.factories import ANN, a_long_snooze, a_snooze, the_events, the_row, the_send
from tests.mail.scripted_server import HOLD, PIPELINING, STALL, ScriptedServer

SHA_OF_MESSAGE = sha256(MESSAGE).hexdigest()


def claimed(engine: Engine, count: int) -> list[Delivery]:
    for _ in range(count):
        a_snooze(engine)
    return [Delivery(claim=held, send=sendable(engine, held)[0]) for held in claim(engine)]


@pytest.mark.parametrize("script", [{}, {"ehlo": PIPELINING}], ids=["one by one", "in one piece"])
def test_every_delivery_is_settled_once(engine: Engine, tmp_path: Path, script: dict[str, str]) -> None:
    deliveries = claimed(engine, 30)
    with ScriptedServer(script) as server:
        with a_pipeline(engine, server, tmp_path, concurrency=4) as (pipeline, done):
            pipeline.submit(deliveries)
            reap_all(pipeline)
        assert len(server.received) == 30
        assert server.connections <= 4
    ids = sorted(delivery.claim.id for delivery in deliveries)
    assert sorted(done) == ids
    assert {(the_row(engine, id).outcome, the_send(engine, id).state) for id in ids} == {("sent", "sent")}


def test_what_has_no_session_yet_is_given_back(engine: Engine, tmp_path: Path) -> None:
    deliveries = claimed(engine, 3)
    with ScriptedServer(banner=STALL) as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit(deliveries)
        pipeline.cancel_pending()
        reap_all(pipeline)
    assert len(done) == 3
    rows = [the_row(engine, id) for id in done]
    assert {(row.claimed_at, row.attempts, row.outcome) for row in rows} == {(None, 0, None)}


def test_a_mail_without_a_mark_is_called_back_from_the_middle(engine: Engine, tmp_path: Path) -> None:
    [delivery] = claimed(engine, 1)
    with ScriptedServer(rcpt=STALL) as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit([delivery])
        while not any(command.startswith("RCPT") for command in server.commands):
            pipeline.reap(timeout=0)
        pipeline.cancel_unmarked()
        reap_all(pipeline)
        assert server.received == []
    assert the_row(engine, delivery.claim.id).claimed_at is None
    assert done == [delivery.claim.id]


def test_what_gets_no_turn_in_time_is_given_back(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", float("inf"))
    stalled, waiting = claimed(engine, 2)
    server = ScriptedServer(data=STALL)
    with server, a_pipeline(engine, server, tmp_path, concurrency=1) as (pipeline, done):
        pipeline.submit([stalled])
        while "DATA" not in server.commands:
            pipeline.reap(timeout=0)
        monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.01)
        pipeline.submit([waiting])
        while not done:
            pipeline.reap(timeout=0.05)
        assert done == [waiting.claim.id]
        pipeline.cancel_unmarked()
    assert the_row(engine, waiting.claim.id).attempts == 0


def test_a_slow_reply_takes_no_turn_from_others(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.05)
    slow, *others = claimed(engine, 4)
    server = ScriptedServer(dot=[STALL, "250 ok"])
    with a_pipeline(engine, server, tmp_path, concurrency=1) as (pipeline, done), server:
        pipeline.submit([slow])
        while pipeline.active:
            pipeline.reap(timeout=0.01)
        pipeline.submit(others)
        while len(done) < 3:
            pipeline.reap(timeout=0.05)
    assert {the_row(engine, one.claim.id).outcome for one in others} == {"sent"}
    assert the_send(engine, slow.claim.id).state == "uncertain"


def test_a_row_that_is_locked_gets_no_dot_and_delays_no_other(engine: Engine, tmp_path: Path) -> None:
    locked, *others = claimed(engine, 4)
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": locked.claim.id})
        with ScriptedServer() as server, a_pipeline(engine, server, tmp_path, concurrency=4) as (pipeline, done):
            pipeline.submit([locked, *others])
            while len(done) < 3:
                pipeline.reap(timeout=TIMEOUT)
            operator.rollback()
            reap_all(pipeline)
            assert len(server.received) == 3
    assert {the_row(engine, one.claim.id).outcome for one in others} == {"sent"}
    assert (the_row(engine, locked.claim.id).claimed_at, the_send(engine, locked.claim.id)) == (None, None)


def test_a_row_that_is_locked_for_a_moment_is_marked_then(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by this worker's own heartbeat, which would cost a connection each time."""
    monkeypatch.setattr(module, "MARK_TRIES", 10_000)
    owned, was_denied = queue.owned, Event()

    def observe(connection: Connection, **values: Any) -> set[int]:
        was_denied.set()
        return owned(connection, **values)

    monkeypatch.setattr(queue, "owned", observe)
    [delivery] = claimed(engine, 1)
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, _):
        with engine.begin() as heartbeat:
            heartbeat.execute(text("SELECT 1 FROM email_snoozes FOR UPDATE"))
            pipeline.submit([delivery])
            assert was_denied.wait(TIMEOUT)
        reap_all(pipeline)
        assert server.connections == 1
    assert the_row(engine, delivery.claim.id).outcome == "sent"


def test_a_resend_appends_an_event(engine: Engine, tmp_path: Path) -> None:
    [first, other] = claimed(engine, 2)
    assert first.send is not None
    with engine.begin() as connection:
        assert ledger.authorise(connection, dots=[(first.send, SHA_OF_MESSAGE)], uncertainty=CONFIG.uncertainty)
        mark_uncertain_one(connection, first.send)
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = uncertain_at - INTERVAL '1 day'"))
        queue.unclaim(connection, held=queue.held([first.claim]))
    [again] = claimed(engine, 0)
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, _):
        pipeline.submit([again, other])
        reap_all(pipeline)
        assert len(server.received) == 2
    assert (the_events(engine, first.claim.id), the_events(engine, other.claim.id)) == (["resent"], [])


def test_what_needs_no_mail_waits_for_no_mail_server(engine: Engine, tmp_path: Path) -> None:
    [unknown] = claimed(engine, 1)
    with ScriptedServer(banner=STALL) as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit([Delivery(claim=unknown.claim, send=None)])
        reap_all(pipeline)
    assert the_row(engine, unknown.claim.id).claimed_at is None
    assert done == [unknown.claim.id]


def test_a_row_that_the_ledger_cannot_take_gets_no_dot_and_stops_no_other(engine: Engine, tmp_path: Path) -> None:
    long = a_long_snooze(engine)
    deliveries = claimed(engine, 3)
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path, concurrency=4) as (pipeline, _):
        pipeline.submit(deliveries)
        reap_all(pipeline)
        assert len(server.received) == 3
    outcomes = {one.claim.id: the_row(engine, one.claim.id).outcome for one in deliveries}
    assert outcomes == {id: "retired" if id == long else "sent" for id in outcomes}


def test_a_statement_that_is_wrong_is_no_rows_fault_and_is_reported(engine: Engine, tmp_path: Path) -> None:
    """Its rows were claimed and given back without end, with a body each time."""
    [delivery] = claimed(engine, 1)
    rename = "ALTER TABLE reminder_sends RENAME {} TO {}"
    with engine.begin() as connection:
        connection.execute(text(rename.format("late_from", "late_from_of_old")))
    try:
        with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, _):
            pipeline.submit([delivery])
            reap_all(pipeline)
            assert isinstance(pipeline.failure, ProgrammingError)
            assert server.received == []
    finally:
        with engine.begin() as connection:
            connection.execute(text(rename.format("late_from_of_old", "late_from")))
    row = the_row(engine, delivery.claim.id)
    assert (row.claimed_at, row.attempts, row.last_error) == (None, 0, None)


def test_a_reminder_that_breaks_our_code_stops_no_other(engine: Engine, tmp_path: Path) -> None:
    broken, *others = claimed(engine, 3)

    def compose(send: Send) -> bytes:
        if send.snooze_id == broken.claim.id:
            raise ZeroDivisionError
        return MESSAGE

    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path, compose=compose) as (pipeline, _):
        pipeline.submit([broken, *others])
        reap_all(pipeline)
    assert {the_row(engine, one.claim.id).outcome for one in others} == {"sent"}
    row = the_row(engine, broken.claim.id)
    assert (row.attempts, row.outcome, ANN in (row.last_error or "")) == (1, None, False)


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_loop_that_is_blocked_is_noticed_by_time_in_which_it_was_looked_at(engine: Engine, tmp_path: Path) -> None:
    """A machine that had slept for an hour took every worker for stalled."""
    [delivery] = claimed(engine, 1)
    started, go_on, clock = Event(), Event(), Clock()

    def compose(send: Send) -> bytes:
        started.set()
        go_on.wait()
        return MESSAGE

    server = ScriptedServer()
    with server, a_pipeline(engine, server, tmp_path, compose=compose, clock=clock) as (pipeline, _):
        pipeline.submit([delivery])
        assert started.wait(TIMEOUT)
        assert not pipeline.is_stalled()
        looks = 0
        while not pipeline.is_stalled():
            clock.now += 3600
            looks += 1
        assert looks > module.STALL_SECONDS / module.TICK_SECONDS
        pipeline.close()
        assert len(pipeline) == 1
        go_on.set()
        while pipeline.is_stalled():
            pass
        reap_all(pipeline)
    assert the_row(engine, delivery.claim.id).outcome == "sent"


def test_a_wait_ends_when_few_are_left_and_at_a_wake(engine: Engine, tmp_path: Path) -> None:
    deliveries = claimed(engine, 3)
    server = ScriptedServer(dot=["250 ok", "250 ok", STALL])
    with a_pipeline(engine, server, tmp_path, concurrency=1, low_watermark=1) as (pipeline, _), server:
        pipeline.wake()
        pipeline.reap(timeout=10_000)
        pipeline.submit(deliveries)
        pipeline.reap(timeout=10_000)
        assert pipeline.active <= 1


def test_a_wait_ends_when_few_are_active_beside_many_slow_ones(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow ones counted as left: once there were more of them than `low_watermark`, workers claimed only every
    quarter of a second."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
    slow, others = claimed(engine, 3), claimed(engine, 2)
    server = ScriptedServer(dot=[HOLD, HOLD, HOLD, "250 ok"])
    with server, a_pipeline(engine, server, tmp_path, low_watermark=1) as (pipeline, _):
        pipeline.submit(slow)
        while len(server.received) < 3 or pipeline.active:
            pass
        pipeline.submit(others)
        pipeline.reap(timeout=10_000)
        assert pipeline.active <= 1
        server.go_on.set()


def test_a_slow_reply_that_came_does_not_count_twice(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ended and as slow: the worker was woken early, and not again when few were active."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
    active = vars(module.DeliveryPipeline)["active"]
    seen = []

    def observe(pipeline: module.DeliveryPipeline) -> int:
        value: int = active.fget(pipeline)
        if current_thread().name == "deliveries":
            seen.append(value)
        return value

    monkeypatch.setattr(module.DeliveryPipeline, "active", property(observe))
    with ScriptedServer(dot=HOLD) as server, a_pipeline(engine, server, tmp_path) as (pipeline, _):
        pipeline.submit(claimed(engine, 3))
        while len(server.received) < 3 or pipeline.active:
            pass
        server.go_on.set()
        reap_all(pipeline)
    assert seen == [0, 0, 0]


def test_a_wait_ends_when_a_row_with_a_key_is_done(engine: Engine, tmp_path: Path) -> None:
    """The next row of its key would wait for all others on their way."""
    keyed = a_snooze(engine, serialization_key="k")
    deliveries = sorted(claimed(engine, 1), key=lambda one: one.claim.id != keyed)
    server = ScriptedServer(dot=["250 ok", STALL])
    with a_pipeline(engine, server, tmp_path, concurrency=1) as (pipeline, done), server:
        pipeline.submit(deliveries)
        pipeline.reap(timeout=10_000)
        assert done == [keyed]
