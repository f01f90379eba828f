"""Back now acts now, also within a rest, for one occurrence; the undo of a cancellation does not undo it."""

from sqlalchemy import Engine, text

from snoozer.delivery.settling import finish
from snoozer.snoozes.acts import Cancel, Wake
from tests import acting
from tests.db.days import deferral, resting
from tests.db.series import (
    a_daily,
    a_kept_snooze,
    assert_sound,
    daily,
    do,
    in_a_mailbox,
    kept,
    not_undone,
    promise,
    there,
    undo,
)
from tests.db.transitions import claim, sendable
from tests.factories import People, now, the_row


def test_a_series_that_is_brought_back_within_a_rest_comes_now_and_its_next_time_after_one(
    engine: Engine,
) -> None:
    resting(engine)
    id = a_daily(engine)
    back = do(engine, Wake(), id)
    assert back.by_mail
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    send = entry
    assert (held.id, send.scheduled_for) == (id, promise(back))
    assert not the_row(engine, id).at_any_hour
    with engine.begin() as connection:
        assert finish(connection, [held])
    assert deferral(engine, id, promise(back)) is None
    assert deferral(engine, id, now()) == "quiet"


def test_a_series_of_a_connected_mailbox_returns_now_also_within_a_rest(engine: Engine, people: People) -> None:
    id = in_a_mailbox(engine, people, recurrence=daily(), time_kind="wall")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET zone = 'UTC'"))
    resting(engine)
    do(engine, Wake(), id)
    assert deferral(engine, id, there(engine).returns_at) is None
    assert deferral(engine, id, now()) == "quiet"


def test_what_is_back_is_not_put_back_by_an_undo_of_another_act(engine: Engine) -> None:
    id = a_kept_snooze(engine)
    with engine.begin() as connection:
        cancelled = acting.act(connection, id, Cancel())
        assert acting.undo(connection, id, cancelled.event)
    back = do(engine, Wake(), id)
    assert not_undone(engine, id, cancelled.event) == "nothing_to_undo"
    assert kept(engine).folder == "inbox"
    undo(engine, id, back)
    with engine.begin() as connection:
        assert acting.cancel(connection, id)
        assert acting.undo(connection, id)
    assert kept(engine).folder == "snoozed"
    assert_sound(engine)
