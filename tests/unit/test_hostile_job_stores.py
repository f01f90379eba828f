"""A job store of APScheduler whose states are hostile: each is refused within limits, leaves nothing behind, and the
jobs after it are read."""

import pickle
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger

from snoozer.operators.cutover import apscheduler_store, restricted_pickle
from snoozer.operators.cutover.record import Record
from snoozer.operators.cutover.restricted_pickle import UnsafePickle
from snoozer.operators.cutover.schedules import NotARepetition, of_trigger

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
GOOD = pickle.dumps({"trigger": DateTrigger(NOW), "name": "remind", "args": ("ann@example.org",), "kwargs": {"n": 7}})
# Each tuple holds the one before twice, so that the hash of the last one takes 2 ** 60 steps.
SHARED_BY_DUP = b"\x80\x04})" + b"2\x86" * 60 + b"Ns."
SHARED_BY_MEMO = b"\x80\x04})" + b"".join(b"q%ch%c\x86" % (n, n) for n in range(60)) + b"Ns."
SHARED_IN_A_SET = b"\x80\x04\x8f()" + b"2\x86" * 60 + b"\x90."


def a_trigger(field: str, **changed: Any) -> CronTrigger:
    """09:00 each day, but for the expression of one field."""
    trigger = CronTrigger(
        **{
            "hour": "9",
            "minute": "0",
            "second": "0",
            "day_of_week": "mon-fri",
            field: "2026-2027" if field == "year" else "1-2",
        }
    )
    [expression] = next(each for each in trigger.fields if each.name == field).expressions
    vars(expression).update(changed)
    return trigger


def records(path: Path, *states: bytes) -> list[Record]:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE apscheduler_jobs (id TEXT, next_run_time FLOAT, job_state BLOB)")
        rows = [(str(number), NOW.timestamp(), state) for number, state in enumerate(states)]
        database.executemany("INSERT INTO apscheduler_jobs VALUES (?, ?, ?)", rows)
    return list(apscheduler_store.job_store(f"sqlite:///{path}")())


def test_a_state_that_asks_for_endless_work_is_refused_and_the_next_job_is_read(tmp_path: Path) -> None:
    states = (SHARED_BY_DUP, GOOD, SHARED_BY_MEMO, SHARED_IN_A_SET, GOOD)
    found = records(tmp_path / "jobs.sqlite", *states)
    assert [record.reason is None for record in found] == [False, True, False, False, True]
    for record in (found[1], found[4]):
        assert record.values is not None
        assert (record.values["args.0"], record.values["kwargs.n"]) == ("ann@example.org", 7)


@pytest.mark.parametrize(
    "odd",
    [
        {"args": (10**5000,)},
        {"kwargs": {10**5000: 1}},
        {"args": ({"a": {"b": {"c": {"d": {1}}}}}, CronTrigger(hour=9))},
    ],
)
def test_values_that_no_snooze_is_made_of_are_left_out_or_refused(odd: dict[str, Any], tmp_path: Path) -> None:
    state = pickle.dumps({"trigger": DateTrigger(NOW), "name": "remind"} | odd)
    odd_one, good = records(tmp_path / "jobs.sqlite", state, GOOD)
    assert odd_one.values is None or set(odd_one.values) <= {
        "name",
        "func",
        "args",
        "kwargs",
        "id",
        "next_run_time",
        "recurrence",
        "zone",
    }
    assert good.values is not None


@pytest.mark.parametrize("ends", [(-(2**31), 2), (1, 2**31), (-(2**31), 2**31), (2**40, 2**41), (2, 1), (-1, 2)])
@pytest.mark.parametrize("field", ["hour", "minute", "second", "day", "month", "week", "year", "day_of_week"])
def test_both_ends_of_each_range_of_a_trigger_are_bounded(field: str, ends: tuple[int, int]) -> None:
    state = pickle.dumps(a_trigger(field, first=ends[0], last=ends[1]))
    with pytest.raises(NotARepetition):
        of_trigger(restricted_pickle.load(state), due=NOW, zone="UTC")


def test_a_trigger_of_one_year_does_not_come_every_year() -> None:
    trigger = CronTrigger(year=2026, month=3, day=2, hour=9, minute=0)
    with pytest.raises(NotARepetition, match="some years"):
        of_trigger(restricted_pickle.load(pickle.dumps(trigger)), due=NOW, zone="UTC")


def _of_dict(state: bytes) -> bytes:
    return state


def _of_slots(state: bytes) -> bytes:
    return b"N" + state + b"\x86"


@pytest.mark.parametrize("form", [_of_dict, _of_slots])
@pytest.mark.parametrize("attribute", [b"__defaults__", b"__doc__", b"mark"])
@pytest.mark.parametrize("named", list(restricted_pickle.ALLOWED))
def test_nothing_that_a_state_may_name_takes_an_attribute(
    named: tuple[str, str], attribute: bytes, form: Callable[[bytes], bytes]
) -> None:
    """It would stay for the jobs after it."""
    state = form(b"}X" + len(attribute).to_bytes(4, "little") + attribute + b"(Nts")
    with pytest.raises(UnsafePickle):
        restricted_pickle.load(b"\x80\x02c%s\n%s\n%sb." % (named[0].encode(), named[1].encode(), state))
    # Nor may it set an attribute of a returned value.
    with pytest.raises(UnsafePickle):
        restricted_pickle.load(b"\x80\x02czoneinfo\nZoneInfo._unpickle\n(X\x03\x00\x00\x00UTCtR" + state + b"b.")
