"""The order of claims: fair between users, high priority first, low still moving, one row of a key at a time."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import IntegrityError

from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.delivery.claiming import SWEEP_SECONDS, FairScheduler
from snoozer.delivery.key_sweep import KeySweep
from snoozer.queue import breaker, queue
from snoozer.queue.reminder import Claim
from tests.db.transitions import LEASE, claim, finalize, schedule_next_one
from tests.factories import HOUR, a_snooze, now, the_row


@dataclass
class Clock:
    """A clock that the test sets; each reading moves it on by `step` seconds."""

    now: float = 1000.0
    step: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def a_scheduler(worker: str = "w") -> FairScheduler:
    return FairScheduler(worker=worker, lease=LEASE)


def cycle(engine: Engine, scheduler: FairScheduler, *, batch_size: int = 50) -> list[Claim]:
    with engine.begin() as connection:
        return scheduler.claim_batch(connection, batch_size=batch_size)


def many(engine: Engine, *, count: int, user: str, priority: int = 0, since: str = "1 hour") -> None:
    """`count` due rows of one user, or of as many users when `user` holds a %s."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, priority) "
                "SELECT format(:user, n), gen_random_uuid()::text, "
                "now() - CAST(:since AS interval) + n * INTERVAL '1 microsecond', :priority "
                "FROM generate_series(1, :count) AS n"
            ),
            {"count": count, "user": user, "priority": priority, "since": since},
        )


def test_a_user_with_fifty_thousand_due_rows_delays_no_other_beyond_two_cycles(engine: Engine) -> None:
    many(engine, count=50_000, user="heavy@snoozer.example", since="2 hours")
    many(engine, count=100, user="single-%s@snoozer.example")
    scheduler = a_scheduler()
    served = [held.user_email for _ in range(2) for held in cycle(engine, scheduler)]
    assert sum(user.startswith("single-") for user in served) == 100
    assert "heavy@snoozer.example" in served


def test_a_heavy_user_is_one_in_small_batches_too(engine: Engine) -> None:
    many(engine, count=100, user="heavy@snoozer.example", since="2 hours")
    many(engine, count=3, user="single-%s@snoozer.example")
    served = [held.user_email for held in cycle(engine, a_scheduler(), batch_size=4)]
    assert sum(user.startswith("single-") for user in served) == 3


@pytest.mark.parametrize("mixed", [False, True], ids=["one after the other", "sharing each claim"])
def test_several_heavy_users_delay_no_other(engine: Engine, mixed: bool) -> None:
    for number in range(7):
        many(engine, count=500, user=f"heavy-{number}@snoozer.example", since="2 hours")
    if mixed:
        with engine.begin() as connection:
            at = "now() - INTERVAL '2 hours' + (id % 500) * INTERVAL '1 second'"
            connection.execute(text(f"UPDATE email_snoozes SET remind_at = {at}"))  # noqa: S608
    many(engine, count=20, user="single-%s@snoozer.example")
    served = [held.user_email for held in cycle(engine, a_scheduler())]
    assert sum(user.startswith("single-") for user in served) == 20


def test_a_known_heavy_user_gets_a_tenth_beside_others_and_all_the_room_without_them(engine: Engine) -> None:
    many(engine, count=500, user="heavy@snoozer.example", since="2 hours")
    many(engine, count=170, user="single-%s@snoozer.example")
    scheduler = a_scheduler()
    shares = [Counter(held.user_email.partition("-")[0] for held in cycle(engine, scheduler)) for _ in range(5)]
    heavy, single = "heavy@snoozer.example", "single"
    assert shares[:3] == [{heavy: 50, single: 50}, {heavy: 5, single: 50}, {heavy: 5, single: 50}]
    assert shares[3:] == [{heavy: 30, single: 20}, {heavy: 50}]


def test_what_comes_due_beside_a_heavy_user_is_found_by_the_next_cycle(engine: Engine) -> None:
    many(engine, count=500, user="heavy@snoozer.example", since="2 hours")
    scheduler = a_scheduler()
    cycle(engine, scheduler)
    for _ in range(3):
        single = a_snooze(engine, remind_at=now())
        assert single in {held.id for held in cycle(engine, scheduler)}


def test_a_row_behind_the_cursor_beside_a_heavy_user_is_found_by_a_sweep(engine: Engine) -> None:
    many(engine, count=500, user="heavy@snoozer.example", since="2 hours")
    clock = Clock(step=0.05)
    scheduler = FairScheduler(worker="w", lease=LEASE, clock=clock)
    cycle(engine, scheduler)
    clock.step = 0
    late = a_snooze(engine, remind_at=now() - HOUR)
    assert late not in {held.id for held in cycle(engine, scheduler)}
    clock.now += SWEEP_SECONDS / 2
    assert late in {held.id for held in cycle(engine, scheduler)}


def test_a_heavy_user_is_forgotten_after_a_while(engine: Engine) -> None:
    many(engine, count=58, user="heavy@snoozer.example", since="2 hours")
    many(engine, count=150, user="single-%s@snoozer.example")
    clock = Clock()
    scheduler = FairScheduler(worker="w", lease=LEASE, clock=clock)
    shares = []
    for seconds in (0, 0, SWEEP_SECONDS):
        clock.now += seconds
        shares.append(Counter(held.user_email.partition("-")[0] for held in cycle(engine, scheduler)))
    heavy, single = "heavy@snoozer.example", "single"
    beside_others, like_others = {heavy: 5, single: 50}, {heavy: 3, single: 47}
    assert shares == [{heavy: 50, single: 50}, beside_others, like_others]


def test_fifty_thousand_low_rows_do_not_delay_a_hundred_high_ones_and_still_move(engine: Engine) -> None:
    many(engine, count=50_000, user="low-%s@snoozer.example", priority=-1, since="2 hours")
    many(engine, count=100, user="high-%s@snoozer.example", priority=5)
    scheduler = a_scheduler()
    first, second = cycle(engine, scheduler), cycle(engine, scheduler)
    names = [held.user_email for held in first + second]
    assert sum(name.startswith("high-") for name in names) == 100
    assert sum(name.startswith("low-") for name in names) >= 10


def test_of_three_priorities_the_highest_goes_first(engine: Engine) -> None:
    ids = {priority: a_snooze(engine, priority=priority) for priority in (0, 7, -3)}
    assert [held.id for held in cycle(engine, a_scheduler())] == [ids[7], ids[0], ids[-3]]


def test_a_probe_is_one_row_whatever_lies_there(engine: Engine) -> None:
    for priority in (0, 1, 2):
        many(engine, count=5, user="p%s@snoozer.example", priority=priority)
    with engine.begin() as connection:
        assert len(a_scheduler().claim_one(connection)) == 1


def test_of_one_key_only_one_is_in_flight(engine: Engine) -> None:
    keyed = [a_snooze(engine, serialization_key="mailbox-1", remind_at=now() - HOUR) for _ in range(20)]
    free = [a_snooze(engine) for _ in range(5)]
    first = claim(engine, batch_size=50)
    assert sorted(held.id for held in first) == sorted([keyed[0], *free])
    assert claim(engine, batch_size=50) == []
    finalize(engine, first[0])
    assert [held.id for held in claim(engine, batch_size=50)] == [keyed[1]]


def test_four_workers_never_hold_two_rows_of_one_key(engine: Engine) -> None:
    for _ in range(20):
        a_snooze(engine, serialization_key="mailbox-1")
    done: list[int] = []

    def work(name: str) -> None:
        scheduler, sweep = a_scheduler(worker=name), KeySweep(known_schema=SUPPORTED_SCHEMA)
        while len(done) < 20:
            # Rows that another worker's claim has locked stay behind until then.
            sweep.run_if_due(engine)
            try:
                taken = cycle(engine, scheduler)
            except IntegrityError as error:
                assert "uq_email_snoozes_in_flight" in str(error)
                continue
            assert len(taken) <= 1
            for held in taken:
                with engine.connect() as connection:
                    holders = connection.execute(
                        text("SELECT count(*) FROM email_snoozes WHERE claimed_at IS NOT NULL")
                    ).scalar_one()
                assert holders == 1
                # A claim of another worker may have it locked at this moment.
                while not finalize(engine, held):
                    pass
                done.append(held.id)

    workers = [Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(done)) == 20


def test_many_rows_of_one_key_delay_no_other(engine: Engine) -> None:
    for _ in range(200):
        a_snooze(engine, serialization_key="hog", remind_at=now() - HOUR)
    free = {a_snooze(engine) for _ in range(30)}
    taken = {held.id for held in cycle(engine, a_scheduler())}
    assert free < taken
    assert len(taken) == 31


def test_priorities_of_sleeping_rows_hide_no_due_row(engine: Engine) -> None:
    for priority in range(1, 120):
        a_snooze(engine, priority=priority, remind_at=now() + HOUR)
    due = a_snooze(engine)
    assert [held.id for held in cycle(engine, a_scheduler())] == [due]


def levels(engine: Engine, priorities: range, *, each: int) -> None:
    """Due rows of as many priorities."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, priority) "
                "SELECT format('p%s-%s', level, n), gen_random_uuid()::text, now() - INTERVAL '1 hour', level "
                "FROM generate_series(CAST(:first AS int), :last) AS level, generate_series(1, :each) AS n"
            ),
            {"first": priorities.start, "last": priorities.stop - 1, "each": each},
        )


def test_two_thousand_priorities_cost_a_handful_of_statements_and_no_more_rows_than_a_batch_and_a_tenth(
    engine: Engine,
) -> None:
    """One cycle claimed a tenth of a batch of each: 10,025 rows in 11 seconds."""
    levels(engine, range(-1000, 1000), each=5)
    statements: list[str] = []

    def count(*arguments: Any) -> None:
        statements.append(arguments[2])

    scheduler = a_scheduler()
    event.listen(engine, "before_cursor_execute", count)
    try:
        claimed = cycle(engine, scheduler)
    finally:
        event.remove(engine, "before_cursor_execute", count)
    assert 0 < len(claimed) <= 55
    assert len(statements) <= 9


def test_every_priority_gets_its_turn_though_the_highest_fills_each_batch(engine: Engine) -> None:
    levels(engine, range(-20, 20), each=2)
    many(engine, count=2_000, user="high-%s@snoozer.example", priority=20)
    scheduler = a_scheduler()
    served = {held.id: held for _ in range(45) for held in cycle(engine, scheduler, batch_size=10)}
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, priority FROM email_snoozes")).all()
    assert {row.priority for row in rows if row.id in served} == set(range(-20, 21))


def test_the_default_priority_gets_a_third_of_each_batch_beside_any_number_of_higher_ones(engine: Engine) -> None:
    levels(engine, range(1, 200), each=50)
    many(engine, count=48, user="ordinary-%s@snoozer.example")
    scheduler = a_scheduler()
    served = [[held.user_email for held in cycle(engine, scheduler)] for _ in range(3)]
    assert [sum(user.startswith("ordinary-") for user in users) for users in served] == [16, 16, 16]
    assert all(len(users) <= 55 for users in served)


def test_rows_with_and_without_a_key_share_each_batch(engine: Engine) -> None:
    many(engine, count=500, user="free-%s@snoozer.example")
    for number in range(40):
        a_snooze(engine, serialization_key=f"key-{number}", user_email=f"keyed-{number}@snoozer.example")
    served = Counter(held.serialization_key is None for held in cycle(engine, a_scheduler(), batch_size=20))
    assert served == {True: 10, False: 10}


def test_rows_that_lost_a_worker_are_few_in_a_batch_and_those_that_lost_two_in_none(engine: Engine) -> None:
    once = [a_snooze(engine, crash_count=1, user_email=f"p{n}@snoozer.example") for n in range(20)]
    twice = a_snooze(engine, crash_count=2, remind_at=now() - HOUR)
    scheduler = a_scheduler()
    assert [held.id for held in cycle(engine, scheduler)] == once[:6]
    with engine.begin() as connection:
        assert scheduler.claim_batch(connection, batch_size=50, crashed_room=0) == []
        assert [held.id for held in scheduler.claim_poison_row(connection)] == [twice]


def test_rows_of_a_low_priority_that_lost_a_worker_wait_for_no_higher_ones(engine: Engine) -> None:
    """In a storm of kills they waited for a minute: whatever came back of the higher priorities was before them."""
    for number in range(20):
        a_snooze(engine, crash_count=1, priority=10, user_email=f"p{number}@snoozer.example")
    low, *default = [a_snooze(engine, crash_count=1, priority=priority) for priority in (-10, 0, 0)]
    scheduler = a_scheduler()
    served = [{held.id for held in cycle(engine, scheduler, batch_size=8)} for _ in range(2)]
    assert [len(ids) for ids in served] == [2, 3], "the default priority, and in the second cycle the lower one, too"
    assert {low, *default} <= served[0] | served[1]


def test_a_heavy_user_gets_no_more_of_the_place_for_rows_that_lost_a_worker(engine: Engine) -> None:
    """Each claim beside heavy users took as many again."""
    for number in range(60):
        a_snooze(engine, crash_count=1, user_email=f"p{number // 20}@snoozer.example")
    assert len(cycle(engine, a_scheduler(), batch_size=50)) == 6


def test_an_unknown_schema_version_is_left_to_a_newer_worker(engine: Engine) -> None:
    future = a_snooze(engine, schema_version=2)
    assert cycle(engine, a_scheduler()) == []
    row = the_row(engine, future)
    assert (row.attempts, row.inactive, row.last_error) == (0, False, None)


def test_rows_of_other_buckets_are_claimed_only_once_they_are_overdue_and_its_own_at_once(engine: Engine) -> None:
    fresh, old = a_snooze(engine, remind_at=now()), a_snooze(engine, remind_at=now() - HOUR)
    bucket = the_row(engine, fresh).bucket
    asked: dict[str, Any] = {"worker": "w", "batch_size": 9, "lease": LEASE, "steal_after": timedelta(minutes=1)}
    with engine.begin() as connection:
        others = queue.claim(connection, buckets=f"{{{(bucket + 1) % 1024}}}", **asked)
        own = queue.claim(connection, buckets=f"{{{bucket}}}", **asked)
    assert [[held.id for held in claims] for claims in (others, own)] == [[old], [fresh]]


def test_a_row_inserted_behind_the_cursor_is_found_by_the_next_sweep(engine: Engine) -> None:
    many(engine, count=120, user="p%s@snoozer.example", since="1 minute")
    clock = Clock()
    scheduler = FairScheduler(worker="w", lease=LEASE, clock=clock)
    assert len(cycle(engine, scheduler)) == 50
    late = a_snooze(engine, remind_at=now() - 10 * HOUR)
    assert late not in {held.id for held in cycle(engine, scheduler)}
    clock.now += SWEEP_SECONDS
    assert late in {held.id for held in cycle(engine, scheduler)}


def test_a_recurring_row_keeps_its_id_and_gets_a_new_promise(engine: Engine) -> None:
    recurrence = {"unit": "day", "interval": 1, "start": "2026-01-01", "at": "08:00:00"}
    id = a_snooze(engine, recurrence=json.loads(json.dumps(recurrence)))
    [held] = claim(engine)
    later = now() + HOUR
    with engine.begin() as connection:
        assert schedule_next_one(connection, held, later) is True
        assert schedule_next_one(connection, held, later) is False
    row = the_row(engine, id)
    assert (row.remind_at, row.scheduled_for, row.outcome, row.claimed_at) == (later, None, None, None)


def test_nothing_is_claimed_once_another_worker_has_opened_the_breaker_but_the_probe(engine: Engine) -> None:
    ids = [a_snooze(engine) for _ in range(2)]
    scheduler = FairScheduler(worker="w", lease=LEASE, server="mail.example:25")
    for server in ("other.example:25", "mail.example:25"):
        with engine.begin() as connection:
            breaker.permit(connection, server=server, cooldown=HOUR)
            breaker.fail(connection, server=server, failures=5, threshold=5, reason="refused", probe_token=None)
        if server == "other.example:25":
            assert [claim.id for claim in cycle(engine, scheduler, batch_size=1)] == ids[:1]
    assert cycle(engine, scheduler) == []
    with engine.begin() as connection:
        assert [claim.id for claim in scheduler.claim_one(connection)] == ids[1:]
