"""Links in mails: one occurrence each, idempotent, undoable, and no override of later changes."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from snoozer.db import ledger, queue
from snoozer.db.queue import ReminderTime
from snoozer.domain.links import Link
from snoozer.snoozes import occurrences
from tests import acting
from tests.db.links import MESSAGE, act, folder, found, living
from tests.db.transitions import a_fact, a_reserved_send, mark, mark_uncertain_one, record, release_one
from tests.factories import HOUR, a_kept_message, a_snooze, now, the_events, the_row


@pytest.fixture
def link(engine: Engine) -> Link:
    """The link of a reminder that was sent."""
    a_kept_message(engine, message_id=MESSAGE)
    held, send = a_reserved_send(engine, message_id=MESSAGE)
    mark(engine, send)
    record(engine, send)
    with engine.begin() as connection:
        queue.finalize(connection, held=[(held.id, held.claim_token)])
    return Link(snooze_id=held.id, scheduled_for=send.scheduled_for, action="done")


def test_done_files_the_message_once(engine: Engine, link: Link) -> None:
    assert found(engine, link).status == "open"
    assert [act(engine, link, "done"), act(engine, link, "done")] == [True, False]
    assert (found(engine, link).status, folder(engine)) == ("done", "done")
    assert the_events(engine, link.snooze_id) == ["done"]


def test_done_can_be_undone_once(engine: Engine, link: Link) -> None:
    act(engine, link, "done")
    assert [act(engine, link, "undo"), act(engine, link, "undo")] == [True, False]
    assert (found(engine, link).status, folder(engine)) == ("open", "inbox")


def test_again_snoozes_the_message_once(engine: Engine, link: Link) -> None:
    assert [act(engine, link, "again"), act(engine, link, "again", hours=5)] == [True, False]
    assert (found(engine, link).status, folder(engine), living(engine)) == ("asleep", "snoozed", 1)


def test_again_can_be_undone_by_its_own_link(engine: Engine, link: Link) -> None:
    act(engine, link, "again")
    assert found(engine, link).by_link is True
    assert act(engine, link, "undo") is True
    assert (found(engine, link).status, folder(engine), living(engine)) == ("open", "inbox", 0)


def test_an_old_link_does_not_undo_what_the_person_did_later(engine: Engine, link: Link) -> None:
    with engine.begin() as connection:
        acting.snooze(connection, message_id=MESSAGE, reminder_time=ReminderTime(remind_at=now() + 9 * HOUR))
    occurrence = found(engine, link)
    assert (occurrence.status, occurrence.by_link) == ("asleep", False)
    assert [act(engine, link, what) for what in ("done", "again", "undo")] == [False, False, False]
    assert living(engine) == 1


def test_again_after_done_snoozes_the_message(engine: Engine, link: Link) -> None:
    act(engine, link, "done")
    assert act(engine, link, "again") is True
    assert found(engine, link).status == "asleep"


def test_done_stops_a_second_copy_that_was_still_to_come(engine: Engine) -> None:
    held, send = a_reserved_send(engine, message_id=MESSAGE)
    mark(engine, send)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        release_one(connection, held, error="?", attempts_used=0, delay=timedelta(minutes=10))
    link = Link(snooze_id=held.id, scheduled_for=send.scheduled_for, action="done")
    assert found(engine, link).status == "open"
    assert act(engine, link, "done") is True
    assert the_row(engine, held.id).outcome == "cancelled"
    with engine.begin() as connection:
        ledger.record(connection, facts=[a_fact(send)])


def test_a_link_for_another_promise_finds_nothing(engine: Engine, link: Link) -> None:
    with engine.begin() as connection:
        other = Link(snooze_id=link.snooze_id, scheduled_for=link.scheduled_for + HOUR, action="done")
        assert occurrences.find(connection, link=other) is None


def test_a_link_shows_nothing_of_other_snoozes(engine: Engine, link: Link) -> None:
    a_snooze(engine, subject="Private")
    assert "Private" not in repr(found(engine, link))


def test_a_link_of_a_rescheduled_snooze_changes_nothing(engine: Engine) -> None:
    """It is unknown whether it arrived; the person has chosen another time since."""
    held, send = a_reserved_send(engine, message_id=MESSAGE)
    mark(engine, send)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        assert acting.reschedule(connection, held.id, ReminderTime(remind_at=now() + HOUR))
    link = Link(snooze_id=held.id, scheduled_for=send.scheduled_for, action="done")
    assert (found(engine, link).status, found(engine, link).repeats) == ("asleep", False)
    assert act(engine, link, "done") is False
    assert the_events(engine, held.id) == ["edited"]
