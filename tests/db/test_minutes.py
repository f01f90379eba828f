"""What happened in each minute: as the ledger has it, whenever the clock ran, and once."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db import minutes
from snoozer.db.minutes import Span
from snoozer.delivery.chores import chores
from snoozer.queue import events
from tests.factories import a_snooze, now
from tests.web.reminders import a_sent_reminder

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# Every minute of which something is known, by what is in the ledger and in the events.
TRUTH = text("""
    SELECT date_trunc('minute', at) AS starts_at,
        count(*) FILTER (WHERE kind = 'sent') AS sent,
        count(*) FILTER (WHERE kind = 'failed') AS retried,
        count(*) FILTER (WHERE kind = 'retired') AS failed,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY late) FILTER (WHERE kind = 'sent') AS p50,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY late) FILTER (WHERE kind = 'sent') AS p99
    FROM (
        SELECT 'sent' AS kind, sent_at AS at,
            CAST(extract(epoch FROM sent_at - COALESCE(late_from, scheduled_for)) AS float) AS late
        FROM reminder_sends WHERE state = 'sent' AND channel = 'email'
        UNION ALL
        SELECT kind, at, NULL FROM snooze_events
    ) AS happened
    WHERE at < date_trunc('minute', clock_timestamp())
    GROUP BY 1 ORDER BY 1
""")
KEPT = text("""
    SELECT starts_at, sent, retried, failed, p50, p99 FROM queue_minutes
    WHERE seconds = :seconds AND sent + retried + failed > 0 ORDER BY starts_at
""")


@pytest.fixture
def happened(engine: Engine) -> Callable[..., None]:
    """`happened(ago, sent=3, failed=1)`: so long ago reminders were sent, each a second later, and others failed."""

    def make(ago: timedelta, *, sent: int = 0, retried: int = 0, failed: int = 0) -> None:
        for late in range(sent):
            a_sent_reminder(engine, promised=now() - ago - timedelta(seconds=late + 1), late=timedelta(seconds=late))
        with engine.begin() as connection:
            for kind in ["failed"] * retried + ["retired"] * failed:
                id = events.append(connection, snooze_id=1, kind=kind, actor="worker", route="worker")
                moved = text("UPDATE snooze_events SET at = now() - CAST(:ago AS interval) WHERE id = :id")
                connection.execute(moved, {"ago": ago, "id": id})

    return make


def agree(engine: Engine, *, seconds: int = 60, what: str = "minute") -> bool:
    with engine.connect() as connection:
        truth = text(TRUTH.text.replace("'minute', at", f"'{what}', at"))
        expected = [tuple(row) for row in connection.execute(truth)]
        return [tuple(row) for row in connection.execute(KEPT, {"seconds": seconds})] == expected


def recorded(engine: Engine) -> list[datetime]:
    with engine.connect() as connection:
        query = text("SELECT starts_at FROM queue_minutes WHERE seconds = 60 ORDER BY starts_at")
        return list(connection.execute(query).scalars())


def test_every_minute_is_that_of_the_ledger_and_recording_again_changes_nothing(
    engine: Engine, happened: Callable[..., None]
) -> None:
    for ago in (1, 2, 2, 7, 61, 600):
        happened(ago * MINUTE + timedelta(seconds=7), sent=ago % 3 + 2, retried=ago % 4, failed=ago % 2)
    chores.record_minutes(engine)
    assert agree(engine)
    with engine.begin() as connection:
        assert minutes.record(connection, again=DAY) == []


def test_minutes_in_which_no_clock_ran_are_recorded_by_the_next_run(
    engine: Engine, happened: Callable[..., None]
) -> None:
    chores.record_minutes(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM queue_minutes WHERE starts_at > now() - INTERVAL '3 hours'"))
    happened(2 * HOUR, sent=3, failed=1)
    happened(90 * MINUTE, retried=2)
    chores.record_minutes(engine)
    assert agree(engine)
    known = recorded(engine)
    assert known[-1] - known[0] == (len(known) - 1) * MINUTE, "none is missing, those with nothing included"
    assert now().replace(second=0, microsecond=0) - known[-1] in {MINUTE, 2 * MINUTE}


def test_what_is_known_of_a_minute_only_later_is_added_once(engine: Engine, happened: Callable[..., None]) -> None:
    happened(90 * MINUTE, sent=1)
    chores.record_minutes(engine)
    happened(90 * MINUTE, sent=2)
    chores.record_minutes(engine)
    assert not agree(engine)
    chores.roll_minutes(engine)
    assert agree(engine)


def test_hours_take_the_place_of_minutes_after_a_day_and_are_kept_for_a_month(
    engine: Engine, happened: Callable[..., None]
) -> None:
    for hours in (26, 27, 50, 24 * 29):
        happened(hours * HOUR, sent=3, retried=1)
    with engine.begin() as connection:
        old = text("INSERT INTO queue_minutes VALUES (:seconds, date_trunc('hour', now()) - :ago, 1, 0, 0)")
        connection.execute(old, {"seconds": 3600, "ago": 31 * DAY})
        connection.execute(old, {"seconds": 60, "ago": 26 * HOUR})
    chores.record_minutes(engine)
    chores.roll_minutes(engine)
    assert agree(engine, seconds=3600, what="hour")
    with engine.connect() as connection:
        hours, first = connection.execute(
            text("SELECT count(*), min(starts_at) FROM queue_minutes WHERE seconds = 3600")
        ).one()
    # Thirty days but the last one, which the minutes tell.
    assert hours == 29 * 24
    assert now() - 30 * DAY - HOUR < first < now() - 30 * DAY + HOUR
    assert all(now() - 25 * HOUR <= one for one in recorded(engine))


def test_the_backlog_is_that_of_the_minute_that_has_just_ended(engine: Engine) -> None:
    a_snooze(engine, remind_at=now() - 2 * MINUTE)
    a_snooze(engine, remind_at=now() + HOUR)
    a_snooze(engine, attempts=5)
    chores.record_minutes(engine)
    with engine.connect() as connection:
        known = connection.execute(text("SELECT due, oldest_due FROM queue_minutes ORDER BY starts_at DESC")).all()
    assert known[0].due == 1
    assert 120 <= known[0].oldest_due < 130
    assert {(row.due, row.oldest_due) for row in known[1:]} == {(None, None)}


@pytest.mark.parametrize(
    ("last", "step", "steps"), [(HOUR, MINUTE, 60), (DAY, 15 * MINUTE, 96), (30 * DAY, 6 * HOUR, 120)]
)
def test_a_chart_has_each_of_its_steps_once_and_all_that_happened_in_it(
    engine: Engine, happened: Callable[..., None], last: timedelta, step: timedelta, steps: int
) -> None:
    for ago in (5 * MINUTE, 20 * MINUTE, 5 * HOUR, 3 * DAY):
        happened(ago, sent=2, failed=1)
    chores.record_minutes(engine)
    chores.roll_minutes(engine)
    with engine.connect() as connection:
        spans: list[Span] = list(minutes.read(connection, last=last, step=step))
    assert len(spans) == steps
    assert {spans[n + 1].starts_at - spans[n].starts_at for n in range(steps - 1)} == {step}
    within = sum(ago < last for ago in (5 * MINUTE, 20 * MINUTE, 5 * HOUR, 3 * DAY))
    assert (sum(one.sent for one in spans), sum(one.failed for one in spans)) == (2 * within, within)
    assert spans[-1].starts_at > datetime.now(UTC) - step - 2 * MINUTE


def test_a_minute_that_is_not_recorded_is_no_minute_without_reminders(engine: Engine) -> None:
    with engine.connect() as connection:
        assert {one.recorded for one in minutes.read(connection, last=HOUR, step=MINUTE)} == {0}
    chores.record_minutes(engine)
    with engine.connect() as connection:
        assert {one.recorded for one in minutes.read(connection, last=HOUR, step=MINUTE)} == {1}
