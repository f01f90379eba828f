"""Acts on many messages take a few statements, however many there are; and what a rest defers is woken and put back."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from tests.db.bulk import Work, cancelled, later, perform, rescheduled, undo, woken
from tests.db.days import MINUTE, resting, turn
from tests.db.links import DAILY
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, now, the_row
from tests.statements import statements


@pytest.fixture
def account(people: People) -> int:
    return people.ann(zone="UTC").id


@pytest.mark.parametrize("act", [lambda ids: rescheduled(ids, later()), cancelled, woken])
def test_five_hundred_are_one_transaction_of_a_few_statements(
    engine: Engine, account: int, act: Callable[[list[int]], Work]
) -> None:
    """What repeats and lies in the mailbox was skipped one by one when it was woken."""
    ids = []
    for number in range(20):
        message_id = f"<{number}@mail.example>"
        a_kept_message(engine, message_id=message_id)
        at = now() + timedelta(hours=5)
        ids.append(a_snooze(engine, message_id=message_id, remind_at=at, recurrence=DAILY, zone="UTC"))
    with engine.begin() as connection:
        of_them = [f"<{number}@mail.example>" for number in range(20)]
        mailbox_store.move_many(connection, user_email=ANN, message_ids=of_them, folder="snoozed")
    with statements(engine) as executed:
        result, id = perform(engine, act(ids), account=account)
    assert result.done == len(ids)
    assert len(executed) <= 20
    with statements(engine) as executed:
        undone = undo(engine, id, account=account)
    assert undone is not None
    assert len(executed) <= 20


def test_what_a_rest_defers_is_woken_and_put_back_as_it_was(engine: Engine, account: int) -> None:
    """It was called due, and after an Undo late."""
    resting(engine)
    id = a_snooze(engine, remind_at=now() - MINUTE)
    assert turn(engine) == []
    before = the_row(engine, id)
    assert before.deferred_until > now()
    result, act = perform(engine, woken([id]), account=account)
    assert result.done == 1
    assert the_row(engine, id).remind_at <= now()
    undone = undo(engine, act, account=account)
    assert undone is not None
    assert turn(engine) == []
    after = the_row(engine, id)
    assert (after.remind_at, after.deferred_until, after.deferred_by) == (
        before.remind_at,
        before.deferred_until,
        before.deferred_by,
    )


def test_an_undo_makes_nothing_due_whose_earlier_time_has_passed(engine: Engine, account: int) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    _, act = perform(engine, rescheduled([id], later()), account=account)
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE snooze_events "
                "SET at = now() - INTERVAL '1 h', "
                "detail = jsonb_set(detail, '{before,remind_at}', to_jsonb(now() - INTERVAL '1 s'))"
            )
        )
    undone = undo(engine, act, account=account)
    assert undone is not None
    assert (undone.done, undone.left) == (0, {"changed": 1})
    assert the_row(engine, id).remind_at > now() + HOUR
