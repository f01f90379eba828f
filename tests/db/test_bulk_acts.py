"""Acts on many messages, each test named after the failure it survives: races with workers, a double submit, deadlocks,
and an Undo that loses nothing."""

from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from snoozer.db import accounts
from snoozer.queue import changes as db
from snoozer.snoozes import bulk
from snoozer.snoozes.acts import Act, Annotate, By, Move
from snoozer.snoozes.bulk import Summary, Undone
from snoozer.snoozes.input import Message
from tests import acting
from tests.db.bulk import BY, cancelled, later, perform, rescheduled, snoozed, undo
from tests.db.links import DAILY
from tests.factories import (
    ANN,
    HOUR,
    People,
    a_kept_message,
    a_snooze,
    now,
    the_row,
    wait_until_a_session_waits,
)

# What an Undo gives back.
PROMISE = "remind_at scheduled_for note recurrence wall_time zone time_kind inactive outcome reply_policy attempts"


def promises(engine: Engine, ids: list[int]) -> list[tuple[Any, ...]]:
    return [tuple(getattr(the_row(engine, id), name) for name in PROMISE.split()) for id in ids]


def folders(engine: Engine) -> dict[str, tuple[str, bool]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT message_id, folder, unread FROM messages")).all()
    return {row.message_id: (row.folder, row.unread) for row in rows}


@pytest.fixture
def account(people: People) -> int:
    return people.ann().id


def test_a_new_time_ends_the_repetition_of_what_is_paused_and_it_comes(engine: Engine, account: int) -> None:
    """It lost its repetition, stayed paused, and never came."""
    paused = a_snooze(engine, inactive=True, remind_at=now() + HOUR, recurrence=DAILY)
    before, time = promises(engine, [paused]), later()
    result, id = perform(engine, rescheduled([paused], time), account=account)
    assert (result.done, result.left, result.ended) == (1, {}, 1)
    row = the_row(engine, paused)
    assert (row.recurrence, row.inactive, row.remind_at) == (None, False, time.remind_at)
    assert undo(engine, id, account=account) == Undone(done=1)
    assert promises(engine, [paused]) == before


def test_undo_of_a_cancelled_pair_of_one_message_brings_back_the_live_one_live(engine: Engine, account: int) -> None:
    paused = a_snooze(engine, message_id="<m@mail.example>", inactive=True, remind_at=now() + HOUR)
    live = a_snooze(engine, message_id="<m@mail.example>", remind_at=now() + 2 * HOUR)
    before = promises(engine, [paused, live])
    result, id = perform(engine, cancelled([paused, live]), account=account)
    assert result.done == 2
    assert undo(engine, id, account=account) == Undone(done=2)
    assert promises(engine, [paused, live]) == before


@pytest.mark.parametrize("since", [Move(time=later(90)), Annotate(note="Call")], ids=["time", "note"])
def test_undo_of_new_snoozes_keeps_what_has_another_time_or_note_since(
    engine: Engine, account: int, since: Act
) -> None:
    messages = [Message(message_id=f"<{name}@x>") for name in "ab"]
    _, id = perform(engine, snoozed(messages, later(note="n")), account=account)
    first, second = _live(engine)
    with engine.begin() as connection:
        assert acting.done(connection, first.id, since)
    assert undo(engine, id, account=account) == Undone(done=1, left={"changed": 1})
    assert [the_row(engine, row.id).outcome for row in (first, second)] == [None, "cancelled"]


def test_undo_beside_a_new_snooze_of_one_message_puts_the_others_back(engine: Engine, account: int) -> None:
    ids = [a_snooze(engine, message_id=f"<{name}@x>", remind_at=now() + HOUR) for name in "abc"]
    _, id = perform(engine, cancelled(ids), account=account)
    undone: list[Undone | None] = []
    other = Thread(target=lambda: undone.append(undo(engine, id, account=account)))
    with engine.begin() as connection:
        acting.snooze(connection, message_id="<b@x>", reminder_time=later())
        other.start()
        wait_until_a_session_waits(engine)
    other.join()
    assert undone == [Undone(done=2, left={"cancelled": 1})]
    assert [the_row(engine, id).outcome for id in ids] == [None, "cancelled", None]


def test_a_form_that_is_submitted_twice_acts_once(engine: Engine, account: int) -> None:
    messages = [Message(message_id=f"<{name}@x>", subject=name) for name in "ab"]
    form = uuid4()
    results: list[Summary] = []
    work = snoozed(messages, later())

    def submit() -> None:
        results.append(perform(engine, work, account=account, id=form)[0])

    other = Thread(target=submit)
    with engine.begin() as connection:
        first = bulk.once(connection, account_id=account, id=form, act=lambda: work(connection))
        other.start()
        wait_until_a_session_waits(engine)
    other.join()
    assert results == [first]
    assert first.done == 2
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 2
        assert connection.execute(text("SELECT count(*) FROM snooze_events")).scalar_one() == 2


@pytest.mark.parametrize("turned", [False, True])
def test_two_acts_on_the_same_rows_wait_for_each_other(engine: Engine, account: int, turned: bool) -> None:
    """Locked in the order in which they were chosen, each had what the other waited for."""
    ids = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(20)]
    results: list[Summary] = []

    def second() -> None:
        chosen = ids[::-1] if turned else ids
        results.append(perform(engine, cancelled(chosen), account=account)[0])

    other = Thread(target=second)
    with engine.begin() as connection:
        db.lock_chosen(connection, user_email=ANN, ids=ids[:1])
        other.start()
        wait_until_a_session_waits(engine)
        first = bulk.once(connection, account_id=account, id=uuid4(), act=lambda: rescheduled(ids, later())(connection))
    other.join()
    assert (first.done, results[0].done) == (20, 20)


def test_an_act_and_its_undo_move_the_messages_that_snoozer_keeps(engine: Engine, account: int) -> None:
    for name in "abc":
        a_kept_message(engine, message_id=f"<{name}@x>")
    before = folders(engine)
    messages = [Message(message_id=name) for name in before]
    result, id = perform(engine, snoozed(messages, later()), account=account)
    assert result.done == 3
    assert {folder for folder, _ in folders(engine).values()} == {"snoozed"}
    live = [row.id for row in _live(engine)]
    _, cancelling = perform(engine, cancelled(live), account=account)
    assert folders(engine) == before
    assert undo(engine, cancelling, account=account) == Undone(done=3)
    assert {folder for folder, _ in folders(engine).values()} == {"snoozed"}
    assert undo(engine, id, account=account) == Undone(done=3), "they are as the act left them"
    assert folders(engine) == before
    assert _live(engine) == []
    with engine.begin() as connection:
        assert acting.snooze(connection, message_id="<a@x>", reminder_time=later(20))[1]
    assert undo(engine, cancelling, account=account) is None


def test_done_and_to_the_inbox_are_undone_where_the_message_was_not_moved_since(engine: Engine, account: int) -> None:
    for name in "ab":
        a_kept_message(engine, message_id=f"<{name}@x>")
    before = folders(engine)
    ids = list(before)
    result, id = perform(
        engine,
        lambda connection: bulk.done(connection, ids, BY, gone=2),
        account=account,
    )
    assert (result.done, result.left) == (2, {"gone": 2})
    assert set(folders(engine).values()) == {("done", False)}
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'inbox' WHERE message_id = '<a@x>'"))
    assert undo(engine, id, account=account) == Undone(done=1, left={"changed": 1})
    assert folders(engine) == {"<a@x>": ("inbox", False), "<b@x>": ("inbox", True)}


def test_to_the_inbox_ends_snoozes_and_undo_brings_them_back(engine: Engine, account: int) -> None:
    a_kept_message(engine, message_id="<a@x>")
    perform(engine, snoozed([Message(message_id="<a@x>", subject="A")], later()), account=account)
    [live] = _live(engine)
    _, id = perform(
        engine,
        lambda connection: bulk.to_inbox(connection, ["<a@x>"], BY),
        account=account,
    )
    assert folders(engine) == {"<a@x>": ("inbox", True)}
    assert the_row(engine, live.id).outcome == "cancelled"
    assert undo(engine, id, account=account) == Undone(done=1)
    assert folders(engine) == {"<a@x>": ("snoozed", True)}
    assert the_row(engine, live.id).outcome is None


def test_what_could_not_be_delivered_is_snoozed_again(engine: Engine, account: int) -> None:
    case = a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), message_id="<a@x>", subject="A")
    time = later()
    result, id = perform(engine, rescheduled([case], time), account=account)
    assert (result.done, result.left) == (1, {})
    [row] = _live(engine)
    assert (row.message_id, row.subject, row.remind_at) == ("<a@x>", "A", time.remind_at)
    assert undo(engine, id, account=account) == Undone(done=1)
    assert _live(engine) == []


def test_no_act_and_no_undo_reaches_another_persons_snoozes(engine: Engine, account: int, people: People) -> None:
    bobs = a_snooze(engine, user_email="bob@snoozer.example", remind_at=now() + HOUR)
    mine = a_snooze(engine, remind_at=now() + HOUR)
    result, id = perform(engine, cancelled([bobs, mine]), account=account)
    assert (result.done, result.left) == (1, {"gone": 1})
    assert the_row(engine, bobs).outcome is None
    eve = people.ann("eve@snoozer.example").id
    with engine.begin() as connection:
        assert bulk.undo(connection, account_id=eve, id=id, by=By("eve@snoozer.example", "web")) is None


def test_an_act_is_forgotten_after_a_day(engine: Engine, account: int) -> None:
    _, id = perform(engine, cancelled([a_snooze(engine, remind_at=now() + HOUR)]), account=account)
    with engine.begin() as connection:
        assert accounts.prune_expired(connection, batch_size=9) == 0
        connection.execute(text("UPDATE bulk_acts SET created_at = created_at - INTERVAL '25 hours'"))
        assert accounts.prune_expired(connection, batch_size=9) == 1
    assert undo(engine, id, account=account) is None


def _live(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM email_snoozes WHERE NOT inactive ORDER BY id")).all())
