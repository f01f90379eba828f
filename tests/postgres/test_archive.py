"""What is over moves to the archive whole, once, and nothing that may still change moves at all."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from snoozer import housekeeping
from snoozer.postgres import archive, doctor, ledger, queue
from snoozer.postgres.ledger import Recorded, Uncertainty
from snoozer.postgres.pages import programs
from snoozer.postgres.pages import snoozes as pages
from tests.factories import ANN, a_snooze, now, the_row
from tests.postgres.test_ledger import HOLD, a_fact, a_reserved_send, mark, record, reserve
from tests.postgres.test_queue import claim, finalize

ROOT = Path(__file__).resolve().parents[2]
DAY = timedelta(days=1)
OLD = 40 * DAY
TERMS = housekeeping.Retention(archive_after=35 * DAY, keep_months=24)
TABLES = ("email_snoozes", "email_snoozes_archive", "reminder_sends", "reminder_sends_archive")


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """The empty database, without partitions before and after."""
    with engine.begin() as connection:
        archive.expire(connection, keep_months=-12_000)
    yield engine
    with engine.begin() as connection:
        archive.expire(connection, keep_months=-12_000)


def finished(engine: Engine, *, at: datetime | None = None, outcome: str = "sent", **columns: Any) -> int:
    """A snooze that was over at `at`, by default long ago."""
    at = at or now() - OLD
    return a_snooze(engine, inactive=True, outcome=outcome, finished_at=at, remind_at=at, scheduled_for=at, **columns)


def sent(engine: Engine, *, age: timedelta = OLD) -> int:
    """A snooze that went all the way, as if it were so old."""
    held, send = a_reserved_send(engine, remind_at=now() - age)
    assert mark(engine, send)
    record(engine, send)
    assert finalize(engine, held)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET finished_at = finished_at - :age WHERE id = :id"),
            {"age": age, "id": held.id},
        )
    return held.id


def counts(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()  # noqa: S608
            for name in TABLES
        }


def partitions(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ANY(:parents)"),
            {
                "parents": [
                    connection.execute(text(f"SELECT '{name}_archive'::regclass::oid")).scalar_one()
                    for name in ("email_snoozes", "reminder_sends")
                ]
            },
        )
        return set(rows.scalars())


def until(what: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_snooze_moves_with_its_send_and_both_stay_readable(engine: Engine) -> None:
    id = sent(engine)
    before = the_row(engine, id)
    assert housekeeping.archive(engine, terms=TERMS) == 1
    assert counts(engine) == dict(zip(TABLES, (0, 1, 0, 1), strict=True))
    with engine.connect() as connection:
        moved = connection.execute(text("SELECT * FROM email_snoozes_archive")).one()
        assert moved == before
        page = pages.one(connection, id=id, user_email=ANN)
        program = programs.one(connection, id=id, user_email=ANN, changing=True)
        assert pages.one(connection, id=id, user_email="bob@snoozer.example") is None
        assert programs.one(connection, id=id, user_email="bob@snoozer.example") is None
        assert page is not None
        assert program is not None
        assert (page.outcome, page.send_state, program.outcome) == ("sent", "sent", "sent")
        assert page.sent_at == program.sent_at
        assert [row.state for row in pages.sends(connection, id=id)] == ["sent"]
        assert [row.state for row in programs.sends(connection, id=id)] == ["sent"]


def test_what_is_not_over_or_not_long_enough_stays(engine: Engine) -> None:
    finished(engine, at=now() - 34 * DAY)
    finished(engine, outcome="retired")
    a_snooze(engine, inactive=True)
    a_snooze(engine, remind_at=now() - OLD)
    claim(engine)
    assert housekeeping.archive(engine, terms=TERMS) == 0
    assert counts(engine)["email_snoozes"] == 4


@pytest.mark.parametrize("state", ["sending", "uncertain"])
def test_a_send_that_may_have_left_keeps_its_snooze_here(engine: Engine, state: str) -> None:
    id = sent(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE reminder_sends DISABLE TRIGGER reminder_sends_keep_sent"))
        connection.execute(text("UPDATE reminder_sends SET sent_at = NULL, state = :state"), {"state": state})
        connection.execute(text("ALTER TABLE reminder_sends ENABLE TRIGGER reminder_sends_keep_sent"))
    finished(engine, outcome="cancelled")
    assert housekeeping.archive(engine, terms=TERMS) == 1
    assert the_row(engine, id).outcome == "sent"
    assert counts(engine) == dict(zip(TABLES, (1, 1, 1, 0), strict=True))


def test_a_row_in_somebodys_hands_is_left_for_the_next_tick(engine: Engine) -> None:
    held, send_held, free = finished(engine), sent(engine), finished(engine)
    with engine.begin() as somebody:
        somebody.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR NO KEY UPDATE"), {"id": held})
        somebody.execute(text("SELECT 1 FROM reminder_sends WHERE snooze_id = :id FOR UPDATE"), {"id": send_held})
        assert housekeeping.archive(engine, terms=TERMS) == 1
    assert the_row(engine, held)
    assert the_row(engine, send_held)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM email_snoozes_archive")).scalars().all() == [free]
    assert housekeeping.archive(engine, terms=TERMS) == 2


def test_one_bad_row_keeps_nobody_else_back(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 4)
    bad = finished(engine, at=now() - OLD - DAY)
    rest = [finished(engine) for _ in range(9)]
    with engine.begin() as connection:
        archive.prepare(connection, months=[(now() - OLD - DAY).date().replace(day=1)])
        connection.execute(
            text("INSERT INTO email_snoozes_archive SELECT * FROM email_snoozes WHERE id = :id"), {"id": bad}
        )
    assert housekeeping.archive(engine, terms=TERMS) == len(rest)
    assert the_row(engine, bad)
    assert counts(engine)["email_snoozes"] == 1


def test_counts_stay_whole_while_workers_finish_and_two_clocks_archive(engine: Engine) -> None:
    for _ in range(300):
        finished(engine)
    for _ in range(60):
        a_snooze(engine)
    at_once = housekeeping.Retention(archive_after=timedelta(0), keep_months=24)
    # A statement that was planned before a month's table was made does not look into it; the clock makes them ahead.
    housekeeping.keep_months(engine, terms=at_once)
    with engine.begin() as connection:
        archive.prepare(connection, months=[(now() - OLD).date().replace(day=1)])
    stop, sums = Event(), set()

    def clock() -> None:
        while not stop.is_set():
            housekeeping.archive(engine, terms=at_once)

    def watch() -> None:
        while not stop.is_set():
            with engine.connect() as connection:
                sums.add(
                    connection.execute(
                        text(
                            "SELECT (SELECT count(*) FROM email_snoozes) + (SELECT count(*) FROM email_snoozes_archive)"
                        )
                    ).scalar_one()
                )

    threads = [Thread(target=clock), Thread(target=clock), Thread(target=watch)]
    for thread in threads:
        thread.start()
    try:
        while taken := claim(engine, batch_size=7):
            for held in taken:
                assert finalize(engine, held)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    housekeeping.archive(engine, terms=at_once)
    assert sums == {360}
    assert counts(engine)["email_snoozes_archive"] == 360


def test_a_batch_whose_connection_is_cut_moves_nothing(engine: Engine) -> None:
    ids = [sent(engine) for _ in range(3)]
    before = counts(engine)
    with pytest.raises(OperationalError), engine.begin() as connection:
        archive.prepare(connection, months=[(now() - OLD).date().replace(day=1)])
        assert len(queue.archive(connection, ids=ids, older_than=35 * DAY)) == 3
        with engine.connect() as other:
            other.execute(
                text("SELECT pg_terminate_backend(:pid)"),
                {"pid": connection.execute(text("SELECT pg_backend_pid()")).scalar_one()},
            )
        connection.execute(text("SELECT 1"))
    assert counts(engine) == before
    assert housekeeping.archive(engine, terms=TERMS) == 3


def test_a_clock_killed_in_the_middle_of_a_batch_loses_nothing(engine: Engine) -> None:
    for _ in range(3):
        sent(engine)
    before = counts(engine)
    program = (
        "import sys; from datetime import timedelta; from snoozer import housekeeping; "
        "from snoozer.postgres.engine import connect; "
        "terms = housekeeping.Retention(archive_after=timedelta(days=35), keep_months=24); "
        "housekeeping.archive(connect(sys.argv[1], name='victim'), terms=terms)"
    )
    with engine.begin() as connection:
        archive.prepare(connection, months=[(now() - OLD).date().replace(day=1)])
    with engine.begin() as wall:
        wall.execute(text("LOCK TABLE email_snoozes_archive IN EXCLUSIVE MODE"))
        url = engine.url.render_as_string(hide_password=False)
        victim = subprocess.Popen([sys.executable, "-c", program, url], cwd=ROOT)
        until(lambda: _victims(engine) == ["Lock"])
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert counts(engine) == before
    until(lambda: not _victims(engine))
    assert housekeeping.archive(engine, terms=TERMS) == 3
    assert counts(engine) == dict(zip(TABLES, (0, 3, 0, 3), strict=True))


def test_a_promise_kept_long_ago_is_not_kept_twice(engine: Engine) -> None:
    """A producer replays its INSERTs: the message is put away anew at exactly the same promise, months later."""
    id = sent(engine)
    old = the_row(engine, id)
    housekeeping.archive(engine, terms=TERMS)
    a_snooze(engine, message_id=old.message_id, remind_at=old.scheduled_for)
    [held] = claim(engine)
    assert reserve(engine, held) == []
    with engine.begin() as connection:
        known = ledger.look(connection, snooze_id=held.id, uncertainty=Uncertainty(hold=HOLD))
    assert known is not None
    assert known.state == "sent"


def test_a_fact_that_comes_after_the_move_is_still_written_down(engine: Engine) -> None:
    """A machine that was off for months starts again and tells what its journal holds."""
    held, send = a_reserved_send(engine, remind_at=now() - OLD)
    with engine.begin() as connection:
        assert queue.cancel(connection, id=held.id, user_email=ANN)
        connection.execute(text("UPDATE email_snoozes SET finished_at = now() - INTERVAL '40 days'"))
    assert housekeeping.archive(engine, terms=TERMS) == 1
    assert record(engine, send) == Recorded(late=True, second_copy=False)
    assert record(engine, send) == Recorded(late=False, second_copy=False)
    with engine.begin() as connection:
        [told] = programs.sends(connection, id=held.id)
        connection.execute(text("DELETE FROM reminder_sends_archive"))
    assert (told.state, told.late) == ("sent", True)
    with engine.begin() as connection:
        assert ledger.record(connection, facts=[a_fact(send)]) == {}


def test_there_are_partitions_ahead_and_for_what_is_older(engine: Engine) -> None:
    finished(engine, at=datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC))
    finished(engine, at=datetime(2026, 1, 1, tzinfo=UTC))
    housekeeping.keep_months(engine, terms=TERMS)
    ahead = partitions(engine)
    assert len(ahead) == 6
    assert f"email_snoozes_archive_{now():%Y_%m}" in ahead
    assert housekeeping.archive(engine, terms=TERMS) == 2
    with engine.connect() as connection:
        in_december = connection.execute(text("SELECT count(*) FROM email_snoozes_archive_2025_12")).scalar_one()
    assert in_december == 1
    assert housekeeping.keep_months(engine, terms=TERMS) == []
    assert partitions(engine) - ahead == {
        f"{table}_archive_{month}" for table in ("email_snoozes", "reminder_sends") for month in ("2025_12", "2026_01")
    }


def test_retention_drops_whole_old_months_and_nothing_else(engine: Engine) -> None:
    months = now().year * 12 + now().month - 1
    first = datetime((months - 24) // 12, (months - 24) % 12 + 1, 1, tzinfo=UTC)
    kept, gone = finished(engine, at=first), finished(engine, at=first - timedelta(microseconds=1))
    living = a_snooze(engine)
    with engine.begin() as connection:
        for id in (kept, gone, living):
            connection.execute(
                text(
                    "INSERT INTO snooze_events (snooze_id, at, kind, actor, route) "
                    "VALUES (:id, :at, 'edited', 'user', 'web')"
                ),
                {"id": id, "at": first - DAY},
            )
    housekeeping.archive(engine, terms=TERMS)
    month = (first - DAY).strftime("%Y_%m")
    dropped = housekeeping.keep_months(engine, terms=TERMS)
    assert dropped == [f"email_snoozes_archive_{month}", f"reminder_sends_archive_{month}"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM email_snoozes_archive")).scalars().all() == [kept]
        events = connection.execute(text("SELECT snooze_id FROM snooze_events ORDER BY id")).scalars().all()
    assert events == [kept, living]
    assert the_row(engine, living)


def test_a_month_is_made_while_somebody_reads_and_writes_another(engine: Engine) -> None:
    finished(engine)
    housekeeping.archive(engine, terms=TERMS)
    with engine.begin() as reader:
        reader.execute(text("UPDATE email_snoozes_archive SET note = 'read'"))
        housekeeping.keep_months(engine, terms=TERMS)
    assert len(partitions(engine)) >= 6


def test_the_archive_has_the_columns_of_the_living_tables_in_their_order(engine: Engine) -> None:
    """Rows move whole, so a column added to one table and not to the other must be seen here."""
    with engine.connect() as connection:
        columns = {name: _columns(connection, name) for name in TABLES}
    assert columns["email_snoozes_archive"] == columns["email_snoozes"]
    assert columns["reminder_sends_archive"] == [("finished_at", "timestamptz"), *columns["reminder_sends"]]


@pytest.mark.parametrize(("scattered", "beats"), [(True, 1), (False, 6)], ids=["scattered", "herd"])
def test_leases_are_lengthened_in_place(engine: Engine, scattered: bool, beats: int) -> None:
    """The lease is not indexed and each page has room. A herd, whole pages of it claimed, settles in a few beats."""
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
    housekeeping.archive(engine, terms=TERMS)
    with engine.begin() as connection:
        assert [doctor.broken(connection, invariant) for invariant in doctor.INVARIANTS] == [[]] * 6


def _columns(connection: Connection, table: str) -> list[tuple[str, str]]:
    rows = connection.execute(
        text(
            "SELECT attname, typname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
            "WHERE attrelid = CAST(:table AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ),
        {"table": table},
    )
    return [(row.attname, row.typname) for row in rows]


def _beat(engine: Engine, *, worker: str, ids: list[int]) -> float:
    """Lengthen these leases; answers the share of updates that stayed on their page (heap-only)."""
    count = text("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'email_snoozes'")
    with engine.begin() as connection:
        updated, hot = connection.execute(count).one()
        tokens = text("SELECT id, claim_token FROM email_snoozes WHERE id = ANY(:ids) AND claimed_by = :worker")
        held = [(row.id, row.claim_token) for row in connection.execute(tokens, {"ids": ids, "worker": worker})]
        assert len(queue.extend(connection, held=held, lease=timedelta(seconds=90))) == len(ids)
        updated_now, hot_now = connection.execute(count).one()
    return float((hot_now - hot) / (updated_now - updated))


def _victims(engine: Engine) -> list[str | None]:
    """What each connection of the victim waits for."""
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT wait_event_type FROM pg_stat_activity WHERE application_name = 'snoozer-victim'")
        )
        return list(rows.scalars())
