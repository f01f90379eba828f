"""A worker is missed if it was lost and no later start replaced it: the overview and the doctor agree on that."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.cli.database_findings import database_findings
from snoozer.db import overview
from snoozer.settings import Settings
from tests.web.overviews import a_worker, housekeeping

MINUTE = timedelta(minutes=1)
DEAD_AFTER = timedelta(seconds=10)

# By worker: how many minutes ago it started, and how many minutes ago its last heartbeat was if it was lost.
History = dict[str, tuple[float, float | None]]


@pytest.mark.parametrize(
    ("history", "missed"),
    [
        ({"a": (50, None)}, set()),
        ({"a": (50, 9), "z": (50, None)}, {"a"}),
        ({"a": (50, 9), "b": (8, None)}, set()),
        ({"a": (50, 9), "b": (8, 7), "c": (6, None)}, set()),
        ({"a": (50, 9), "b": (8, 7), "c": (6, 5), "d": (4, None)}, set()),
        ({"a": (50, 9), "b": (8, 7), "c": (6, 5), "z": (50, None)}, {"c"}),
        ({"a": (50, 9), "b": (50, 8), "c": (6, None)}, {"b"}),
        ({"a": (50, 9), "b": (50, 8), "c": (6, None), "d": (5, None)}, set()),
        ({"a": (50, 9), "b": (10, None)}, {"a"}),
        ({"a": (9, 9), "z": (50, None)}, {"a"}),
        ({"a": (50, 9), "b": (8, 8), "c": (7, None)}, set()),
    ],
    ids=str,
)
def test_any_later_start_replaces_a_lost_worker(
    engine: Engine, settings: Settings, history: History, missed: set[str]
) -> None:
    for id, (started, lost) in history.items():
        silent = -60 * MINUTE if lost is None else lost * MINUTE
        a_worker(engine, id, silent=silent, runs=started * MINUTE)
    housekeeping(engine)
    with engine.connect() as connection:
        found = overview.workers(connection, dead_after=DEAD_AFTER)
        [doctor] = [one for one in database_findings(connection, settings) if one.check == "workers"]
    assert {one.id for one in found if one.is_missed} == missed
    assert doctor.verdict == ("advice" if missed else "right")
    assert all(f"{id} at " in doctor.says for id in missed), doctor.says


def test_a_worker_that_left_is_not_missed_and_its_start_replaced_another(engine: Engine) -> None:
    a_worker(engine, "a", silent=9 * MINUTE)
    a_worker(engine, "b", silent=7 * MINUTE, runs=8 * MINUTE)
    with engine.begin() as connection:
        left = text("UPDATE workers SET state = 'dead', stopped_at = heartbeat_at WHERE id = 'b'")
        connection.execute(left)
        assert [one.id for one in overview.workers(connection, dead_after=DEAD_AFTER) if one.is_missed] == []


def test_missed_workers_are_listed_before_replaced_ones(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MAX_WORKERS", 1)
    for number in range(4):
        a_worker(engine, f"a{number}", silent=(9 - 2 * number) * MINUTE, runs=(10 - 2 * number) * MINUTE)
    with engine.connect() as connection:
        found = overview.workers(connection, dead_after=DEAD_AFTER)
    assert [one.id for one in found] == ["a3", "a0"]
    assert [one.id for one in found if one.is_missed] == ["a3"]
