"""Nothing comes within a rest of its person, by whichever way a row came; all of it comes at the end; the promise and
the attempts stay as they are."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import health_checks, mailbox_store, support
from snoozer.db.models import SavedDayShape
from snoozer.db.queries import snoozes
from snoozer.db.queries.returned import last_returns
from snoozer.delivery.chores import chores
from snoozer.delivery.chores.returns import return_due, side_work
from snoozer.delivery.settling import Ending, finish, settle
from snoozer.queue import queue
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import Deferral, DeliveryOutcome
from snoozer.snoozes import chosen_shape, day_shapes
from snoozer.timephrase.day_shape import DayShape
from tests.acting import reschedule
from tests.db.days import CONFIG, MINUTE, choose, pass_rest, quiet, resting, take, turn
from tests.db.invariants import look
from tests.db.links import DAILY
from tests.db.transitions import a_fact, authorise, release
from tests.factories import ANN, HOUR, a_kept_message, a_snooze, now, the_events, the_row, the_send

MESSAGE = "<kept@mail.example>"
BOB = "bob@snoozer.example"


def sent(engine: Engine) -> list[int]:
    """The snoozes that a worker sends now."""
    deliveries = turn(engine)
    with engine.begin() as connection:
        for one in deliveries:
            assert one.send is not None
        outcomes = [
            Ending(claim=one.claim, outcome=DeliveryOutcome.SENT, fact=a_fact(one.send))
            for one in deliveries
            if one.send is not None and authorise(engine, one.send)
        ]
        settle(connection, outcomes, config=CONFIG)
    return [one.claim.id for one in deliveries]


def change(engine: Engine, act: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(act), values)


def test_what_is_due_in_quiet_hours_comes_at_their_end(engine: Engine) -> None:
    end = resting(engine)
    id = a_snooze(engine, remind_at=now() - MINUTE)
    promise = the_row(engine, id).remind_at
    assert sent(engine) == []
    row = the_row(engine, id)
    assert (row.remind_at, row.deferred_until, row.deferred_by) == (end, end, "quiet")
    assert (row.scheduled_for, row.attempts, row.claimed_at, row.last_error) == (promise, 0, None, None)
    assert the_send(engine, id) is None
    assert the_events(engine, id) == ["deferred"]
    assert sent(engine) == []
    pass_rest(engine)
    assert sent(engine) == [id]
    assert the_send(engine, id).scheduled_for == promise
    assert the_send(engine, id).delayed_by == "queue"
    assert look(engine) == {}


def test_a_reminder_is_late_from_the_end_of_the_rest_on_and_so_all_say(engine: Engine) -> None:
    resting(engine)
    promise = now() - 3 * HOUR
    id = a_snooze(engine, remind_at=promise)
    assert sent(engine) == []
    pass_rest(engine)
    end = the_row(engine, id).deferred_until
    [delivery] = turn(engine)
    assert delivery.claim.late_from == end
    assert delivery.send is not None
    assert authorise(engine, delivery.send)
    with engine.begin() as connection:
        fact = a_fact(delivery.send)
        settle(connection, [Ending(claim=delivery.claim, outcome=DeliveryOutcome.SENT, fact=fact)], config=CONFIG)
    send = the_send(engine, id)
    assert (send.scheduled_for, send.late_from) == (promise, end)
    # As if it had been sent two minutes ago, so that its minute is over.
    change(
        engine,
        "UPDATE reminder_sends "
        "SET sent_at = sent_at - INTERVAL '2 minutes', late_from = late_from - INTERVAL '2 minutes'",
    )
    late = (send.sent_at - end).total_seconds()
    assert late < 2 * HOUR.total_seconds() < (send.sent_at - promise).total_seconds()
    chores.record_minutes(engine)
    with engine.connect() as connection:
        [minute] = connection.execute(text("SELECT p50, p99 FROM queue_minutes WHERE sent > 0"))
        [waited, _] = support.read(connection, "wait")
    assert (minute.p50, minute.p99) == (waited.p50, waited.p99) == pytest.approx((late, late))


def test_a_row_of_any_producer_waits_too(engine: Engine) -> None:
    end = resting(engine)
    change(
        engine,
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES ('Ann@Snoozer.example', '<1@x>', now())",
    )
    assert sent(engine) == []
    assert the_row(engine, 1).deferred_until == end


def test_others_are_not_held_up(engine: Engine) -> None:
    resting(engine)
    a_snooze(engine)
    id = a_snooze(engine, user_email=BOB)
    assert sent(engine) == [id]


def test_a_snooze_at_any_hour_comes_when_it_was_promised(engine: Engine) -> None:
    resting(engine)
    id = a_snooze(engine, at_any_hour=True)
    assert sent(engine) == [id]


def test_a_retry_waits_too_and_is_the_same_send(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() - 3 * HOUR)
    [delivery] = turn(engine)
    assert release(engine, delivery.claim, delay=timedelta(0)) == "released"
    end = resting(engine)
    assert sent(engine) == []
    assert (the_row(engine, id).attempts, the_row(engine, id).remind_at) == (1, end)
    pass_rest(engine)
    assert sent(engine) == [id]
    assert delivery.send is not None
    assert the_send(engine, id).reminder_message_id == delivery.send.reminder_message_id


def test_a_resend_of_an_uncertain_reminder_waits_too(engine: Engine) -> None:
    id = a_snooze(engine)
    [delivery] = turn(engine)
    assert delivery.send is not None
    authorise(engine, delivery.send)
    change(engine, "UPDATE reminder_sends SET state = 'uncertain', uncertain_at = now() - INTERVAL '3 hours'")
    release(engine, delivery.claim, delay=timedelta(0))
    resting(engine)
    assert sent(engine) == []
    assert the_send(engine, id).state == "uncertain"


def test_what_was_promised_before_a_rest_and_is_moments_late_is_not_deferred(engine: Engine) -> None:
    choose(engine, quiet(since=MINUTE))
    change(engine, "UPDATE day_shapes SET rest_from = now() - INTERVAL '30 seconds'")
    id = a_snooze(engine, remind_at=now() - MINUTE)
    assert sent(engine) == [id]


def test_what_is_late_by_more_than_moments_waits_for_the_end(engine: Engine) -> None:
    resting(engine)
    a_snooze(engine, remind_at=now() - 5 * HOUR)
    assert sent(engine) == []


def test_the_message_returns_at_the_end_too_and_once(engine: Engine) -> None:
    resting(engine)
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE)
    promise = the_row(engine, id).remind_at
    assert return_due(engine) == []
    with engine.connect() as connection:
        assert 3500 < side_work(connection).returns_in <= 3600
    assert sent(engine) == []
    pass_rest(engine)
    assert return_due(engine) == [id]
    assert sent(engine) == [id]
    assert return_due(engine) == []
    with engine.connect() as connection:
        entry = connection.execute(text("SELECT scheduled_for FROM reminder_sends WHERE channel = 'mailbox'"))
        assert list(entry.scalars()) == [promise]
    assert look(engine) == {}


def test_a_new_time_for_a_message_that_was_deferred_is_its_time(engine: Engine) -> None:
    resting(engine)
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE)
    return_due(engine)
    turn(engine)
    at_once = ReminderTime(remind_at=now() - timedelta(seconds=1), at_any_hour=True)
    with engine.begin() as connection:
        assert reschedule(connection, id, at_once)
    assert return_due(engine) == [id]
    assert sent(engine) == [id]
    assert the_row(engine, id).deferred_until is None


def test_a_recurring_snooze_whose_reminder_was_quicker_than_the_rest_goes_on(engine: Engine) -> None:
    """Its message was deferred, its reminder was sent: without its return, the next time would never be promised."""
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE, recurrence=DAILY, remind_at=now() - 3 * HOUR)
    [delivery] = turn(engine)
    resting(engine)
    assert return_due(engine) == []
    with engine.begin() as connection:
        assert finish(connection, [delivery.claim]) == {id}
    row = the_row(engine, id)
    assert row.remind_at > now()
    with engine.connect() as connection:
        kept = connection.execute(text("SELECT folder, returns_at, deferred_until FROM messages")).one()
    assert kept == ("inbox", row.remind_at, None)


def test_the_next_occurrence_is_not_deferred_by_the_last_one(engine: Engine) -> None:
    resting(engine)
    id = a_snooze(engine, recurrence=DAILY)
    sent(engine)
    pass_rest(engine)
    assert sent(engine) == [id]
    row = the_row(engine, id)
    assert (row.outcome, row.deferred_until, row.deferred_by) == (None, None, None)


def test_turning_it_off_brings_everything_back_to_its_promise(engine: Engine) -> None:
    resting(engine)
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE)
    promise = the_row(engine, id).remind_at
    assert (sent(engine), return_due(engine)) == ([], [])
    choose(engine, DayShape())
    row = the_row(engine, id)
    assert (row.remind_at, row.deferred_until, row.deferred_by) == (promise, None, None)
    assert return_due(engine) == [id]
    assert sent(engine) == [id]


def test_more_than_a_batch_comes_back_in_several(engine: Engine) -> None:
    resting(engine)
    change(
        engine,
        "INSERT INTO email_snoozes (user_email, message_id, remind_at, scheduled_for, deferred_until, deferred_by) "
        "SELECT :e, n || '@x', now() + INTERVAL '1 day', now(), now() + INTERVAL '1 day', 'vacation' "
        "FROM generate_series(1, :n) AS n",
        e=ANN,
        n=day_shapes.BATCH_SIZE + 1,
    )
    choose(engine, DayShape())
    count = text("SELECT count(*) FROM email_snoozes WHERE deferred_until IS NOT NULL")
    with engine.begin() as connection:
        assert connection.execute(count).scalar_one() == 1
        assert day_shapes.refresh(connection) == 1
        assert connection.execute(count).scalar_one() == 0
        assert day_shapes.refresh(connection) == 0


def test_a_retry_that_waits_for_its_backoff_keeps_it_when_the_day_changes(engine: Engine) -> None:
    id = a_snooze(engine)
    resting(engine)
    assert turn(engine) == []
    pass_rest(engine)
    [delivery] = turn(engine)
    release(engine, delivery.claim, delay=HOUR)
    before = the_row(engine, id).remind_at
    choose(engine, DayShape())
    assert the_row(engine, id).remind_at == before


def test_a_rest_that_ends_earlier_lets_through_what_waited_for_its_end(engine: Engine) -> None:
    id = a_snooze(engine)
    resting(engine)
    sent(engine)
    choose(engine, quiet(for_=HOUR + 20 * MINUTE))
    assert sent(engine) == []
    assert the_row(engine, id).remind_at < now() + 21 * MINUTE


def test_another_zone_is_another_night(engine: Engine) -> None:
    """By whichever way the account's zone changed."""
    id = a_snooze(engine)
    resting(engine)
    sent(engine)
    change(engine, "UPDATE accounts SET zone = 'Asia/Kathmandu'")
    with engine.begin() as connection:
        assert day_shapes.refresh(connection) == 1
    assert sent(engine) == [id]


@pytest.mark.parametrize("owner", [ANN, ANN.upper()])
def test_while_the_rests_are_not_known_nothing_is_sent_and_then_all(engine: Engine, owner: str) -> None:
    """A worker that finds them stale computes them, and claims again."""
    choose(engine, quiet(since=-5 * HOUR))
    change(engine, "UPDATE day_shapes SET known_until = now() - INTERVAL '1 second', refresh_at = now()")
    id = a_snooze(engine, user_email=owner)
    assert turn(engine) == []
    row = the_row(engine, id)
    assert (row.deferred_until, row.attempts, row.last_error, the_events(engine, id)) == (None, 0, None, [])
    assert row.remind_at < now() + timedelta(seconds=1)
    change(engine, "UPDATE email_snoozes SET remind_at = now()")
    assert sent(engine) == [id]


def test_a_day_that_another_transaction_computes_holds_nothing_up(engine: Engine) -> None:
    choose(engine, quiet(since=-5 * HOUR))
    change(engine, "UPDATE day_shapes SET known_until = now() - INTERVAL '1 second', refresh_at = now()")
    id = a_snooze(engine)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM day_shapes FOR UPDATE"))
        assert turn(engine) == []
    assert the_row(engine, id).attempts == 0


def test_a_claim_that_was_lost_is_not_given_back(engine: Engine) -> None:
    resting(engine)
    id = a_snooze(engine)
    [delivery] = take(engine)
    change(engine, "UPDATE email_snoozes SET claim_token = gen_random_uuid()")
    with engine.begin() as connection:
        [outcome] = settle(connection, [Ending(claim=delivery.claim, outcome=None)], config=CONFIG)
    assert outcome is DeliveryOutcome.LOST
    assert (the_row(engine, id).deferred_until, the_events(engine, id)) == (None, [])


def test_a_late_worker_defers_nothing(engine: Engine) -> None:
    resting(engine)
    id = a_snooze(engine)
    [delivery] = take(engine)
    change(engine, "UPDATE email_snoozes SET claim_token = gen_random_uuid()")
    before = the_row(engine, id)
    deferral = Deferral(id=id, until=now() + HOUR, reason="quiet")
    with engine.begin() as connection:
        held = [(id, delivery.claim.claim_token)]
        assert queue.rest(connection, held=held, deferrals=[deferral]) == set()
    assert the_row(engine, id) == before


def test_a_message_that_is_due_as_a_rest_begins_does_not_return(engine: Engine) -> None:
    """Before the loop has entered the end of the rest beside it."""
    resting(engine)
    a_kept_message(engine, message_id=MESSAGE)
    a_snooze(engine, message_id=MESSAGE)
    with engine.begin() as connection:
        assert mailbox_store.return_due(connection, batch_size=9) == []


def test_what_a_rest_deferred_is_not_called_late(engine: Engine) -> None:
    resting(engine)
    id = a_snooze(engine, remind_at=now() - 30 * MINUTE, created_at=now() - HOUR)
    sent(engine)
    with engine.connect() as connection:
        late = health_checks.late(connection)
        trouble = snoozes.trouble(
            connection, user_email=ANN, now=now(), tolerance=MINUTE, max_backoff=timedelta(days=1)
        )
    assert (late.late, trouble) == (0, None)
    assert the_row(engine, id).deferred_until is not None


def test_a_shape_goes_with_its_account(engine: Engine) -> None:
    resting(engine)
    change(engine, "DELETE FROM accounts")
    with engine.connect() as connection:
        assert connection.execute(SavedDayShape.__table__.select()).all() == []


def test_the_preview_tells_what_moves_and_changes_nothing(engine: Engine) -> None:
    tonight = quiet(since=-2 * HOUR, for_=8 * HOUR)
    id = a_snooze(engine, remind_at=now() + 3 * HOUR)
    a_snooze(engine, remind_at=now() + 30 * MINUTE)
    a_snooze(engine, remind_at=now() + 3 * HOUR, at_any_hour=True)
    before = the_row(engine, id)
    with engine.connect() as connection:
        preview = chosen_shape.preview(
            connection, user_email=ANN, zone="UTC", old=day_shapes.NO_SHAPE, new=tonight, now=now()
        )
    [move] = preview.first
    assert preview.count == 1
    assert (move.id, move.before.at, move.after.reason) == (id, before.remind_at, "quiet")
    assert the_row(engine, id) == before


def test_a_series_that_a_rest_deferred_is_not_called_late_when_it_is_back(engine: Engine) -> None:
    """Its snooze promises the next occurrence by then, and nothing defers that."""
    resting(engine)
    a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE, remind_at=now() - MINUTE, recurrence=DAILY, zone="UTC")
    with engine.begin() as connection:
        mailbox_store.move(connection, user_email=ANN, message_id=MESSAGE, folder="snoozed")
    assert return_due(engine) == []
    assert turn(engine) == []
    change(engine, "UPDATE snooze_events SET detail = jsonb_set(detail, '{until}', to_jsonb(now()))")
    pass_rest(engine)
    assert return_due(engine) == [id]
    assert sent(engine) == [id]
    with engine.connect() as connection:
        [back] = last_returns(connection, user_email=ANN, message_ids=[MESSAGE]).values()
    assert the_row(engine, id).deferred_until is None
    assert back.late < MINUTE
