"""What the queue promises, each promise named after the failure it survives."""

import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import product
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from snoozer.domain.reminder import Claim
from snoozer.postgres import queue, workers
from snoozer.postgres.appointment import Appointment
from snoozer.postgres.handling import ORDINARY, Handling
from snoozer.postgres.queue import Recovered
from snoozer.postgres.statements import run, statement
from tests.factories import ANN, HOUR, a_snooze, now, the_row, the_send, wait_until_somebody_waits

LEASE = timedelta(seconds=90)
DELAY = timedelta(seconds=60)


def claim(engine: Engine, *, worker: str = "w", batch_size: int = 100, suspects: bool = False) -> list[Claim]:
    with engine.begin() as connection:
        return queue.claim(connection, worker=worker, batch_size=batch_size, lease=LEASE, suspects=suspects)


def release(engine: Engine, held: Claim, **values: Any) -> str | None:
    terms: dict[str, Any] = {"error": "451 try later", "spent": 1, "delay": DELAY} | values
    with engine.begin() as connection:
        return queue.release(connection, id=held.id, claim_token=held.claim_token, **terms)


def finalize(engine: Engine, held: Claim) -> bool:
    with engine.begin() as connection:
        return bool(queue.finalize(connection, held=[(held.id, held.claim_token)]))


def recover(engine: Engine, **values: Any) -> list[Recovered]:
    terms: dict[str, Any] = {
        "batch_size": 100,
        "lease": LEASE,
        "delay": timedelta(0),
        "hold": timedelta(minutes=10),
        "hold_for_operator": False,
        "most_crashes": 5,
        "most_resends": 2,
    } | values
    with engine.begin() as connection:
        return queue.recover(connection, **terms)


def lapse(engine: Engine, ids: Sequence[int]) -> None:
    """As if these leases had run out an hour ago."""
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET lease_expires_at = now() - INTERVAL '1 hour' WHERE id = ANY(:ids)"),
            {"ids": list(ids)},
        )


def test_the_backlog_is_exactly_what_a_claim_would_take(engine: Engine) -> None:
    at = now()
    for inactive, held, due, attempts in product([False, True], [None, at], [-1, 1], [0, 5]):
        if not (inactive and held):
            a_snooze(engine, inactive=inactive, claimed_at=held, remind_at=at + due * HOUR, attempts=attempts)
    with engine.connect() as connection:
        due_rows = run(connection, "support/backlog").one().due
    assert due_rows == len(claim(engine)) == 1


def test_a_claim_is_whole_and_writes_the_promise_down(engine: Engine) -> None:
    at = now() - HOUR
    a_snooze(engine, remind_at=at)
    [held] = claim(engine)
    row = the_row(engine, held.id)
    assert (row.claimed_by, row.claim_token, row.scheduled_for) == ("w", held.claim_token, at)
    assert row.lease_expires_at - row.claimed_at == LEASE


def test_the_oldest_promise_is_kept_first(engine: Engine) -> None:
    ids = [a_snooze(engine, remind_at=now() - hours * HOUR) for hours in (1, 3, 2)]
    assert [held.id for held in claim(engine, batch_size=2)] == [ids[1], ids[2]]


def test_a_claim_never_takes_more_than_its_batch_whatever_the_planner_thinks(engine: Engine) -> None:
    switches = ("hashjoin", "mergejoin", "nestloop", "indexscan", "bitmapscan", "seqscan", "material", "sort")
    off = [{switch} for switch in switches]
    off += [{"hashjoin", "mergejoin"}, {"hashjoin", "nestloop"}, {"indexscan", "bitmapscan"}, {"seqscan", "indexscan"}]
    for combination in off:
        for _ in range(5):
            a_snooze(engine)
        with engine.begin() as connection:
            for switch in combination:
                connection.execute(text(f"SET LOCAL enable_{switch} = off"))
            assert len(queue.claim(connection, worker="w", batch_size=3, lease=LEASE)) == 3


def test_workers_at_the_same_moment_share_no_row(engine: Engine) -> None:
    for _ in range(100):
        a_snooze(engine)
    taken: list[list[int]] = []

    def work(name: str) -> None:
        mine = []
        while batch := claim(engine, worker=name, batch_size=7):
            mine += [held.id for held in batch]
        taken.append(mine)

    threads = [Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [id for mine in taken for id in mine]
    assert len(everything) == len(set(everything)) == 100


def test_the_claim_walks_its_index_and_sorts_nothing(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n % 500, n::text, now() - n * INTERVAL '1 second' FROM generate_series(1, 20000) AS n"
            )
        )
    with engine.connect() as connection:
        connection.execute(text("ANALYZE email_snoozes"))
        plan = connection.execute(
            text("EXPLAIN " + statement("queue/claim").text),
            {
                "worker": "w",
                "batch_size": 50,
                "lease": LEASE,
                "priority": 0,
                "suspects": False,
                "after_time": None,
                "after_id": 0,
                "crowd": [],
                "buckets": None,
                "steal_after": DELAY,
                "known_schema": 1,
            },
        )
        lines = "\n".join(plan.scalars())
        connection.rollback()
    assert re.search(r"Index Scan using ix_email_snoozes_(due|lane)", lines)
    assert "Sort" not in lines


def test_an_unpaused_or_finished_row_stays_where_it_is(engine: Engine) -> None:
    a_snooze(engine, inactive=True)
    a_snooze(engine, inactive=True, outcome="sent", finished_at=now())
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now())
    assert claim(engine) == []


def test_a_late_worker_settles_nothing(engine: Engine) -> None:
    """Seed 000 gives a claim back by its id alone: a worker that wakes up late frees somebody else's."""
    a_snooze(engine)
    [late] = claim(engine, worker="late")
    lapse(engine, [late.id])
    recover(engine)
    [current] = claim(engine, worker="current", suspects=True)
    assert release(engine, late) is None
    assert finalize(engine, late) is False
    with engine.begin() as connection:
        assert queue.extend(connection, held=[(late.id, late.claim_token)], lease=LEASE) == {}
        assert queue.hand_back(connection, held=[(late.id, late.claim_token)]) == []
    assert the_row(engine, late.id).claim_token == current.claim_token
    assert finalize(engine, current) is True


def test_a_failure_spends_an_attempt_and_comes_back_later(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    assert release(engine, held) == "released"
    row = the_row(engine, held.id)
    assert (row.attempts, row.claimed_at, row.last_error) == (1, None, "451 try later")
    assert row.remind_at > row.last_error_at + DELAY - timedelta(seconds=1)
    assert claim(engine) == []


def test_backoff_does_not_move_the_promise(engine: Engine) -> None:
    """Seed 000 keys its send record by remind_at and moves remind_at: every retry could be sent anew."""
    promised = now() - HOUR
    a_snooze(engine, remind_at=promised)
    [held] = claim(engine)
    release(engine, held, delay=timedelta(0))
    [again] = claim(engine)
    assert again.scheduled_for == held.scheduled_for == promised
    assert the_row(engine, held.id).remind_at > promised


def test_the_last_attempt_retires_in_the_same_statement(engine: Engine) -> None:
    a_snooze(engine, attempts=4)
    [held] = claim(engine)
    assert release(engine, held) == "retired"
    row = the_row(engine, held.id)
    assert (row.inactive, row.outcome, row.attempts, row.claimed_at) == (True, "retired", 5, None)
    assert row.finished_at is not None


def test_a_permanent_failure_retires_at_once(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    assert release(engine, held, permanent=True) == "retired"
    assert the_row(engine, held.id).attempts == 1


def test_an_outage_of_the_mail_server_spends_nothing(engine: Engine) -> None:
    a_snooze(engine, attempts=4)
    [held] = claim(engine)
    assert release(engine, held, spent=0) == "released"
    assert the_row(engine, held.id).attempts == 4


def test_max_attempts_is_each_rows_own(engine: Engine) -> None:
    a_snooze(engine, max_attempts=1)
    [held] = claim(engine)
    assert release(engine, held) == "retired"


def test_rows_spent_by_another_hand_become_cases(engine: Engine) -> None:
    id = a_snooze(engine, attempts=5)
    with engine.begin() as connection:
        assert queue.retire(connection, batch_size=10) == [id]
    assert the_row(engine, id).outcome == "retired"


def test_the_claims_of_a_dead_worker_come_back_before_their_lease_ends(engine: Engine) -> None:
    id = a_snooze(engine)
    with engine.begin() as connection:
        workers.register(connection, id="mortal")
    claim(engine, worker="mortal")
    assert recover(engine) == []
    with engine.begin() as connection:
        workers.leave(connection, id="mortal")
    [found] = recover(engine)
    assert (found.id, found.worker, found.uncertain, found.retired) == (id, "mortal", False, False)
    row = the_row(engine, id)
    assert (row.crash_count, row.attempts, row.claimed_at) == (1, 0, None)


def test_a_lease_that_ran_out_is_taken_back(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine, worker="nobody knows")
    assert recover(engine) == []
    lapse(engine, [held.id])
    assert [row.id for row in recover(engine)] == [held.id]


def test_recovery_says_what_happened_now_not_last_week(engine: Engine) -> None:
    """Seed 000 keeps the old error and stamps it with the new time."""
    id = a_snooze(engine, last_error="550 no such user", last_error_at=now() - 100 * HOUR)
    claim(engine)
    lapse(engine, [id])
    recover(engine)
    assert "lost" in the_row(engine, id).last_error


def test_a_row_with_two_billion_attempts_does_not_stop_the_sweep(engine: Engine) -> None:
    """Seeds 001 and 002 compute an interval that overflows, and nothing is recovered any more."""
    monster = a_snooze(engine, attempts=2_000_000_000, max_attempts=2_100_000_000, crash_count=2_000_000_000)
    innocent = a_snooze(engine)
    claim(engine)
    claim(engine, suspects=True)
    lapse(engine, [monster, innocent])
    assert {row.id for row in recover(engine)} == {monster, innocent}


def test_a_row_that_kills_its_workers_is_delivered_apart_and_retired(engine: Engine) -> None:
    """Seed 000: a killer row comes first in every batch for ever, and takes its batch with it."""
    killer = a_snooze(engine)
    claim(engine)
    for death in range(1, 6):
        lapse(engine, [killer])
        [found] = recover(engine)
        assert found.retired is (death == 5)
        assert claim(engine) == []
        claim(engine, suspects=True)
    assert the_row(engine, killer).outcome == "retired"


def test_a_stopping_worker_gives_back_what_it_never_began(engine: Engine) -> None:
    id = a_snooze(engine)
    before = the_row(engine, id)
    [held] = claim(engine, worker="leaving")
    with engine.begin() as connection:
        assert queue.hand_back(connection, held=[(id, held.claim_token)]) == [id]
    row = the_row(engine, id)
    assert (row.attempts, row.crash_count, row.remind_at, row.claimed_at) == (0, 0, before.remind_at, None)


def test_snoozing_a_snoozed_message_is_an_edit_that_the_worker_notices(engine: Engine) -> None:
    id = a_snooze(engine, message_id="<m@mail.example>", attempts=3, last_error="451")
    [held] = claim(engine)
    later = now() + 5 * HOUR
    with engine.begin() as connection:
        found, created = queue.enqueue(
            connection, user_email=ANN, message_id="<m@mail.example>", appointment=Appointment(remind_at=later)
        )
    assert (found, created) == (id, False)
    row = the_row(engine, id)
    assert (row.remind_at, row.scheduled_for, row.attempts, row.claimed_at) == (later, None, 0, None)
    assert finalize(engine, held) is False


def test_a_program_says_how_its_snoozes_are_treated(engine: Engine) -> None:
    urgent = Handling(priority=7, max_attempts=2, serialization_key="mailbox-1", schema_version=3)
    soon = Appointment(remind_at=now())
    with engine.begin() as connection:
        ids = [
            queue.enqueue(
                connection, user_email=ANN, message_id="<m@mail.example>", appointment=soon, handling=handling
            )[0]
            for handling in (ORDINARY, urgent, ORDINARY)
        ]
    row = the_row(engine, ids[0])
    assert len(set(ids)) == 1
    assert (row.priority, row.max_attempts, row.serialization_key, row.schema_version) == (7, 2, "mailbox-1", 3)


def test_cancelling_beats_a_worker_that_holds_the_row(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert queue.cancel(connection, id=held.id, user_email=ANN) is True
        assert queue.cancel(connection, id=held.id, user_email=ANN) is False
    assert finalize(engine, held) is False
    assert the_row(engine, held.id).outcome == "cancelled"


@pytest.mark.parametrize("act", ["cancel", "reschedule", "restore"])
def test_nobody_touches_another_persons_snooze(engine: Engine, act: str) -> None:
    over = {"inactive": True, "outcome": "cancelled", "finished_at": now()} if act == "restore" else {}
    id = a_snooze(engine, **over)
    extra = {"appointment": Appointment(remind_at=now() + HOUR)} if act == "reschedule" else {}
    with engine.begin() as connection:
        assert getattr(queue, act)(connection, id=id, user_email="eve@snoozer.example", **extra) is False


def test_undo_brings_a_cancelled_snooze_back_unless_it_was_put_away_anew(engine: Engine) -> None:
    id = a_snooze(engine, message_id="<m@mail.example>", remind_at=now() + HOUR)
    with engine.begin() as connection:
        queue.cancel(connection, id=id, user_email=ANN)
        assert queue.restore(connection, id=id, user_email=ANN) is True
        queue.cancel(connection, id=id, user_email=ANN)
    a_snooze(engine, message_id="<m@mail.example>")
    with engine.begin() as connection:
        assert queue.restore(connection, id=id, user_email=ANN) is False


def test_undo_beside_somebody_who_puts_it_away_anew_is_no_error(engine: Engine) -> None:
    over = {"inactive": True, "outcome": "cancelled", "finished_at": now()}
    id = a_snooze(engine, message_id="<m@mail.example>", **over)
    undone: list[bool] = []

    def undo() -> None:
        with engine.begin() as connection:
            undone.append(queue.restore(connection, id=id, user_email=ANN))

    other = Thread(target=undo)
    with engine.begin() as connection:
        queue.enqueue(
            connection, user_email=ANN, message_id="<m@mail.example>", appointment=Appointment(remind_at=now())
        )
        other.start()
        wait_until_somebody_waits(engine)
    other.join()
    assert undone == [False]
    assert the_row(engine, id).outcome == "cancelled"


def test_an_operator_can_only_reactivate_cases(engine: Engine) -> None:
    """Seed 000: setting attempts to zero on a sent row sends it again."""
    over = {"inactive": True, "finished_at": now()}
    case = a_snooze(engine, outcome="retired", attempts=5, **over)
    sent = a_snooze(engine, outcome="sent", **over)
    cancelled = a_snooze(engine, outcome="cancelled", **over)
    paused = a_snooze(engine, inactive=True)
    living = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert queue.reactivate(connection, ids=[case, sent, cancelled, paused, living]) == [case]
        assert queue.dismiss(connection, ids=[case, sent, cancelled, paused, living]) == []
    assert [held.id for held in claim(engine)] == [case]


def test_two_cases_of_one_message_come_back_as_one(engine: Engine) -> None:
    over = {"inactive": True, "finished_at": now(), "outcome": "retired", "message_id": "<m@mail.example>"}
    first, second = a_snooze(engine, **over), a_snooze(engine, **over)
    with engine.begin() as connection:
        assert queue.reactivate(connection, ids=[first, second]) == [second]


def test_a_dismissed_case_is_never_claimed(engine: Engine) -> None:
    case = a_snooze(engine, outcome="retired", inactive=True, finished_at=now())
    with engine.begin() as connection:
        assert queue.dismiss(connection, ids=[case]) == [case]
    assert claim(engine) == []
    assert the_send(engine, case) is None


def test_a_claim_waits_for_nobody(engine: Engine) -> None:
    locked, free = a_snooze(engine, remind_at=now() - HOUR), a_snooze(engine)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR NO KEY UPDATE"), {"id": locked})
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '2s'"))
            taken = queue.claim(connection, worker="w", batch_size=10, lease=LEASE)
    assert [held.id for held in taken] == [free]


def test_a_made_up_token_settles_nothing(engine: Engine) -> None:
    id = a_snooze(engine)
    with engine.begin() as connection:
        assert queue.finalize(connection, held=[(id, uuid4())]) == set()


def test_what_repeats_goes_on_once_from_each_promise(engine: Engine) -> None:
    id = a_snooze(engine, recurrence={"unit": "day"}, attempts=2)
    [held] = claim(engine)
    promised = held.scheduled_for
    with engine.begin() as connection:
        for owner, at, expected in (("bob@x", HOUR, False), (ANN, HOUR, True), (ANN, 2 * HOUR, False)):
            told = queue.go_on(connection, id=id, user_email=owner, scheduled_for=promised, remind_at=promised + at)
            assert told is expected
    row = the_row(engine, id)
    assert (row.claim_token, row.scheduled_for, row.remind_at) == (None, None, promised + HOUR)
    assert (row.attempts, row.recurrence) == (0, {"unit": "day"})
    assert finalize(engine, held) is False
