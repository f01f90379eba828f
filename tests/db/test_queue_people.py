"""What people do to the queue, each promise named after the failure it survives: their own rows only, a way back."""

from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.db import events
from snoozer.db.queue import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes.acts import Annotate, Skip
from tests import acting
from tests.db.links import DAILY
from tests.db.operations import operate
from tests.db.transitions import claim, finalize
from tests.factories import ANN, HOUR, a_snooze, now, the_row, the_send, wait_until_a_session_waits


def test_snoozing_a_snoozed_message_is_an_edit_that_the_worker_notices(engine: Engine) -> None:
    id = a_snooze(engine, message_id="<m@mail.example>", attempts=3, last_error="451")
    [held] = claim(engine)
    later = now() + 5 * HOUR
    with engine.begin() as connection:
        found, created = acting.snooze(
            connection, message_id="<m@mail.example>", reminder_time=ReminderTime(remind_at=later)
        )
    assert (found, created) == (id, False)
    row = the_row(engine, id)
    assert (row.remind_at, row.scheduled_for, row.attempts, row.claimed_at) == (later, None, 0, None)
    assert finalize(engine, held) is False


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


def test_cancelling_beats_a_worker_that_holds_the_row(engine: Engine) -> None:
    a_snooze(engine)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert acting.cancel(connection, held.id) is True
        assert acting.cancel(connection, held.id) is False
    assert finalize(engine, held) is False
    assert the_row(engine, held.id).outcome == "cancelled"


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


def test_undo_brings_a_cancelled_snooze_back_unless_it_was_put_away_anew(engine: Engine) -> None:
    id = a_snooze(engine, message_id="<m@mail.example>", remind_at=now() + HOUR)
    with engine.begin() as connection:
        acting.cancel(connection, id)
        assert acting.undo(connection, id) is True
        acting.cancel(connection, id)
    a_snooze(engine, message_id="<m@mail.example>")
    with engine.begin() as connection:
        assert acting.undo(connection, id) is False


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


def test_a_dismissed_case_is_never_claimed(engine: Engine) -> None:
    case = a_snooze(engine, outcome="retired", inactive=True, finished_at=now())
    with engine.begin() as connection:
        assert operate(connection, "dismiss", [case]) == [case]
    assert claim(engine) == []
    assert the_send(engine, case) is None


def test_what_repeats_goes_on_once_from_each_promise(engine: Engine) -> None:
    id = a_snooze(engine, recurrence=DAILY, attempts=2)
    [held] = claim(engine)
    skip = Skip(promise=held.scheduled_for)
    with engine.begin() as connection:
        for owner, expected in (("bob@x", False), (ANN, True), (ANN, False)):
            assert acting.done(connection, id, skip, email=owner) is expected
    row = the_row(engine, id)
    assert (row.claim_token, row.scheduled_for, f"{row.remind_at:%H:%M:%S}") == (None, None, DAILY["at"])
    assert now() < row.remind_at <= now() + 24 * HOUR
    assert (row.attempts, row.recurrence) == (0, DAILY)
    assert finalize(engine, held) is False


@pytest.mark.parametrize("priority", [-1001, 1001])
def test_a_priority_beyond_the_limits_is_refused_before_the_database(priority: int) -> None:
    with pytest.raises(ValueError, match="between -1000 and 1000"):
        EnqueueOptions(priority=priority)
