"""What is over moves to the archive whole, once, and nothing that may still change moves at all."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db import health_checks
from snoozer.db.queries import api_snoozes
from snoozer.db.queries import snoozes as pages
from snoozer.delivery.chores import chores
from snoozer.queue import archive, ledger, queue
from snoozer.queue.ledger import Recorded
from snoozer.queue.reminder import UncertainPolicy
from tests.acting import cancel
from tests.db.archived import (
    DAY,
    OLD,
    RETENTION,
    TABLES,
    counts,
    finished,
    sent,
    without_constraint,
    without_partitions,
)
from tests.db.transitions import HOLD, a_fact, a_held_mail, authorise, claim, record, refuse_one, sendable
from tests.factories import ANN, a_snooze, now, the_row


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """The empty database, without partitions before and after."""
    yield from without_partitions(engine)


def test_a_snooze_moves_with_its_send_and_both_stay_readable(engine: Engine) -> None:
    id = sent(engine)
    before = the_row(engine, id)
    assert chores.archive(engine, config=RETENTION) == 1
    assert counts(engine) == dict(zip(TABLES, (0, 1, 0, 1), strict=True))
    with engine.connect() as connection:
        moved = connection.execute(text("SELECT * FROM email_snoozes_archive")).one()
        assert moved == before
        page = pages.one(connection, id=id, user_email=ANN)
        program = api_snoozes.one(connection, id=id, user_email=ANN, changing=True)
        assert pages.one(connection, id=id, user_email="bob@snoozer.example") is None
        assert api_snoozes.one(connection, id=id, user_email="bob@snoozer.example") is None
        assert page is not None
        assert program is not None
        assert (page.outcome, page.send_state, program.outcome) == ("sent", "sent", "sent")
        assert page.sent_at == program.sent_at
        assert [row.state for row in pages.sends(connection, id=id)] == ["sent"]
        assert [row.state for row in pages.sends(connection, id=id)] == ["sent"]


def test_what_is_not_finished_or_not_long_enough_stays(engine: Engine) -> None:
    finished(engine, at=now() - 34 * DAY)
    finished(engine, outcome="retired")
    a_snooze(engine, inactive=True)
    a_snooze(engine, remind_at=now() - OLD)
    claim(engine)
    assert chores.archive(engine, config=RETENTION) == 0
    assert counts(engine)["email_snoozes"] == 4


@pytest.mark.parametrize("state", ["sending", "uncertain"])
def test_a_send_that_may_have_left_keeps_its_snooze_here(engine: Engine, state: str) -> None:
    id = sent(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE reminder_sends DISABLE TRIGGER reminder_sends_keep_sent"))
        connection.execute(text("UPDATE reminder_sends SET sent_at = NULL, state = :state"), {"state": state})
        connection.execute(text("ALTER TABLE reminder_sends ENABLE TRIGGER reminder_sends_keep_sent"))
    finished(engine, outcome="cancelled")
    assert chores.archive(engine, config=RETENTION) == 1
    assert the_row(engine, id).outcome == "sent"
    assert counts(engine) == dict(zip(TABLES, (1, 1, 1, 0), strict=True))


def test_a_locked_row_is_left_for_the_next_tick(engine: Engine) -> None:
    held, send_held, free = finished(engine), sent(engine), finished(engine)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR NO KEY UPDATE"), {"id": held})
        other.execute(text("SELECT 1 FROM reminder_sends WHERE snooze_id = :id FOR UPDATE"), {"id": send_held})
        assert chores.archive(engine, config=RETENTION) == 1
    assert the_row(engine, held)
    assert the_row(engine, send_held)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM email_snoozes_archive")).scalars().all() == [free]
    assert chores.archive(engine, config=RETENTION) == 2


def test_one_bad_row_does_not_stop_the_others(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chores, "BATCH_SIZE", 4)
    bad = finished(engine, at=now() - OLD - DAY)
    rest = [finished(engine) for _ in range(9)]
    with engine.begin() as connection:
        archive.create_partitions(connection, months=[(now() - OLD - DAY).date().replace(day=1)])
        connection.execute(
            text("INSERT INTO email_snoozes_archive SELECT * FROM email_snoozes WHERE id = :id"), {"id": bad}
        )
    assert chores.archive(engine, config=RETENTION) == len(rest)
    assert the_row(engine, bad)
    assert counts(engine)["email_snoozes"] == 1


@pytest.mark.parametrize("at", ["-infinity", "0044-03-15 09:00 BC", "0050-01-01", "infinity"])
def test_a_time_that_no_program_can_read_stops_no_archive(engine: Engine, at: str) -> None:
    bad, rest = finished(engine), [finished(engine) for _ in range(3)]
    update = text("UPDATE email_snoozes SET finished_at = :at WHERE id = :id")
    with without_constraint(engine, "ck_email_snoozes_other_times_are_of_this_age"):
        with engine.begin() as connection:
            connection.execute(update, {"at": at, "id": bad})
        assert chores.archive(engine, config=RETENTION) == len(rest)
        assert counts(engine)["email_snoozes"] == 1


def test_a_month_that_cannot_be_made_stops_no_other(engine: Engine) -> None:
    """A partition that was attached by hand overlaps it."""
    other = finished(engine, at=now() - 100 * DAY)
    rest = [finished(engine) for _ in range(3)]
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE of_their_own (LIKE email_snoozes_archive)"))
        connection.execute(
            text(
                "ALTER TABLE email_snoozes_archive ATTACH PARTITION of_their_own "
                f"FOR VALUES FROM ('{now() - 101 * DAY}') TO ('{now() - 99 * DAY}')"
            )
        )
    try:
        assert chores.archive(engine, config=RETENTION) == len(rest)
        assert the_row(engine, other)
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE of_their_own"))


def test_a_promise_kept_long_ago_is_not_kept_twice(engine: Engine) -> None:
    """A producer replays its INSERTs: the message is snoozed again with exactly the same promise, months later."""
    id = sent(engine)
    old = the_row(engine, id)
    chores.archive(engine, config=RETENTION)
    a_snooze(engine, message_id=old.message_id, remind_at=old.scheduled_for)
    [held] = claim(engine)
    assert sendable(engine, held) == []
    with engine.begin() as connection:
        known = ledger.lookup(connection, snooze_id=held.id, uncertainty=UncertainPolicy(hold=HOLD))
    assert known is not None
    assert known.state == "sent"


def test_a_fact_that_comes_after_the_move_is_still_recorded(engine: Engine) -> None:
    """A machine that was off for months starts again and records what its journal holds."""
    held, send = a_held_mail(engine, remind_at=now() - OLD)
    assert authorise(engine, send)
    with engine.begin() as connection:
        assert refuse_one(connection, send, reply="451 later", smtp_code=451)
        assert cancel(connection, held.id)
        connection.execute(text("UPDATE email_snoozes SET finished_at = now() - INTERVAL '40 days'"))
    assert chores.archive(engine, config=RETENTION) == 1
    assert record(engine, send) == Recorded(late=True, second_copy=False)
    assert record(engine, send) == Recorded(late=False, second_copy=False)
    with engine.begin() as connection:
        [send_row] = pages.sends(connection, id=held.id)
        connection.execute(text("DELETE FROM reminder_sends_archive"))
    assert (send_row.state, send_row.late) == ("sent", True)
    with engine.begin() as connection:
        assert ledger.record(connection, facts=[a_fact(send)]) == {}


@pytest.mark.parametrize(("scattered", "beats"), [(True, 1), (False, 6)], ids=["scattered", "herd"])
def test_leases_are_extended_in_place(engine: Engine, scattered: bool, beats: int) -> None:
    """The lease is not indexed and each page has room, so that updates become heap-only after a few heartbeats."""
    herd = text(
        "INSERT INTO email_snoozes (user_email, message_id, subject, remind_at) "
        "SELECT 'ann' || number % 97 || '@snoozer.example', '<' || number || '@mail.example>', 'Quarterly figures', "
        "now() - INTERVAL '1 hour' + INTERVAL '1 ms' * CASE WHEN :scattered THEN random() * 4000 ELSE number END "
        "FROM generate_series(1, 4000) AS number"
    )
    with engine.begin() as connection:
        connection.execute(herd, {"scattered": scattered})
    hands = {f"w{number}": [held.id for held in claim(engine, worker=f"w{number}", batch_size=50)] for number in (1, 2)}
    for _ in range(beats):
        shares = [_beat(engine, worker=worker, ids=ids) for worker, ids in hands.items()]
    assert min(shares) >= 0.95


def test_nothing_archived_breaks_an_invariant(engine: Engine) -> None:
    sent(engine)
    sent(engine, age=timedelta(0))
    chores.archive(engine, config=RETENTION)
    with engine.begin() as connection:
        assert [health_checks.violations(connection, invariant) for invariant in health_checks.INVARIANTS] == [
            []
        ] * len(health_checks.INVARIANTS)


def _beat(engine: Engine, *, worker: str, ids: list[int]) -> float:
    """Extend these leases; returns the share of updates that stayed on their page (heap-only)."""
    count = text("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'email_snoozes'")
    with engine.begin() as connection:
        updated, hot = connection.execute(count).one()
        tokens = text("SELECT id, claim_token FROM email_snoozes WHERE id = ANY(:ids) AND claimed_by = :worker")
        held = [(row.id, row.claim_token) for row in connection.execute(tokens, {"ids": ids, "worker": worker})]
        assert len(queue.extend(connection, held=held, lease=timedelta(seconds=90))) == len(ids)
        updated_now, hot_now = connection.execute(count).one()
    return float((hot_now - hot) / (updated_now - updated))
