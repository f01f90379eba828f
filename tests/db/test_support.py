"""The support queries agree with what happened: lateness, bands, long claims, releases, mail servers, one person."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import overview, support
from snoozer.queue import workers
from snoozer.telemetry import gauges
from tests.db.every_state import STATES
from tests.factories import ANN, HOUR, a_snooze, now
from tests.web.reminders import a_sent_reminder

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
FUTURE = """
INSERT INTO email_snoozes (user_email, message_id, remind_at)
SELECT 'p' || n || '@x.example', n || '@x', now() + n * INTERVAL '1 minute' FROM generate_series(1, :count) AS n
"""


def rows(engine: Engine, name: str, **values: Any) -> list[Any]:
    with engine.connect() as connection:
        return list(support.read(connection, name, **values).all())


def test_a_table_of_future_rows_reports_the_p99_of_what_waits(engine: Engine) -> None:
    """Of a hundred that wait 98 are late by a second, and 9,900 rows are still to come."""
    with engine.begin() as connection:
        connection.execute(text(FUTURE), {"count": 9_900})
        late = "INSERT INTO email_snoozes (user_email, message_id, remind_at) SELECT 'q' || n, n || '@q', "
        connection.execute(text(f"{late} now() - INTERVAL '1 second' FROM generate_series(1, 98) AS n"))
        connection.execute(text(f"{late} now() - INTERVAL '1 hour' FROM generate_series(99, 100) AS n"))
    sent, waits = rows(engine, "wait")
    assert (sent.what, sent.reminders, sent.p99) == ("sent", 0, None)
    assert (waits.what, waits.reminders) == ("waits", 100)
    assert bands(waits) == (98, 0, 0, 2)
    assert 1 <= waits.p50 < 60
    assert 3600 <= waits.p99 < 3700
    with engine.connect() as connection:
        page = overview.waiting(connection)
    assert (page.rows, page.later) == (100, 2)
    assert page.p99 is not None
    assert 3600 <= page.p99 < 3700


def bands(row: Any) -> tuple[int, ...]:
    return (row.within_10_s, row.within_60_s, row.within_30_min, row.more)


def test_the_bands_of_gauges_are_those_of_the_page(engine: Engine) -> None:
    for state in STATES:
        STATES[state](engine)
    for late in (SECOND, 30 * SECOND, 5 * MINUTE, HOUR):
        a_sent_reminder(engine, promised=now() - MINUTE - late, late=late)
        a_snooze(engine, remind_at=now() - late)
    sent, waits = rows(engine, "wait")
    assert bands(sent) == (1, 1, 1, 1)
    for family in gauges.DatabaseCollector(engine, dead_after=MINUTE).collect():
        if family.name in {"queue_late", "reminders_sent_late"}:
            row = waits if family.name == "queue_late" else sent
            assert [(sample.labels["band"], sample.value) for sample in family.samples] == list(
                zip(("≤ 10 s", "≤ 60 s", "≤ 30 min", "more"), bands(row), strict=True)
            )


def test_how_late_what_was_sent_is_in_bands(engine: Engine) -> None:
    for late in (SECOND, 9 * SECOND, 30 * SECOND, 5 * MINUTE, HOUR):
        a_sent_reminder(engine, promised=now() - MINUTE - late, late=late)
    rested = now() - 8 * HOUR
    a_sent_reminder(
        engine, promised=rested, late=8 * HOUR - MINUTE, deferred_until=now() - 90 * SECOND, deferred_by="quiet hours"
    )
    sent, _ = rows(engine, "wait")
    assert (sent.reminders, bands(sent)) == (6, (2, 2, 1, 1))


@pytest.mark.parametrize(("late", "band"), [(5, 0), (30, 1), (300, 2), (7200, 3)])
@pytest.mark.parametrize("state", ["due", "held", "leaving", "retry", "hold", "newer", "message"])
def test_what_waits_is_late_from_its_promise_on(late: int, band: int, state: str, engine: Engine) -> None:
    promised = now() - late * SECOND
    id = STATES[state](engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE email_snoozes SET scheduled_for = :at, remind_at = CASE WHEN remind_at > now() THEN remind_at "
                "ELSE :at END WHERE id = :id AND snooze_keeps('promise')"
            ),
            {"at": promised, "id": id},
        )
    assert bands(rows(engine, "wait")[1]) == tuple(int(position == band) for position in range(4))


@pytest.mark.parametrize(
    "state", ["asleep", "owner_pause", "operator_pause", "database_pause", "sent", "cancelled", "case"]
)
def test_what_is_still_to_come_is_over_or_is_paused_is_not_late(state: str, engine: Engine) -> None:
    STATES[state](engine)
    assert rows(engine, "wait")[1].reminders == 0


def test_what_rests_is_late_only_after_the_rest(engine: Engine) -> None:
    STATES["rest"](engine)
    assert rows(engine, "wait")[1].reminders == 0
    ended = now() - 30 * SECOND
    a_snooze(engine, scheduled_for=now() - 9 * HOUR, remind_at=ended, deferred_until=ended, deferred_by="quiet hours")
    assert bands(rows(engine, "wait")[1]) == (0, 1, 0, 0)


def test_claims_that_are_held_for_long_are_seen_before_their_lease_ends(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="w7")
    old = a_snooze(engine, claimed_at=now() - 60 * SECOND, claimed_by="w7")
    a_snooze(engine, claimed_at=now() - HOUR)
    [found] = rows(engine, "long_runners")
    assert (found.id, found.worker, found.send) == (old, "w7", "no send")
    assert found.held >= 60 * SECOND
    assert timedelta(0) < found.lease_left <= 30 * SECOND
    assert [row.claimed_by for row in rows(engine, "stuck")] == ["another-worker"]


def test_a_worker_that_froze_is_mute_before_anyone_declares_it_dead(engine: Engine) -> None:
    with engine.begin() as connection:
        for id in ("at-work", "frozen"):
            workers.register(connection, id=id)
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 minute' WHERE id = 'frozen'"))
    assert {row.id: row.state for row in rows(engine, "workers")} == {"at-work": "alive", "frozen": "mute"}
    assert rows(engine, "health")[0].workers == 1
    assert [(row.alive, row.known) for row in rows(engine, "versions")] == [(1, 2)]


def test_what_one_person_has(engine: Engine) -> None:
    for state in ("due", "asleep", "case"):
        STATES[state](engine, user_email=ANN)
        STATES[state](engine, user_email="bob@x.example")
    a_snooze(engine, user_email=ANN)
    assert {row.state: row.snoozes for row in rows(engine, "person", person=ANN.upper())} == {
        "due": 2,
        "asleep": 1,
        "case": 1,
    }


def test_what_a_mail_server_answered_is_shown_without_addresses(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, state, opened_at, away_since, last_failure, last_failure_at) "
                "VALUES ('mx:25', 'open', now(), now() - INTERVAL '1 hour', '421 <ann@x.example> later', now())"
            )
        )
    [found] = rows(engine, "mail_servers")
    assert (found.state, found.last_failure, found.worked_ago) == ("open", "421 <…@…> later", None)
    assert found.away_for >= HOUR
