"""Times on the clock follow their person and their zone's rules; nothing else moves, and every move has an event."""

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import TZPATH, ZoneInfo

import pytest
import tzdata  # type: ignore[import-untyped]
from sqlalchemy import Engine, text

from snoozer.db.statements import database_time
from snoozer.snoozes import zone_change
from tests.factories import ANN, HOUR, a_snooze, asked_for, now, the_events, the_row

CHECKOUT = Path(__file__).resolve().parents[2]
BERLIN, KOLKATA, TOKYO = "Europe/Berlin", "Asia/Kolkata", "Asia/Tokyo"
NEW_YORK = "America/New_York"


def move(engine: Engine, *, old: str = BERLIN, new: str = KOLKATA) -> int:
    with engine.begin() as connection:
        ahead = zone_change.preview(connection, user_email=ANN, old=old, new=new, now=database_time(connection))
        return zone_change.apply(connection, ahead, old=old, route="web")


def test_the_hour_goes_along_and_the_instant_is_a_new_promise(engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am")
    before = the_row(engine, id)
    assert move(engine) == 1
    after = the_row(engine, id)
    assert after.wall_time == before.wall_time
    assert after.remind_at.astimezone(ZoneInfo(KOLKATA)).replace(tzinfo=None) == before.wall_time
    assert (after.zone, after.scheduled_for) == (KOLKATA, None)
    assert the_events(engine, id) == ["edited"]
    with engine.connect() as connection:
        detail = connection.execute(text("SELECT detail FROM snooze_events")).scalar_one()
    assert (detail["why"], detail["from"], detail["zone"]) == ("zone", BERLIN, KOLKATA)
    assert datetime.fromisoformat(detail["was"]) == before.remind_at


def test_what_is_not_a_time_on_this_clock_stays(engine: Engine) -> None:
    day = now() + 72 * HOUR
    wall = {"wall_time": day.replace(tzinfo=None), "time_kind": "wall", "zone": BERLIN}
    stays = [
        asked_for(engine, "in 72 hours"),
        asked_for(engine, f"in 3 days at 8am {TOKYO}"),
        a_snooze(engine, remind_at=day),
        a_snooze(engine, remind_at=day, **wall, user_email="bob@snoozer.example"),
        a_snooze(engine, remind_at=day, **wall, inactive=True, outcome="cancelled", finished_at=now()),
        a_snooze(engine, remind_at=now() - HOUR, **wall),
        a_snooze(engine, remind_at=now() + HOUR, scheduled_for=now() - HOUR, attempts=1, **wall),
    ]
    before = [the_row(engine, id) for id in stays]
    assert move(engine) == 0
    assert [the_row(engine, id) for id in stays] == before


def test_an_hour_that_is_over_there_keeps_its_instant(engine: Engine) -> None:
    soon = now() + HOUR
    wall = soon.astimezone(ZoneInfo(BERLIN)).replace(tzinfo=None)
    once = a_snooze(engine, remind_at=soon, wall_time=wall, time_kind="wall", zone=BERLIN)
    before = the_row(engine, once)
    assert move(engine) == 0
    assert the_row(engine, once) == before
    with engine.connect() as connection:
        ahead = zone_change.preview(connection, user_email=ANN, old=BERLIN, new=KOLKATA, now=now())
    assert (ahead.passed, ahead.moves) == (1, ())


def test_recurring_snoozes_continue_by_the_new_clock(engine: Engine) -> None:
    soon = (now() + HOUR).astimezone(ZoneInfo(BERLIN)).replace(second=0, microsecond=0)
    id = asked_for(engine, f"every day at {soon:%H:%M}")
    promise = the_row(engine, id).remind_at
    assert move(engine) == 1
    assert the_row(engine, id).remind_at == promise
    assert the_row(engine, id).zone == KOLKATA
    weekly = asked_for(engine, "every monday 9am", zone=BERLIN)
    move(engine)
    at = the_row(engine, weekly).remind_at.astimezone(ZoneInfo(KOLKATA))
    assert (at.weekday(), at.hour, at.minute) in {(0, 9, 0), (0, 12, 30), (0, 13, 30)}


def test_there_and_back_again_no_day_is_lost_and_no_rule_has_changed(engine: Engine) -> None:
    due = (now() + HOUR).astimezone(ZoneInfo(NEW_YORK)).replace(second=0, microsecond=0)
    id = asked_for(engine, f"every day at {due:%H:%M}", zone=NEW_YORK)
    promise = the_row(engine, id).remind_at
    move(engine, old=NEW_YORK, new=TOKYO)
    with engine.connect() as connection:
        assert zone_change.find_outdated(connection, now=now())[:2] == ([], [])
    move(engine, old=TOKYO, new=NEW_YORK)
    assert (the_row(engine, id).remind_at, the_row(engine, id).zone) == (promise, NEW_YORK)


def test_a_row_that_a_worker_takes_meanwhile_stays(engine: Engine) -> None:
    id = asked_for(engine, "in 3 days at 8am")
    with engine.begin() as connection:
        ahead = zone_change.preview(connection, user_email=ANN, old=BERLIN, new=KOLKATA, now=now())
    changed = now() + 50 * HOUR
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = :at"), {"at": changed})
    with engine.begin() as connection:
        assert zone_change.apply(connection, ahead, old=BERLIN, route="web") == 0
    assert the_row(engine, id).remind_at == changed
    assert the_events(engine, id) == []


@pytest.mark.parametrize("nonsense", [{"unit": "hour"}, {"unit": "month", "nth": 1, "weekdays": []}], ids=str)
def test_an_invalid_recurrence_stays_and_does_not_stop_the_others(engine: Engine, nonsense: dict[str, Any]) -> None:
    id, strange = asked_for(engine, "every monday 9am"), asked_for(engine, "every monday 9am")
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET recurrence = recurrence || CAST(:nonsense AS jsonb) WHERE id = :id"),
            {"nonsense": json.dumps(nonsense), "id": strange},
        )
    before = the_row(engine, strange)
    assert move(engine) == 1
    assert (the_row(engine, id).zone, the_row(engine, strange)) == (KOLKATA, before)


def test_ten_thousand_follow_in_one_go(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, wall_time, zone, time_kind) "
                "SELECT :email, n::text, at, at AT TIME ZONE :zone, :zone, 'wall' "
                "FROM generate_series(1, 10000) AS n, "
                "LATERAL (SELECT now() + INTERVAL '3 days' + n * INTERVAL '1 min') AS due (at)"
            ),
            {"email": ANN, "zone": BERLIN},
        )
    assert move(engine) == 10_000


def a_newer_database(folder: Path) -> Path:
    """A tz database in which Berlin is three hours ahead of UTC for good."""
    source = Path(tzdata.__file__).parent / "zoneinfo"
    if not source.exists() and TZPATH:
        source = Path(TZPATH[0])
    (folder / "Europe").mkdir()
    shutil.copy(source / "Etc" / "GMT-3", folder / "Europe" / "Berlin")
    return folder


@pytest.fixture
def times_moved(engine: Engine, postgres_url: str, tmp_path: Path) -> Any:
    """`times_moved("--apply")`: the command in a process that has a newer tz database."""
    newer = a_newer_database(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "DATABASE_URL": postgres_url, "PYTHONTZPATH": str(newer)}
        return subprocess.run(
            [sys.executable, "-m", "snoozer", "times-moved", *arguments],
            cwd=CHECKOUT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    return run


def test_newer_rules_move_the_instant_and_keep_the_hour(engine: Engine, times_moved: Any) -> None:
    # Not on this weekday: the moved time may have passed today.
    once = asked_for(engine, "in 3 days at 8am", subject="Private")
    weekly = asked_for(engine, f"every {now() + timedelta(days=3):%A} 9am")
    stays = [asked_for(engine, "in 72 hours"), asked_for(engine, "in 3 days at 8am", zone=TOKYO)]
    before = {id: the_row(engine, id) for id in (once, weekly, *stays)}
    listed = times_moved()
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [str(once), str(weekly)]
    assert "2 snoozes would move" in listed.stderr
    assert all(the_row(engine, id) == row for id, row in before.items())
    applied = times_moved("--apply")
    assert applied.stdout == listed.stdout
    assert "Private" not in applied.stdout + applied.stderr
    assert "@" not in applied.stdout + applied.stderr
    for id, hour in ((once, 5), (weekly, 6)):
        assert (the_row(engine, id).remind_at.hour, the_row(engine, id).remind_at.minute) == (hour, 0)
        assert the_row(engine, id).scheduled_for is None
        assert the_events(engine, id) == ["edited"]
    assert all(the_row(engine, id) == before[id] for id in stays)
    again = times_moved("--apply")
    assert again.stdout == ""
    assert "Nothing to move" in again.stderr


def test_a_zone_that_is_not_known_here_is_named_and_left_alone(engine: Engine, times_moved: Any) -> None:
    strange = a_snooze(
        engine, remind_at=now() + HOUR, zone="Mars/Olympus", time_kind="wall", wall_time=now().replace(tzinfo=None)
    )
    before = the_row(engine, strange)
    assert f"{strange}  its zone" in times_moved("--apply").stderr
    assert the_row(engine, strange) == before
