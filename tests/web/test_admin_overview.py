"""The overview: each figure is that of the database, is read in time or says so, and once for all who watch."""

import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from snoozer.queue import events
from snoozer.web.operators import reading
from tests.factories import a_snooze, now
from tests.statements import statements
from tests.web.cases import page, visible_text
from tests.web.overviews import (
    HOUR,
    MINUTE,
    SECOND,
    a_worker,
    all_is_well,
    part,
    sent,
    verdict,
    waits,
)


def test_a_figure_that_is_not_read_in_time_says_so_and_the_page_comes(
    operator: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("EACH_SECONDS", 0.3), ("LEAST_SECONDS", 0.1), ("ALL_SECONDS", 0.6)):
        monkeypatch.setattr(reading, name, seconds)
    monkeypatch.setattr("snoozer.web.context.STATUS_SECONDS", 0.2)
    all_is_well(engine)
    waits(engine)
    assert "Due now 3 snoozes" in part(operator, "now")
    with engine.connect() as another, another.begin() as transaction:
        another.execute(text("LOCK TABLE email_snoozes IN ACCESS EXCLUSIVE MODE"))
        shown = visible_text(page(operator, "/admin"))
        transaction.rollback()
    # What was known before is shown with its age.
    assert re.search(r"Now not read in time; this is of \d+ s ago Due now 3 snoozes", shown)
    assert re.search(r"Waiting now \(\d+ s ago\) 0", shown)
    assert "1.2.3" in shown
    assert re.search(r"\d figures were not read in time", shown)
    assert "not read in time" not in visible_text(page(operator, "/admin"))


def test_a_figure_that_was_never_read_says_so(
    operator: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("EACH_SECONDS", 0.3), ("LEAST_SECONDS", 0.1), ("ALL_SECONDS", 0.6)):
        monkeypatch.setattr(reading, name, seconds)
    monkeypatch.setattr("snoozer.web.context.STATUS_SECONDS", 0.2)
    with engine.connect() as another, another.begin() as transaction:
        another.execute(text("LOCK TABLE email_snoozes, reminder_sends, queue_minutes IN ACCESS EXCLUSIVE MODE"))
        shown = visible_text(page(operator, "/admin"))
        transaction.rollback()
    assert "The queue not read in time" in shown
    assert "Waiting now not read in time" in shown
    assert "All is well" not in shown


def test_the_figures_are_those_of_the_database(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    all_is_well(engine)
    a_case()
    for ago in (3, 30, 600, 600, 4000):
        a_snooze(engine, remind_at=now() - ago * SECOND)
    a_snooze(engine, remind_at=now() + HOUR)
    held = a_snooze(engine, claimed_by="ant-1", claimed_at=now() - 5 * MINUTE)
    for late in (0, 1, 2, 30, 2000):
        sent(engine, ago=10 * MINUTE, late=late * SECOND)
    sent(engine, ago=2 * HOUR)
    with engine.begin() as connection:
        for kind in ("failed", "failed", "retired"):
            events.append(connection, snooze_id=1, kind=kind, actor="worker", route="worker")
    now_part = part(operator, "now")
    for figure in ("Due now 5 snoozes the oldest for 1 h 6 min", "In hand 1 snooze the oldest claim for 5 min"):
        assert figure in now_part
    for figure in ("Asleep 1 snooze", "Cases 1 to decide", "Sent 5 in the last hour 0.1 a minute", "Retry rate 25 %"):
        assert figure in now_part
    assert "2 failed and are tried again, 1 became a case" in now_part
    lateness = part(operator, "lateness")
    assert re.search(r"Waiting now 1 17 % 1 17 % 3 50 % 1 17 % within 5 min( \d+ s)? all within 1 h \d min", lateness)
    assert re.search(
        r"Sent in the last hour 3 60 % 1 20 % 0 0 % 1 20 % within 2\.00 s all within 33 min 20 s", lateness
    )
    workers = part(operator, "workers")
    assert re.search(
        rf"ant-1 1\.2\.3 ant at work \d+ s ago 1 h 1 of 50 rows, 8 at once {held} , the oldest for 5 min", workers
    )


def test_the_database_and_its_wal_are_shown_with_their_units(operator: FlaskClient, engine: Engine) -> None:
    shown = part(operator, "database")
    assert re.search(r"Size [\d.]+ MB on disk, without WAL", shown)
    assert re.search(r"Dead rows [\d,]+ rows", shown)
    assert re.search(r"Connections \d+ of \d+", shown)
    assert re.search(r"WAL [\d.]+ (MB|GB) written up to [0-9A-F]+/[0-9A-F]+", shown)
    assert re.search(r"Locks 0 sessions wait for more than 4 s", shown)
    with engine.connect() as another:
        another.execute(text("SELECT pg_current_xact_id()"))
        assert re.search(r"Oldest snapshot \d+ s", part(operator, "database"))


def test_charts_have_all_that_was_recorded_also_as_tables(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    for ago in (5, 5, 50, 300):
        sent(engine, ago=ago * MINUTE, late=2 * SECOND)
    with engine.begin() as connection:
        id = events.append(connection, snooze_id=1, kind="failed", actor="worker", route="worker")
        connection.execute(
            text("UPDATE snooze_events SET at = now() - INTERVAL '5 minutes' WHERE id = :id"), {"id": id}
        )
    assert "No clock has recorded anything yet" in part(operator, "charts")
    chores.record_minutes(engine)
    chores.roll_minutes(engine)
    shown = part(operator, "charts")
    assert "The last hour, by the minute 3 reminders sent, 1 attempt tried again, 0 cases, until " in shown
    assert "sent: up to 2.0 a minute" in shown
    assert re.search(r"4 reminders were sent, up to \d\.\d a minute; 1 attempt failed, up to \d\.\d a minute\.", shown)
    assert re.search(r"\d\d:\d\d 2 1 0 2\.00 s 2\.00 s", shown)
    assert re.search(r"\d\d:\d\d 0 0 0 none sent", shown)
    assert not re.search(r"\b0\.0 a minute|–", shown)
    # No chart ends in the future.
    here = now().astimezone(ZoneInfo("Europe/Berlin"))
    ends = {f"until {here - minutes * MINUTE:%H:%M}" for minutes in (0, 1)}
    assert set(re.findall(r"until (?:\w+ )*\d\d:\d\d", shown)) <= ends
    markup = page(operator, "/admin")
    for picture in re.findall(r"<svg[^>]*role=\"img\".*?</svg>", markup, re.S):
        assert "style=" not in picture
        assert re.search(r"<title id=.*?</title>\s*<desc id=", picture, re.S)
        names = re.search(r'aria-labelledby="([^"]+)"', picture)
        assert names is not None
        assert all(f'id="{name}"' in picture for name in names[1].split())


def test_the_figures_are_read_once_for_all_who_watch(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    with statements(engine) as executed:
        for _ in range(5):
            assert operator.get("/admin", headers={"Snoozer-Refresh": "1"}).status_code == 200
    assert len([one for one in executed if "pg_database_size" in one]) == 1
    with statements(engine) as executed:
        page(operator, "/admin")
    assert len([one for one in executed if "pg_database_size" in one]) == 1, "who opens the page has them read anew"


def test_an_empty_queue_says_what_is_to_be_started(operator: FlaskClient) -> None:
    shown = visible_text(page(operator, "/admin"))
    assert "start it with: snoozer clock" in shown
    assert "No worker runs (start one with: snoozer worker)" in shown
    assert "Mail server not tried yet" in shown


def test_a_worker_that_deregistered_is_not_lost(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    a_worker(engine, "bee-1")
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now() WHERE id = 'bee-1'"))
    assert verdict(operator)[0] == "well"
    assert "bee-1" not in part(operator, "workers")


def test_a_server_without_streams_has_its_pages_ask(operator: FlaskClient) -> None:
    assert 'data-live="poll"' in page(operator, "/admin")
    assert operator.get("/admin/live").status_code == 204
    answer = operator.get("/admin/live/changes")
    assert answer.json is not None
    assert answer.json["transactions"] is None
