"""Someday: no date, never lost, and one mail on the day on which its person looks through it."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.chores.returns import return_due
from snoozer.mail.links import Link
from snoozer.queue.limits import MAX_DIGEST_SIZE
from snoozer.snoozes import acts, input, reminder_links
from snoozer.snoozes.acts import By, End, Move, Wake
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.recurrence import Recurrence
from tests.db.days import choose, quiet, turn
from tests.db.digests import accept, listed
from tests.factories import ANN, a_kept_message, a_snooze, asked_for, now, the_row
from tests.next_try import SECOND, set_next_try

MINUTE = timedelta(minutes=1)
BOB = "bob@snoozer.example"
NEVER = datetime(9999, 1, 1, tzinfo=UTC)


def an_account(engine: Engine, *, email: str = ANN) -> None:
    with engine.begin() as connection:
        values = {"email": email}
        connection.execute(
            text("INSERT INTO accounts (email, zone, verified_at) VALUES (:email, 'UTC', now())"), values
        )


def due_for_review(engine: Engine, count: int = 1, **columns: Any) -> list[int]:
    """Snoozes without a date whose review has just come."""
    at = now() - timedelta(seconds=5)
    series = Recurrence(
        unit="week", interval=1, start=at.date(), at=at.time(), weekdays=(at.weekday(),), kind="someday"
    )
    values = {"remind_at": at, "recurrence": series.as_json(), "time_kind": "wall"} | columns
    return [a_snooze(engine, **values) for _ in range(count)]


def reviewed(engine: Engine) -> list[list[int]]:
    """The mails that leave, each as the snoozes that it lists."""
    mails: list[list[int]] = []
    for _ in range(6):
        deliveries = turn(engine)
        mails += [listed(one.send) for one in deliveries]
        accept(engine, deliveries)
        # As if the moment had passed for which those wait that were not gathered.
        set_next_try(engine, -SECOND, "claimed_at IS NULL AND scheduled_for <= now()")
    return mails


def one_value(engine: Engine, query: str, **values: Any) -> Any:
    with engine.connect() as connection:
        return connection.execute(text(query), values).scalar_one()


def returns_at(engine: Engine, message: int) -> datetime | None:
    at: datetime | None = one_value(engine, "SELECT returns_at FROM messages WHERE id = :id", id=message)
    return at


def kept_until_someday(engine: Engine) -> tuple[int, int]:
    """A kept message and its snooze."""
    message = a_kept_message(engine)
    message_id = one_value(engine, "SELECT message_id FROM messages WHERE id = :id", id=message)
    with engine.begin() as connection:
        reading = input.parse_phrase("someday", now=now(), zone="UTC", locale="en_GB")
        wanted = acts.Wanted(
            message=input.Message(message_id=message_id), time=input.reminder_time_of(reading, now=now())
        )
        (made,) = acts.snooze(connection, [wanted], By(ANN, "page"))
    return message, made.id


@pytest.mark.parametrize("has_shape", [False, True])
def test_one_mail_lists_all_of_it_and_all_of_it_stays(engine: Engine, has_shape: bool) -> None:
    an_account(engine)
    if has_shape:
        choose(engine, DayShape())
    ids = due_for_review(engine, 5)
    (mail,) = reviewed(engine)
    assert sorted(mail) == ids
    for id in ids:
        row = the_row(engine, id)
        assert (row.outcome, row.inactive) == (None, False)
        assert row.remind_at > now() + timedelta(days=6)
    sent = "SELECT count(*) FROM reminder_sends WHERE state = 'sent'"
    assert one_value(engine, sent) == 5


def test_a_single_one_has_a_reminder_of_its_own(engine: Engine) -> None:
    an_account(engine)
    ids = due_for_review(engine)
    assert reviewed(engine) == [ids]


def test_people_review_their_own(engine: Engine) -> None:
    an_account(engine)
    an_account(engine, email=BOB)
    anns, bobs = due_for_review(engine, 2), due_for_review(engine, 3, user_email=BOB)
    assert sorted(map(sorted, reviewed(engine))) == [anns, bobs]


def test_a_long_list_comes_in_several_mails(engine: Engine) -> None:
    an_account(engine)
    ids = due_for_review(engine, MAX_DIGEST_SIZE + 2)
    mails = reviewed(engine)
    assert sorted(map(len, mails)) == [2, MAX_DIGEST_SIZE]
    assert sorted(id for mail in mails for id in mail) == ids


def test_other_reminders_of_the_hour_are_not_among_it(engine: Engine) -> None:
    an_account(engine)
    ids = due_for_review(engine, 2)
    other = a_snooze(engine, remind_at=now() - timedelta(seconds=5))
    mails = reviewed(engine)
    assert [other] in mails
    assert sorted(map(len, mails)) == [1, len(ids)]


def test_what_failed_before_comes_alone(engine: Engine) -> None:
    an_account(engine)
    (failed,) = due_for_review(engine, attempts=2)
    ids = due_for_review(engine, 2)
    assert sorted(map(sorted, reviewed(engine))) == sorted([ids, [failed]])


def test_without_an_account_each_comes_alone(engine: Engine) -> None:
    ids = due_for_review(engine, 3, user_email="zoe@mail.example")
    assert sorted(reviewed(engine)) == [[id] for id in ids]


def test_quiet_hours_postpone_it(engine: Engine) -> None:
    choose(engine, quiet(gathers_over=3))
    due_for_review(engine, 5)
    assert reviewed(engine) == []


def test_its_message_does_not_come_back_by_itself(engine: Engine) -> None:
    an_account(engine)
    message, id = kept_until_someday(engine)
    assert returns_at(engine, message) == NEVER
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    assert reviewed(engine) == [[id]]
    assert return_due(engine) == []
    assert returns_at(engine, message) == NEVER
    assert one_value(engine, "SELECT folder FROM messages WHERE id = :id", id=message) == "snoozed"


def test_a_date_brings_the_message_back_even_at_the_very_time_of_the_review(engine: Engine) -> None:
    an_account(engine)
    message, id = kept_until_someday(engine)
    at = the_row(engine, id).remind_at
    time = input.reminder_time_at(at, now=now(), zone="UTC")
    with engine.begin() as connection:
        (moved,) = acts.act(connection, [id], Move(time=time), By(ANN, "page"))
    assert moved.left is None
    row = the_row(engine, id)
    assert (row.remind_at, row.recurrence, returns_at(engine, message)) == (at, None, at)
    with engine.begin() as connection:
        (undone,) = acts.undo(connection, [id], By(ANN, "page"))
    assert undone.left is None
    assert the_row(engine, id).recurrence["kind"] == "someday"
    assert returns_at(engine, message) == NEVER


def test_back_now_takes_it_from_the_list(engine: Engine) -> None:
    an_account(engine)
    message, id = kept_until_someday(engine)
    with engine.begin() as connection:
        (woken,) = acts.act(connection, [id], Wake(), By(ANN, "page"))
    assert woken.left is None
    assert one_value(engine, "SELECT folder FROM messages WHERE id = :id", id=message) == "inbox"
    assert the_row(engine, id).recurrence is None


def test_it_has_no_end(engine: Engine) -> None:
    id = asked_for(engine, "someday")
    with engine.begin() as connection:
        (left,) = acts.act(connection, [id], End(times=2), By(ANN, "page"))
    assert isinstance(left.left, SnoozeError)
    with pytest.raises(ValueError):
        Recurrence.from_json(the_row(engine, id).recurrence | {"times": 2})


def test_another_day_moves_what_is_on_the_list(engine: Engine) -> None:
    an_account(engine)
    with engine.begin() as connection:
        reading = input.parse_phrase("someday", now=now(), zone="UTC", locale="en_GB")
        wanted = acts.Wanted(
            message=input.Message(message_id="<a@x.example>"), time=input.reminder_time_of(reading, now=now())
        )
        (made,) = acts.snooze(connection, [wanted], By(ANN, "page"))
    other = a_snooze(engine, remind_at=now() + timedelta(days=2))
    before = the_row(engine, other).remind_at
    choose(engine, DayShape(review_on=1, work_from=time(7)))
    zone = one_value(engine, "SELECT zone FROM accounts WHERE email = :ann", ann=ANN)
    row = the_row(engine, made.id)
    local = one_value(
        engine, "SELECT to_char(remind_at AT TIME ZONE :zone, 'ID HH24:MI') FROM email_snoozes WHERE id = :id",
        zone=zone, id=made.id,
    )  # fmt: skip
    assert (local, row.recurrence["weekdays"], row.recurrence["kind"]) == ("1 07:00", [0], "someday")
    assert the_row(engine, other).remind_at == before


def the_occurrence(engine: Engine, id: int) -> Link:
    at = one_value(engine, "SELECT scheduled_for FROM reminder_sends WHERE snooze_id = :id", id=id)
    return Link(snooze_id=id, scheduled_for=at)


def test_a_link_of_the_mail_gives_it_a_date_and_takes_that_back(engine: Engine) -> None:
    an_account(engine)
    _message, id = kept_until_someday(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    assert reviewed(engine) == [[id]]
    link, tomorrow = the_occurrence(engine, id), input.reminder_time_at(now() + 1440 * MINUTE, now=now(), zone="UTC")
    with engine.begin() as connection:
        found = reminder_links.find(connection, link=link, acting=True)
        assert found is not None
        assert (found.status, found.is_review) == ("open", True)
        assert reminder_links.snooze_again(connection, occurrence=found, reminder_time=tomorrow, route="link")
    assert the_row(engine, id).recurrence is None
    with engine.begin() as connection:
        found = reminder_links.find(connection, link=link, acting=True)
        assert found is not None
        assert (found.status, found.by_link) == ("asleep", True)
        assert reminder_links.undo(connection, occurrence=found, route="link")
    assert the_row(engine, id).recurrence["kind"] == "someday"
    assert the_row(engine, id).outcome is None


def test_done_ends_it_and_undo_puts_it_on_the_list_again(engine: Engine) -> None:
    an_account(engine)
    message, id = kept_until_someday(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    assert reviewed(engine) == [[id]]
    link = the_occurrence(engine, id)
    with engine.begin() as connection:
        found = reminder_links.find(connection, link=link, acting=True)
        assert found is not None
        assert reminder_links.done(connection, occurrence=found, route="link")
    assert the_row(engine, id).outcome == "cancelled"
    assert one_value(engine, "SELECT folder FROM messages WHERE id = :id", id=message) == "done"
    with engine.begin() as connection:
        found = reminder_links.find(connection, link=link, acting=True)
        assert found is not None
        assert found.status == "done"
        assert reminder_links.undo(connection, occurrence=found, route="link")
    row = the_row(engine, id)
    assert (row.outcome, row.recurrence["kind"]) == (None, "someday")
    assert one_value(engine, "SELECT folder FROM messages WHERE id = :id", id=message) == "snoozed"
    assert returns_at(engine, message) == NEVER
