"""Rows of one serialization key, however many: in order, one at a time, and no claim looks behind the first few."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db.engine import autocommit
from snoozer.delivery.claiming import FairScheduler
from snoozer.delivery.key_sweep import KEYS_PER_SWEEP, SWEEP_SECONDS, KeySweep
from snoozer.queue import queue
from snoozer.queue.promise import EnqueueOptions, ReminderTime
from snoozer.queue.queue import Lane
from snoozer.queue.reminder import Claim
from tests.acting import cancel, reschedule, snooze, undo
from tests.db.reading import reading
from tests.db.transitions import LEASE, finalize, release
from tests.factories import HOUR, a_snooze, now

SECOND = timedelta(seconds=1)
KEYED = Lane(keyed=True)
# So many rows of a key may lie in the index of claims.
WINDOW = 4


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def rows_of_a_key(engine: Engine, count: int, *, key: str = "hog", **columns: Any) -> list[int]:
    """Due rows of one key, inserted in the order of their times."""
    first = now() - HOUR
    return [
        a_snooze(engine, serialization_key=key, remind_at=first + number * SECOND, **columns) for number in range(count)
    ]


def behind(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT id FROM email_snoozes WHERE behind_key ORDER BY id")).scalars())


def change(engine: Engine, assignment: str, ids: list[int]) -> None:
    """A change by hand."""
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE email_snoozes SET {assignment} WHERE id = ANY(:ids)"), {"ids": ids})  # noqa: S608


def cycle(engine: Engine, scheduler: FairScheduler, *, batch_size: int = 50) -> list[Claim]:
    with engine.begin() as connection:
        return scheduler.claim_batch(connection, batch_size=batch_size)


def delivered(engine: Engine, scheduler: FairScheduler) -> list[int]:
    """The ids in the order of their deliveries, until no cycle finds anything."""
    ids: list[int] = []
    while claims := cycle(engine, scheduler):
        for claim in claims:
            assert finalize(engine, claim)
            ids.append(claim.id)
    return ids


def a_scheduler() -> FairScheduler:
    return FairScheduler(worker="w", lease=LEASE)


def sweep(engine: Engine) -> None:
    KeySweep(known_schema=1).run_if_due(engine)


@pytest.mark.parametrize("order", ["first to last", "last to first", "at random"])
def test_rows_of_a_key_are_delivered_in_order_however_they_were_inserted(engine: Engine, order: str) -> None:
    times = [now() - HOUR + number * SECOND for number in range(30)]
    inserted = {"first to last": times, "last to first": times[::-1]}.get(order) or Random(4).sample(times, 30)
    due = {a_snooze(engine, serialization_key="hog", remind_at=at): at for at in inserted}
    assert delivered(engine, a_scheduler()) == sorted(due, key=lambda id: due[id])


def test_only_the_first_few_rows_of_a_key_are_where_claims_look(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 10)
    assert behind(engine) == ids[WINDOW:]
    assert [claim.id for claim in cycle(engine, a_scheduler())] == ids[:1]
    assert behind(engine) == ids[WINDOW + 1 :]


def test_rows_that_were_inserted_last_first_are_set_behind_by_the_claims_that_meet_them(engine: Engine) -> None:
    ids = [a_snooze(engine, serialization_key="hog", remind_at=now() - n * SECOND) for n in range(1, 31)]
    assert behind(engine) == []
    scheduler = a_scheduler()
    [first] = cycle(engine, scheduler, batch_size=10)
    assert (first.id, scheduler.set_behind) == (ids[-1], 9)
    assert cycle(engine, scheduler, batch_size=100) == []
    assert len(behind(engine)) == 30 - 1 - WINDOW


def rows_of_one_time(engine: Engine, count: int, *, at: datetime) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, serialization_key) "
                "SELECT 'p' || n, gen_random_uuid()::text, :at, 'hog' FROM generate_series(1, :count) AS n"
            ),
            {"at": at, "count": count},
        )


def test_a_claim_beside_thousands_of_rows_of_one_key_reads_a_few_of_them(engine: Engine) -> None:
    """Rows of one time are the worst: an index tells their order only by their ids."""
    at, pages = now() - HOUR, []
    other = a_snooze(engine, serialization_key="another", remind_at=at - HOUR)
    for count in (50, 5000):
        rows_of_one_time(engine, count, at=at)
        with autocommit(engine) as connection:
            connection.execute(text("VACUUM ANALYZE email_snoozes"))
        read = reading(
            engine, lambda connection: queue.claim(connection, worker="w", batch_size=50, lease=LEASE, lane=KEYED)
        )
        pages.append(read.pages)
    few, many = pages
    assert many <= few + 10, "an index is a level or two higher"
    assert read.rows <= (WINDOW + 1) * (WINDOW + 2), "each of these rows, those ahead of it, and the row that changes"
    assert other in {claim.id for claim in cycle(engine, a_scheduler())}


def test_producers_of_one_key_do_not_wait_for_each_other(engine: Engine) -> None:
    rows_of_a_key(engine, 10)

    def enqueue(connection: Any, name: str) -> None:
        connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
        snooze(
            connection,
            message_id=name,
            reminder_time=ReminderTime(remind_at=now() - HOUR),
            options=EnqueueOptions(serialization_key="hog"),
        )

    with engine.begin() as one, engine.begin() as another:
        enqueue(one, "<one@mail.example>")
        enqueue(another, "<another@mail.example>")
    assert len(delivered(engine, a_scheduler())) == 12


def test_a_row_whose_insert_was_committed_late_is_reached_though_it_waits_behind_none(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 5)
    change(engine, "behind_key = TRUE", ids)
    scheduler = a_scheduler()
    assert cycle(engine, scheduler) == []
    sweep(engine)
    assert delivered(engine, scheduler) == ids


def test_rows_behind_cancelled_ones_are_reached_by_a_sweep(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 9)
    change(engine, "inactive = TRUE, outcome = 'cancelled', finished_at = now()", ids[:6])
    scheduler = a_scheduler()
    assert cycle(engine, scheduler) == []
    sweep(engine)
    assert delivered(engine, scheduler) == ids[6:]


@pytest.mark.parametrize("columns", [{"schema_version": 2}, {"attempts": 5}], ids=["newer schema", "spent attempts"])
def test_rows_that_no_claim_takes_do_not_hold_their_key(engine: Engine, columns: dict[str, Any]) -> None:
    rows_of_a_key(engine, 6, **columns)
    last = a_snooze(engine, serialization_key="hog")
    sweep(engine)
    assert delivered(engine, a_scheduler()) == [last]


def test_a_sweep_goes_through_all_keys_in_parts(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, serialization_key, behind_key) "
                "SELECT 'p' || n, n::text, now() - INTERVAL '1 hour', 'k' || n, FALSE "
                "FROM generate_series(1, :keys) AS n"
            ),
            {"keys": KEYS_PER_SWEEP + 1},
        )
        connection.execute(text("UPDATE email_snoozes SET behind_key = TRUE"))
    clock = Clock()
    sweep = KeySweep(known_schema=1, clock=clock)
    sweep.run_if_due(engine)
    assert len(behind(engine)) == 1
    sweep.run_if_due(engine)
    assert behind(engine) == []
    change(engine, "behind_key = TRUE", [1])
    sweep.run_if_due(engine)
    assert behind(engine) == [1]
    clock.now += SWEEP_SECONDS
    sweep.run_if_due(engine)
    assert behind(engine) == []


def test_a_lock_on_a_row_behind_its_key_is_not_waited_for(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 6)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": ids[WINDOW]})
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
            queue.claim(connection, worker="w", batch_size=9, lease=LEASE, lane=KEYED)
    assert behind(engine) == ids[WINDOW:]
    with engine.begin() as connection:
        assert queue.advance_keys(connection, keys=["hog"]) == [ids[WINDOW]]


def test_a_failed_row_goes_behind_those_that_are_due_before_it(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 3)
    scheduler = a_scheduler()
    [failed] = cycle(engine, scheduler)
    assert release(engine, failed, delay=timedelta(0)) == "released"
    assert delivered(engine, scheduler) == [*ids[1:], ids[0]]


def test_a_row_that_is_moved_or_restored_is_looked_at_again(engine: Engine) -> None:
    ids = rows_of_a_key(engine, 7)
    at = now() - 2 * HOUR
    with engine.begin() as connection:
        assert reschedule(connection, ids[6], ReminderTime(remind_at=at))
        assert cancel(connection, ids[5])
        assert undo(connection, ids[5])
    assert behind(engine) == [ids[4]]
    assert delivered(engine, a_scheduler()) == [ids[6], *ids[:6]]
