"""Every column that people choose is written, kept by every act and by every occurrence, and put back by an Undo."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from snoozer.queue import queue
from snoozer.queue.promise import CONDITIONS, OPTIONS, EnqueueOptions, ReminderTime
from snoozer.queue.queue import Lane
from snoozer.snoozes.acts import Act, Annotate, End, Move, Pause, SetOptions, Skip, Snooze, Wake
from tests import acting
from tests.choices import VALUES
from tests.db.series import a_daily, do, soon, undo
from tests.db.transitions import schedule_next_one
from tests.factories import HOUR, a_snooze, now, the_row

ACTS: list[Callable[[], Act]] = [
    lambda: Snooze(time=ReminderTime(remind_at=soon(3), at_any_hour=True)),
    lambda: Move(time=ReminderTime(remind_at=soon(3), at_any_hour=True)),
    *(Skip, lambda: End(times=2), Pause, Wake, lambda: Annotate(note="Call")),
    lambda: SetOptions(options=EnqueueOptions()),
]


def chosen(engine: Engine, id: int) -> dict[str, object]:
    row = the_row(engine, id)
    return {name: getattr(row, name) for name in VALUES}


@pytest.mark.parametrize("what", ACTS, ids=lambda what: type(what()).__name__)
def test_an_act_keeps_what_was_chosen_and_so_does_its_undo(engine: Engine, what: Callable[[], Act]) -> None:
    id = a_daily(engine, **VALUES)
    done = do(engine, what(), id)
    assert chosen(engine, id) == VALUES
    undo(engine, id, done)
    assert chosen(engine, id) == VALUES


def test_the_next_occurrence_keeps_what_was_chosen(engine: Engine) -> None:
    id = a_daily(engine, promise=now() - HOUR, **VALUES)
    lane = Lane(priority=VALUES["priority"], keyed=True)
    with engine.begin() as connection:
        [held] = queue.claim(connection, worker="w", batch_size=1, lease=HOUR, lane=lane)
        assert schedule_next_one(connection, held, soon())
    assert chosen(engine, id) == VALUES


def test_a_new_snooze_has_what_was_chosen(engine: Engine) -> None:
    time = ReminderTime(remind_at=soon(), **{name: VALUES[name] for name in CONDITIONS})
    options = EnqueueOptions(**{name: VALUES[name] for name in OPTIONS})
    with engine.begin() as connection:
        id, _is_new = acting.snooze(connection, message_id="<m@mail.example>", reminder_time=time, options=options)
    assert chosen(engine, id) == VALUES


@pytest.mark.parametrize("name", VALUES)
def test_another_choice_changes_no_other_and_is_undone(engine: Engine, name: str) -> None:
    id = a_snooze(engine, remind_at=soon(), zone=None)
    before = chosen(engine, id)
    if name in OPTIONS:
        done = do(engine, SetOptions(options=EnqueueOptions(**{name: VALUES[name]}), keeps_key=False), id)
    else:
        done = do(engine, Snooze(time=ReminderTime(remind_at=soon(), **{name: VALUES[name]})), id)
    assert chosen(engine, id) == before | {name: VALUES[name]}
    undo(engine, id, done)
    assert chosen(engine, id) == before
