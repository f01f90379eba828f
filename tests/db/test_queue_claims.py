"""What a claim returns: due rows, the oldest first, no row twice, without waiting for a lock."""

import re
from itertools import product
from threading import Thread

from sqlalchemy import Engine, text

from bench.baseline import claim_values
from snoozer.db import support
from snoozer.db.statements import statement
from snoozer.queue import queue
from tests.db.transitions import LEASE, claim
from tests.factories import HOUR, a_snooze, now, the_row


def test_the_backlog_is_exactly_what_a_claim_would_take(engine: Engine) -> None:
    at = now()
    for inactive, held, due, attempts in product([False, True], [None, at], [-1, 1], [0, 5]):
        if not (inactive and held):
            a_snooze(engine, inactive=inactive, claimed_at=held, remind_at=at + due * HOUR, attempts=attempts)
    with engine.connect() as connection:
        due_rows = support.read(connection, "backlog").one().due
    assert due_rows == len(claim(engine)) == 1


def test_a_claim_is_complete_and_records_the_promise(engine: Engine) -> None:
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
            claim_values(batch=50, worker="w"),
        )
        lines = "\n".join(plan.scalars())
        connection.rollback()
    assert re.search(r"Index Scan using ix_email_snoozes_(due|lane)", lines)
    # The rows ahead in a key are at most four, in an index of their own.
    walked, _, _ = lines.partition("Subquery Scan on ahead")
    assert walked != lines and "Sort" not in walked


def test_an_unpaused_or_finished_row_stays_where_it_is(engine: Engine) -> None:
    a_snooze(engine, inactive=True)
    a_snooze(engine, inactive=True, outcome="sent", finished_at=now())
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now())
    assert claim(engine) == []


def test_a_claim_waits_for_no_lock(engine: Engine) -> None:
    locked, free = a_snooze(engine, remind_at=now() - HOUR), a_snooze(engine)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR NO KEY UPDATE"), {"id": locked})
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '2s'"))
            taken = queue.claim(connection, worker="w", batch_size=10, lease=LEASE)
    assert [held.id for held in taken] == [free]
