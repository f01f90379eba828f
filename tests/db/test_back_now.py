"""Back now acts now, also within a rest, for one occurrence; the undo of a cancellation does not undo it."""

from sqlalchemy import Engine, text

from snoozer import occurrences, snoozing
from snoozer.delivery.settling import finish
from tests.db.days import deferral, resting
from tests.db.series import (
    MESSAGE,
    a_daily,
    a_kept_snooze,
    assert_sound,
    daily,
    do,
    in_a_mailbox,
    kept,
    there,
    undo,
)
from tests.db.transitions import claim, reserve
from tests.factories import ANN, People, now, the_row


def test_a_series_that_is_brought_back_within_a_rest_comes_now_and_its_next_time_after_one(
    engine: Engine,
) -> None:
    resting(engine)
    id = a_daily(engine)
    back = do(engine, occurrences.bring_back, id)
    assert back.by_mail
    [held] = claim(engine)
    [entry] = reserve(engine, held)
    send = entry.send
    assert (held.id, send.scheduled_for) == (id, back.promise)
    assert not the_row(engine, id).at_any_hour
    with engine.begin() as connection:
        assert finish(connection, [held])
    assert deferral(engine, id, back.promise) is None
    assert deferral(engine, id, now()) == "quiet"


def test_a_series_of_a_connected_mailbox_returns_now_also_within_a_rest(engine: Engine, people: People) -> None:
    id = in_a_mailbox(engine, people, recurrence=daily(), time_kind="wall")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET zone = 'UTC'"))
    resting(engine)
    do(engine, occurrences.bring_back, id)
    assert deferral(engine, id, there(engine).returns_at) is None
    assert deferral(engine, id, now()) == "quiet"


def test_what_is_back_is_not_made_due_by_the_undo_of_a_cancellation(engine: Engine) -> None:
    id = a_kept_snooze(engine)
    back = do(engine, occurrences.bring_back, id)
    with engine.begin() as connection:
        assert not snoozing.undo(connection, id=id, user_email=ANN, message_id=MESSAGE, route="web")
    assert kept(engine).folder == "inbox"
    undo(engine, id, back)
    with engine.begin() as connection:
        assert snoozing.cancel(connection, id=id, user_email=ANN, message_id=MESSAGE, route="web")
        assert snoozing.undo(connection, id=id, user_email=ANN, message_id=MESSAGE, route="web")
    assert_sound(engine)
