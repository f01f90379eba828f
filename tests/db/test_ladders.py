"""A ladder: the second time comes unless its person is done with it, or a reply came."""

from datetime import timedelta

from sqlalchemy import Engine, text

from snoozer.mail.links import Link
from snoozer.snoozes import reminder_links
from snoozer.snoozes.reminder_links import Occurrence
from tests.db.days import turn
from tests.db.digests import accept
from tests.db.transitions import authorise, claim, record, sendable
from tests.factories import asked_for, now, the_row

PHRASE = "in 2 days, then in 3 more, if no reply"
DAY = timedelta(days=1)


def came_once(engine: Engine) -> tuple[int, Link]:
    """A ladder whose first reminder was sent."""
    id = asked_for(engine, PHRASE, reply_policy="cancel_on_reply")
    set_due(engine, id)
    accept(engine, turn(engine))
    with engine.connect() as connection:
        at = connection.execute(text("SELECT scheduled_for FROM reminder_sends")).scalar_one()
    return id, Link(snooze_id=id, scheduled_for=at)


def set_due(engine: Engine, id: int) -> None:
    with engine.begin() as connection:
        due = "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second' WHERE id = :id"
        connection.execute(text(due), {"id": id})


def act(engine: Engine, link: Link, what: str) -> Occurrence:
    with engine.begin() as connection:
        found = reminder_links.find(connection, link=link, acting=True)
        assert found is not None
        assert getattr(reminder_links, what)(connection, occurrence=found, route="link")
    return found


def test_it_comes_twice_and_not_again(engine: Engine) -> None:
    id, _link = came_once(engine)
    row = the_row(engine, id)
    assert row.outcome is None
    assert timedelta(days=4) < row.remind_at - now() < timedelta(days=6)
    with engine.begin() as connection:
        passed = "UPDATE email_snoozes SET recurrence = jsonb_set(recurrence, '{start}', to_jsonb(current_date - 1))"
        connection.execute(text(passed))
    set_due(engine, id)
    accept(engine, turn(engine))
    assert the_row(engine, id).outcome == "sent"


def test_done_ends_it_and_undo_brings_the_second_time_back(engine: Engine) -> None:
    id, link = came_once(engine)
    second = the_row(engine, id).remind_at
    assert act(engine, link, "done").ends_when_done
    assert the_row(engine, id).outcome == "cancelled"
    assert act(engine, link, "undo").status == "done"
    assert (the_row(engine, id).outcome, the_row(engine, id).remind_at) == (None, second)


def test_done_before_the_reply_was_recorded_ends_it_too(engine: Engine) -> None:
    id = asked_for(engine, PHRASE, reply_policy="cancel_on_reply")
    set_due(engine, id)
    (held,) = claim(engine)
    (send,) = sendable(engine, held)
    assert authorise(engine, send)
    record(engine, send)
    assert the_row(engine, id).claim_token is not None
    act(engine, Link(snooze_id=id, scheduled_for=send.scheduled_for), "done")
    assert the_row(engine, id).outcome == "cancelled"
