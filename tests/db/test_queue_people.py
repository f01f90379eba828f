"""What people do to the queue, each promise named after the failure it survives: their own rows only, a way back."""

from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.queue import events
from snoozer.queue.promise import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes.acts import Annotate
from tests import acting
from tests.db.operations import operate
from tests.db.transitions import claim
from tests.factories import HOUR, a_snooze, now, the_row, wait_until_a_session_waits


def test_options_are_kept_by_an_edit_without_options(engine: Engine) -> None:
    a_snooze(engine, message_id="<m@mail.example>", max_attempts=2, schema_version=3)
    urgent = EnqueueOptions(priority=7, serialization_key="mailbox-1")
    soon = ReminderTime(remind_at=now())
    with engine.begin() as connection:
        ids = [
            acting.snooze(connection, message_id="<m@mail.example>", reminder_time=soon, options=options)[0]
            for options in (DEFAULT_OPTIONS, urgent, DEFAULT_OPTIONS)
        ]
    row = the_row(engine, ids[0])
    assert len(set(ids)) == 1
    assert (row.priority, row.max_attempts, row.serialization_key, row.schema_version) == (7, 2, "mailbox-1", 3)


@pytest.mark.parametrize("act", ["cancel", "reschedule", "undo"])
def test_another_persons_snooze_cannot_be_changed(engine: Engine, act: str) -> None:
    id, eve = a_snooze(engine, remind_at=now() + HOUR), "eve@snoozer.example"
    with engine.begin() as connection:
        if act == "undo":
            assert acting.cancel(connection, id)
        before = connection.execute(text("SELECT * FROM email_snoozes")).all()
        other = [ReminderTime(remind_at=now() + 2 * HOUR)] if act == "reschedule" else []
        assert getattr(acting, act)(connection, id, *other, email=eve) is False
        assert connection.execute(text("SELECT * FROM email_snoozes")).all() == before


def test_undo_brings_back_a_paused_snooze_whose_message_had_a_live_one_before(engine: Engine) -> None:
    paused = a_snooze(engine, message_id="<m@mail.example>", inactive=True, remind_at=now() + HOUR)
    a_snooze(engine, message_id="<m@mail.example>", remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert acting.cancel(connection, paused)
    with engine.begin() as connection:
        assert acting.undo(connection, paused) is True
    assert (the_row(engine, paused).inactive, the_row(engine, paused).outcome) == (True, None)


def test_undo_is_no_way_round_an_operator_who_dismissed_it(engine: Engine) -> None:
    case = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert acting.done(connection, case, Annotate(note="Call"))
        retired = "UPDATE email_snoozes SET inactive = TRUE, outcome = 'retired', finished_at = now()"
        connection.execute(text(retired))
        operate(connection, "dismiss", [case])
        events.append(connection, snooze_id=case, kind="dismissed", actor="operator:1", route="admin")
        assert acting.undo(connection, case) is False
    assert the_row(engine, case).outcome == "cancelled"


def test_undo_beside_a_new_snooze_of_the_message_is_no_error(engine: Engine) -> None:
    id = a_snooze(engine, message_id="<m@mail.example>", remind_at=now() + HOUR)
    with engine.begin() as connection:
        acting.cancel(connection, id)
    undone: list[bool] = []

    def undo() -> None:
        with engine.begin() as connection:
            undone.append(acting.undo(connection, id))

    other = Thread(target=undo)
    with engine.begin() as connection:
        acting.snooze(connection, message_id="<m@mail.example>", reminder_time=ReminderTime(remind_at=now()))
        other.start()
        wait_until_a_session_waits(engine)
    other.join()
    assert undone == [False]
    assert the_row(engine, id).outcome == "cancelled"


def test_an_operator_can_only_reactivate_cases(engine: Engine) -> None:
    """Seed 000: setting attempts to zero on a sent row sends it again."""
    over = {"inactive": True, "finished_at": now()}
    case = a_snooze(engine, outcome="retired", attempts=5, **over)
    sent = a_snooze(engine, outcome="sent", **over)
    cancelled = a_snooze(engine, outcome="cancelled", **over)
    paused = a_snooze(engine, inactive=True)
    living = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert operate(connection, "reactivate", [case, sent, cancelled, paused, living]) == [case]
        assert operate(connection, "dismiss", [case, sent, cancelled, paused, living]) == []
    assert [held.id for held in claim(engine)] == [case]


def test_a_reactivated_case_starts_afresh_and_is_due_now(engine: Engine) -> None:
    over = {"inactive": True, "finished_at": now(), "outcome": "retired"}
    case = a_snooze(engine, attempts=5, crash_count=5, remind_at=now() - 100 * HOUR, **over)
    with engine.begin() as connection:
        operate(connection, "reactivate", [case])
    row = the_row(engine, case)
    assert (row.attempts, row.crash_count, row.finished_at) == (0, 0, None)
    assert row.remind_at > now() - HOUR


def test_two_cases_of_one_message_come_back_as_one(engine: Engine) -> None:
    over = {"inactive": True, "finished_at": now(), "outcome": "retired", "message_id": "<m@mail.example>"}
    first, second = a_snooze(engine, **over), a_snooze(engine, **over)
    with engine.begin() as connection:
        assert operate(connection, "reactivate", [first, second]) == [second]


@pytest.mark.parametrize("priority", [-1001, 1001])
def test_a_priority_beyond_the_limits_is_refused_before_the_database(priority: int) -> None:
    with pytest.raises(ValueError, match="between -1000 and 1000"):
        EnqueueOptions(priority=priority)
