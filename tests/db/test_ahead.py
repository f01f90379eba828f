"""Mails that are prepared ahead: nothing is claimed for them until just before their time, whatever happens to the row
until then counts, and no dot leaves early."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery import ahead
from snoozer.delivery.ahead import dot_time, read_ahead
from snoozer.delivery.claiming import Delivery
from snoozer.delivery.pipeline import DeliveryPipeline
from snoozer.delivery.verdicts import Permission
from snoozer.queue import queue
from tests.db.days import choose, quiet
from tests.db.pipelines import CONFIG, a_pipeline, reap_all
from tests.db.transitions import claim, sendable
from tests.factories import ANN, a_claim, a_snooze, now, the_row, the_send
from tests.mail.scripted_server import STALL, ScriptedServer

HOUR = timedelta(hours=1)
SOON = timedelta(seconds=1.5)
SERVER = "mail.example:25"


@pytest.fixture(autouse=True)
def hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are read hours ahead, and brought to their dot and authorised at once."""
    monkeypatch.setattr(ahead, "HORIZON", 3 * HOUR)
    for name in ("BODY_SECONDS", "MIN_MARGIN", "MAX_MARGIN"):
        monkeypatch.setattr(ahead, name, 3 * HOUR.total_seconds())


def read(engine: Engine, *, limit: int = 100, **given: Any) -> list[Delivery]:
    values: dict[str, Any] = {"read": [], "buckets": None, "server": SERVER} | given
    return read_ahead(engine, config=CONFIG, limit=limit, **values)


def soon(engine: Engine, **columns: Any) -> int:
    return a_snooze(engine, **{"remind_at": now() + HOUR, **columns})


def execute(engine: Engine, statement: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement), values)


def authorise_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dot is authorised only when its time has come."""
    for name in ("MIN_MARGIN", "MAX_MARGIN"):
        monkeypatch.setattr(ahead, name, 0.0)


def wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends


def reap_until(pipeline: DeliveryPipeline, condition: Callable[[], bool], *, seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        pipeline.reap(timeout=0.05)
        assert time.monotonic() < ends


def test_the_dot_leaves_at_its_time_and_is_authorised_before(engine: Engine, tmp_path: Path) -> None:
    at = now() + SOON
    ids = [a_snooze(engine, remind_at=at) for _ in range(3)]
    deliveries = read(engine)
    assert sorted(one.claim.id for one in deliveries) == ids
    assert {the_row(engine, id).claimed_at for id in ids} == {None}, "reading writes nothing"
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit(deliveries)
        while not server.received:
            came = time.time()
        assert came >= at.timestamp() - 0.05
        reap_all(pipeline)
    assert sorted(done) == ids
    for id in ids:
        row, send = the_row(engine, id), the_send(engine, id)
        assert (row.outcome, send.state, send.scheduled_for) == ("sent", "sent", at)
        assert send.dot_authorised_at < at <= send.sent_at


CHANGES = {
    "another time": "remind_at = remind_at + INTERVAL '1 minute'",
    "another note": "note = 'other'",
    "another subject": "subject = 'other'",
    "another priority": "priority = 5",
    "cancelled": "outcome = 'cancelled', inactive = TRUE, finished_at = now()",
    "paused": "inactive = TRUE",
    "a change of nothing": "note = note",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_row_that_has_changed_since_it_was_read_gets_no_dot(engine: Engine, tmp_path: Path, change: str) -> None:
    id = a_snooze(engine, remind_at=now() + SOON)
    deliveries = read(engine)
    execute(engine, f"UPDATE email_snoozes SET {change} WHERE id = :id", id=id)  # noqa: S608 - of this file
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit(deliveries)
        reap_all(pipeline)
        assert (server.received, done) == ([], [id])
    assert the_row(engine, id).claimed_at is None
    assert the_row(engine, id).crash_count == the_row(engine, id).attempts == 0


def test_a_row_that_another_transaction_has_locked_is_not_waited_for(engine: Engine, tmp_path: Path) -> None:
    id = a_snooze(engine, remind_at=now() + SOON)
    deliveries = read(engine)
    with (
        ScriptedServer() as server,
        a_pipeline(engine, server, tmp_path) as (pipeline, done),
        engine.begin() as operator,
    ):
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": id})
        pipeline.submit(deliveries)
        reap_until(pipeline, lambda: done == [id], seconds=10)
        assert server.received == []


def test_an_obstacle_that_came_since_leaves_the_row_unclaimed(engine: Engine, tmp_path: Path) -> None:
    id = a_snooze(engine, remind_at=now() + SOON)
    other = a_snooze(engine, user_email="ben@snoozer.example", remind_at=now() + SOON)
    deliveries = read(engine)
    execute(engine, "INSERT INTO pauses (kind, value, reason, actor) VALUES ('person', :ann, 'x', 'x')", ann=ANN)
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit(deliveries)
        reap_all(pipeline)
        assert (done, len(server.received)) == ([id, other], 1)
    assert the_row(engine, id).claimed_at is None


def test_two_workers_that_read_the_same_row_send_one_mail(engine: Engine, tmp_path: Path) -> None:
    ids = [a_snooze(engine, remind_at=now() + SOON) for _ in range(4)]
    first, second = read(engine), read(engine)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        ScriptedServer() as server,
        a_pipeline(engine, server, tmp_path / "a") as (one, _),
        a_pipeline(engine, server, tmp_path / "b") as (two, _),
    ):
        one.submit(first)
        two.submit(second)
        reap_all(one)
        reap_all(two)
        assert len(server.received) == 4
    assert {the_row(engine, id).outcome for id in ids} == {"sent"}


def test_a_worker_that_is_lost_leaves_nothing_behind_before_the_authorisation(engine: Engine) -> None:
    id = soon(engine)
    assert [one.claim.id for one in read(engine)] == [id]
    row = the_row(engine, id)
    assert (row.claimed_at, row.claimed_by, row.scheduled_for, row.crash_count) == (None, None, None, 0)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM reminder_sends")).scalar_one() == 0


def test_a_server_that_hangs_up_while_a_mail_is_held_delays_it_little(engine: Engine, tmp_path: Path) -> None:
    at = now() + SOON
    id = a_snooze(engine, remind_at=at)
    deliveries = read(engine)
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path) as (pipeline, _):
        pipeline.submit(deliveries)
        wait_until(lambda: the_row(engine, id).claimed_at is not None)
        server.hang_up()
        reap_all(pipeline)
        assert server.received == []
    row = the_row(engine, id)
    assert (row.outcome, row.claimed_at, row.attempts, the_send(engine, id).state) == (None, None, 0, "failed")
    assert row.remind_at - at < timedelta(seconds=5), "it is tried again at once"


def test_half_of_the_sessions_are_left_to_what_is_overdue(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorise_last(monkeypatch)
    for _ in range(10):
        soon(engine)
    deliveries = read(engine)
    due = [a_snooze(engine) for _ in range(6)]
    overdue = [Delivery(claim=one, send=sendable(engine, one)[0]) for one in claim(engine)]
    with ScriptedServer() as server, a_pipeline(engine, server, tmp_path, concurrency=4) as (pipeline, done):
        pipeline.submit(deliveries)
        wait_until(lambda: server.commands.count("DATA") == 2)
        pipeline.submit(overdue)
        reap_until(pipeline, lambda: set(due) <= set(done))
        assert len(server.received) == 6
        assert server.commands.count("DATA") == 8


def test_a_mail_that_gets_no_session_in_time_is_left_to_the_usual_way(engine: Engine, tmp_path: Path) -> None:
    id = a_snooze(engine, remind_at=now() + timedelta(seconds=0.3))
    with ScriptedServer(banner=STALL) as server, a_pipeline(engine, server, tmp_path) as (pipeline, done):
        pipeline.submit(read(engine))
        reap_until(pipeline, lambda: done == [id])
    assert the_row(engine, id).claimed_at is None


def test_a_stop_drops_what_has_no_authorisation(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorise_last(monkeypatch)
    id = soon(engine)
    with ScriptedServer() as server:
        with a_pipeline(engine, server, tmp_path) as (pipeline, done):
            pipeline.submit(read(engine))
            wait_until(lambda: "DATA" in server.commands)
        assert (done, server.received) == ([id], [])
    assert the_row(engine, id).claimed_at is None


UNUSUAL: dict[str, dict[str, Any]] = {
    "a key": {"serialization_key": "k"},
    "a lost worker": {"crash_count": 1},
    "a failed try": {"attempts": 1, "last_error": "451", "last_error_at": now()},
    "a retry of an old promise": {"scheduled_for": now() - HOUR},
    "the end of a rest": {"scheduled_for": now() - HOUR, "deferred_until": now() + HOUR, "deferred_by": "quiet hours"},
    "no tries left": {"attempts": 5, "max_attempts": 5},
    "a newer schema": {"schema_version": 99},
    "an older time": {"remind_at": now() - HOUR},
    "a time beyond the horizon": {"remind_at": now() + 4 * HOUR},
    "inactive": {"inactive": True},
}


@pytest.mark.parametrize("columns", UNUSUAL.values(), ids=UNUSUAL)
def test_only_the_plain_case_is_read_ahead(engine: Engine, columns: dict[str, Any]) -> None:
    plain = soon(engine)
    soon(engine, **columns)
    assert [one.claim.id for one in read(engine)] == [plain]


def test_people_with_a_day_shape_are_not_read_ahead(engine: Engine) -> None:
    plain = soon(engine, user_email="ben@snoozer.example")
    choose(engine, quiet(since=-3 * HOUR))
    soon(engine)
    assert [one.claim.id for one in read(engine)] == [plain]


def test_nothing_is_read_ahead_while_the_breaker_is_open(engine: Engine) -> None:
    soon(engine)
    execute(
        engine,
        "INSERT INTO circuit_breakers (server, state, failures, opened_at) VALUES (:server, 'open', 5, now())",
        server=SERVER,
    )
    assert read(engine) == []
    assert len(read(engine, server="other.example:25")) == 1


def test_rows_of_other_buckets_and_rows_read_before_are_left_out(engine: Engine) -> None:
    id = soon(engine)
    row = the_row(engine, id)
    assert read(engine, buckets=f"{{{row.bucket + 1}}}") == []
    assert len(read(engine, buckets=f"{{{row.bucket}}}")) == 1
    assert read(engine, read=[(id, row.remind_at)]) == []
    assert len(read(engine, read=[(id, row.remind_at + HOUR)])) == 1, "it got another time since"


def test_a_higher_priority_and_everybody_come_before_the_heap_of_one(engine: Engine) -> None:
    heap = [soon(engine) for _ in range(20)]
    other = soon(engine, user_email="ben@snoozer.example", remind_at=now() + 2 * HOUR)
    urgent = soon(engine, priority=9, remind_at=now() + 2 * HOUR)
    assert {one.claim.id for one in read(engine, limit=4)} == {urgent, other, *heap[:2]}
    assert len(read(engine, limit=10)) == 10, "what is left goes to the heap"


def test_what_was_read_is_not_waited_for_unless_it_got_another_time(engine: Engine) -> None:
    id = soon(engine)

    def next_due(rows: list[tuple[int, datetime]]) -> float:
        with engine.connect() as connection:
            return queue.next_due(connection, known_schema=1, steal_after=timedelta(seconds=2), read=rows)

    at = the_row(engine, id).remind_at
    assert next_due([]) < HOUR.total_seconds()
    assert next_due([(id, at)]) > HOUR.total_seconds(), "only others would take it after two seconds"
    assert next_due([(id, at + HOUR)]) < HOUR.total_seconds()


@pytest.mark.parametrize("seed", range(50))
def test_the_time_of_a_dot_is_never_early_and_follows_a_clock_that_is_set_back(seed: int) -> None:
    rng = Random(seed)
    promise, step = 1000.0 + rng.random(), rng.choice([0.0, 0.0, 0.05, 1.0, 30.0])
    # The database's clock is ahead of the monotonic one by 400, and less once it was set back.
    offset = 400.0

    def read_clock(at: float, offset: float) -> tuple[float, float, float]:
        """Seconds to the promise, when that was known, and how long the question took."""
        there, back = rng.uniform(0, 0.02), rng.uniform(0, 0.02)
        return promise - (at + there + offset), at + there + back, there + back

    early, known, _ = read_clock(599.5, offset)
    delivery = Delivery(claim=a_claim(1), send=None, version="1", due=known + early * (1 + ahead.SLEW))
    offset -= step
    early, known, took = read_clock(600.0, offset)
    at = dot_time(delivery, Permission(due=known + early, read_in=took, since=0))
    assert at + offset >= promise
    if step == 0:
        assert at + offset <= promise + 0.021
