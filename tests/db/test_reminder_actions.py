"""Links in mails: one occurrence each, idempotent, undoable, and no override of later changes."""

import pytest
from sqlalchemy import Engine

from snoozer.mail.links import Link
from snoozer.queue import queue
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import reminder_links
from tests import acting
from tests.db.links import MESSAGE, act, folder, found
from tests.db.transitions import a_held_mail, authorise, mark_uncertain_one, record
from tests.factories import HOUR, a_kept_message, a_snooze, now, the_events


@pytest.fixture
def link(engine: Engine) -> Link:
    """The link of a reminder that was sent."""
    a_kept_message(engine, message_id=MESSAGE)
    held, send = a_held_mail(engine, message_id=MESSAGE)
    authorise(engine, send)
    record(engine, send)
    with engine.begin() as connection:
        queue.finalize(connection, held=[(held.id, held.claim_token)])
    return Link(snooze_id=held.id, scheduled_for=send.scheduled_for, action="done")


def test_done_can_be_undone_once(engine: Engine, link: Link) -> None:
    act(engine, link, "done")
    assert [act(engine, link, "undo"), act(engine, link, "undo")] == [True, False]
    assert (found(engine, link).status, folder(engine)) == ("open", "inbox")


def test_again_after_done_snoozes_the_message(engine: Engine, link: Link) -> None:
    act(engine, link, "done")
    assert act(engine, link, "again") is True
    assert found(engine, link).status == "asleep"


def test_a_link_for_another_promise_finds_nothing(engine: Engine, link: Link) -> None:
    with engine.begin() as connection:
        other = Link(snooze_id=link.snooze_id, scheduled_for=link.scheduled_for + HOUR, action="done")
        assert reminder_links.find(connection, link=other) is None


def test_a_link_shows_nothing_of_other_snoozes(engine: Engine, link: Link) -> None:
    a_snooze(engine, subject="Private")
    assert "Private" not in repr(found(engine, link))


def test_a_link_of_a_rescheduled_snooze_changes_nothing(engine: Engine) -> None:
    """It is unknown whether it arrived; the person has chosen another time since."""
    held, send = a_held_mail(engine, message_id=MESSAGE)
    authorise(engine, send)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        assert acting.reschedule(connection, held.id, ReminderTime(remind_at=now() + HOUR))
    link = Link(snooze_id=held.id, scheduled_for=send.scheduled_for, action="done")
    assert (found(engine, link).status, found(engine, link).repeats) == ("asleep", False)
    assert act(engine, link, "done") is False
    assert the_events(engine, held.id) == ["edited"]
