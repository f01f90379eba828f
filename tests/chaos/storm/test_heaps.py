"""Very many rows are due at once, of one key, one person or all priorities: ordinary ones are not late for it."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.fleet import until
from tests.chaos.storm.load import HIGHEST, LOWEST, Load, Row
from tests.chaos.storm.stage import Act, Stage
from tests.chaos.storm.timing import Bounds, Figures, figures

KEYED, OF_ONE_PERSON, OF_EACH_PRIORITY = (500_000, 100_000, 20) if FULL else (3_000, 3_000, 1)
ORDINARY, SECONDS = 300, 3.0
AT_ONCE = 10_000
OVERDUE = 60.0
P99 = 2.0 if FULL else 30.0
LEAST_RATE = 20.0  # a second, of the heap beside the ordinary ones
KILLS = 5 if FULL else 2
BOUNDS = Bounds(silence=5.0 if FULL else 30.0)


def one_key(load: Load) -> Iterator[Row]:
    return (replace(row, key="heap", due=row.due - OVERDUE) for row in load.rows(KEYED))


def one_person(load: Load) -> Iterator[Row]:
    return (replace(row, user_email="heap@snoozer.example", due=row.due - OVERDUE) for row in load.rows(OF_ONE_PERSON))


def all_priorities(load: Load) -> Iterator[Row]:
    levels = range(LOWEST, HIGHEST + 1)
    rows = load.rows(len(levels) * OF_EACH_PRIORITY)
    return (
        replace(row, priority=levels[number % len(levels)], due=row.due - OVERDUE) for number, row in enumerate(rows)
    )


@pytest.mark.parametrize("make", [one_key, one_person, all_priorities])
def test_ordinary_reminders_beside_a_heap(stage: Stage, make: Callable[[Load], Iterator[Row]]) -> None:
    """Then workers are killed, and the rest of the heap is cancelled.

    The mail server thinks about none: a row of a key waits for the reply to the one before.
    """
    with stage.act(workers=2, arguments=(), rate=0, think=0.0, bounds=BOUNDS) as act:
        heap = _pour(act, make(act.scene.load))
        began = time.time()
        waits = _ordinary_waits(act, seconds=stage.timeout)
        rate = _rate(act, heap, since=began)
        stage.report.note(stage.name, heap=len(heap), ordinary=waits, heaps_own_rate=rate)
        print(stage.name, waits, rate)
        killer = nemeses.killer(act.scene, act.fleet, rng=act.rng)
        act.storm.let_loose("kill -9", killer, times=KILLS, pace=(1.0, 4.0))
        act.storm.blow_over(seconds=stage.timeout)
        for first in reversed(range(0, len(heap), AT_ONCE)):
            act.scene.load.cancel(heap[first : first + AT_ONCE])
    assert waits["p99"] <= P99
    assert rate >= (LEAST_RATE if FULL else 0.0)


def _pour(act: Act, rows: Iterator[Row]) -> list[Row]:
    heap: list[Row] = []
    while some := list(islice(rows, AT_ONCE)):
        act.scene.load.put(some)
        heap += some
    return heap


def _ordinary_waits(act: Act, *, seconds: float) -> Figures:
    """Put ordinary rows in, some at a time; returns how late their mails were, once all have come."""
    ordinary: dict[str, float] = {}
    for _ in range(10):
        rows = act.scene.load.rows(ORDINARY // 10, spread=SECONDS / 10)
        act.scene.load.put(rows)
        ordinary |= {row.message_id: max(row.due, time.time()) for row in rows}
        act.storm.stop.wait(SECONDS / 10)
    assert until(lambda: len(act.scene.mailed(ordinary)) == ORDINARY, seconds=seconds, look=0.5)
    return figures(at - ordinary[message_id] for message_id, at in act.scene.mailed(ordinary).items())


def _rate(act: Act, heap: Sequence[Row], *, since: float) -> float:
    sent = act.scene.mailed([row.message_id for row in heap]).values()
    return round(sum(at >= since for at in sent) / (time.time() - since), 1)
