"""Links of recurring snoozes, before this occurrence is recorded as sent and after: the series continues."""

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.delivery.settling import finish
from snoozer.queue import ledger
from snoozer.queue.reminder import Claim, Send
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from tests.db.invariants import look
from tests.db.links import (
    DAILY,
    HOLD,
    act,
    before_the_end,
    folder,
    found,
    in_flight,
    link_in,
    living,
    sent_and_gone_on,
    uncertain,
)
from tests.db.transitions import authorise, claim, record, recovered, release_one, sendable
from tests.factories import HOUR, now, the_events, the_row, the_send, wait_until_a_session_waits

# A recurring snooze at some moment between its dot and its next promise.
Window = Callable[[Engine], tuple[Claim, Send]]


def sent_once_more(engine: Engine) -> tuple[Claim, Send]:
    """The hold is over, and a worker is about to send the second copy."""
    held, _ = in_flight(engine)
    again = recovered(engine, held)
    [entry] = sendable(engine, again, hold=timedelta(0))
    assert entry.resends == 1
    return again, entry


def next_of(send: Send) -> datetime:
    after = max(send.scheduled_for, now())
    found = next_occurrence(Recurrence.from_json(DAILY), after=after, zone="UTC")
    assert found is not None
    return found


def goes_on(engine: Engine, send: Send) -> bool:
    """Whether the series is alive, unclaimed, and promised for its next occurrence."""
    row = the_row(engine, send.snooze_id)
    promised = (row.outcome, row.inactive, row.claim_token, row.scheduled_for, row.remind_at)
    return promised == (None, False, None, None, next_of(send)) and row.recurrence == DAILY


def sends(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM reminder_sends")).scalar_one())


ALL = pytest.mark.parametrize("window", [in_flight, uncertain, sent_once_more, before_the_end])


@ALL
def test_done_ends_this_occurrence_and_the_series_continues(engine: Engine, window: Window) -> None:
    _, send = window(engine)
    link = link_in(send)
    assert found(engine, link).status == "open"
    assert [act(engine, link, "done"), act(engine, link, "done")] == [True, False]
    assert goes_on(engine, send)
    occurrence = found(engine, link)
    assert (occurrence.status, occurrence.asleep_until, folder(engine)) == ("done", next_of(send), "done")
    assert the_events(engine, send.snooze_id)[-1] == "done"


@ALL
def test_done_can_be_undone_and_the_series_still_continues(engine: Engine, window: Window) -> None:
    _, send = window(engine)
    act(engine, link_in(send), "done")
    assert [act(engine, link_in(send), "undo"), act(engine, link_in(send), "undo")] == [True, False]
    assert goes_on(engine, send)
    assert (found(engine, link_in(send)).status, folder(engine)) == ("open", "inbox")


@ALL
def test_again_loses_no_series_and_ends_as_after_a_clean_reply(engine: Engine, window: Window) -> None:
    _, send = window(engine)
    assert act(engine, link_in(send), "again") is False
    assert goes_on(engine, send)
    occurrence = found(engine, link_in(send))
    assert (occurrence.status, occurrence.repeats, occurrence.by_link) == ("open", True, False)
    assert [act(engine, link_in(send), what) for what in ("again", "undo")] == [False, False]
    assert (goes_on(engine, send), folder(engine), living(engine)) == (True, "inbox", 1)


@ALL
@pytest.mark.parametrize("what", ["done", "again"])
def test_no_second_copy_of_an_acknowledged_occurrence_is_sent(engine: Engine, window: Window, what: str) -> None:
    held, send = window(engine)
    act(engine, link_in(send), what)
    assert authorise(engine, send) is False
    with engine.begin() as connection:
        assert finish(connection, [held]) == set(), "the worker finds its claim gone"
        assert release_one(connection, held, error="?", attempts_used=0, delay=HOLD) is None
    assert goes_on(engine, send)
    assert claim(engine) == claim(engine, poison_rows=True) == []
    if window is in_flight:
        record(engine, send)
    row = the_send(engine, send.snooze_id)
    assert (row.state, row.resolved_by) == ("sent", "user" if window in (uncertain, sent_once_more) else None)
    assert look(engine) == {}


def test_the_next_occurrence_is_a_promise_of_its_own(engine: Engine) -> None:
    _, send = uncertain(engine)
    act(engine, link_in(send), "done")
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert entry.reminder_message_id != send.reminder_message_id
    assert authorise(engine, entry)
    assert (sends(engine), found(engine, link_in(send)).status) == (2, "asleep"), "what came later is not undone"
    assert act(engine, link_in(send), "undo") is False


def test_a_late_reply_to_an_acknowledged_reminder_breaks_nothing(engine: Engine) -> None:
    _, send = uncertain(engine)
    act(engine, link_in(send), "done")
    assert record(engine, send).second_copy is False
    with engine.begin() as connection:
        assert ledger.abandon(connection, hold=timedelta(seconds=-1), batch_size=10) == []
    assert look(engine) == {}


def test_done_that_comes_during_the_workers_end_is_for_this_time_only(engine: Engine) -> None:
    """The link waits for the worker's transaction, instead of acting on the row as it was before."""
    held, send = before_the_end(engine)
    answers: list[bool] = []
    with engine.begin() as connection:
        assert finish(connection, [held])
        pressing = Thread(target=lambda: answers.append(act(engine, link_in(send), "done")))
        pressing.start()
        wait_until_a_session_waits(engine)
    pressing.join()
    assert answers == [True]
    assert goes_on(engine, send)
    occurrence = found(engine, link_in(send))
    assert (occurrence.status, occurrence.repeats, folder(engine)) == ("done", True, "done")


@pytest.mark.parametrize("last", [{"times": 1, "start": "2026-01-05"}, {"unit": "hour"}], ids=str)
def test_the_last_of_a_series_ends_as_one_that_came_once(engine: Engine, last: dict[str, object]) -> None:
    _, send = uncertain(engine, recurrence=DAILY | last)
    assert found(engine, link_in(send)).next_at is None
    assert act(engine, link_in(send), "done") is True
    assert (found(engine, link_in(send)).status, living(engine)) == ("done", 0)
    assert act(engine, link_in(send), "again") is True
    assert (found(engine, link_in(send)).status, living(engine)) == ("asleep", 1)
    assert look(engine) == {}


def test_a_link_of_what_the_person_changed_since_leaves_it_alone(engine: Engine) -> None:
    _, send = uncertain(engine)
    changed = now() + 9 * HOUR
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET remind_at = :at, scheduled_for = NULL WHERE id = :id"),
            {"at": changed, "id": send.snooze_id},
        )
    assert [act(engine, link_in(send), what) for what in ("done", "again", "undo")] == [False, False, False]
    assert the_row(engine, send.snooze_id).remind_at == changed


def test_done_after_the_row_has_gone_on_files_the_message_and_leaves_the_series(engine: Engine) -> None:
    link = link_in(send := sent_and_gone_on(engine))
    assert (found(engine, link).status, found(engine, link).returns_at) == ("open", next_of(send))
    for _ in range(2):
        assert [act(engine, link, "done"), act(engine, link, "done")] == [True, False]
        assert (found(engine, link).status, folder(engine), goes_on(engine, send)) == ("done", "done", True)
        assert [act(engine, link, "undo"), act(engine, link, "undo")] == [True, False]
        assert (found(engine, link).status, folder(engine), goes_on(engine, send)) == ("open", "inbox", True)
    assert the_events(engine, send.snooze_id) == ["done", "undone"] * 2
    assert look(engine) == {}


def test_again_after_the_row_has_gone_on_changes_nothing(engine: Engine) -> None:
    link = link_in(send := sent_and_gone_on(engine))
    assert [act(engine, link, "again"), act(engine, link, "undo")] == [False, False]
    assert (found(engine, link).status, folder(engine), living(engine)) == ("open", "inbox", 1)
    assert goes_on(engine, send)


def test_a_link_does_not_file_what_the_person_snoozed_since(engine: Engine) -> None:
    link = link_in(send := sent_and_gone_on(engine))
    with engine.begin() as connection:
        mailbox_store.move(connection, user_email=send.user_email, message_id=send.message_id, folder="snoozed")
    assert [act(engine, link, what) for what in ("done", "again", "undo")] == [False, False, False]
    assert (found(engine, link).status, folder(engine)) == ("asleep", "snoozed")


def test_a_link_does_not_file_what_came_with_a_later_occurrence(engine: Engine) -> None:
    link = link_in(sent_and_gone_on(engine))
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert authorise(engine, entry)
    assert [act(engine, link, what) for what in ("done", "again", "undo")] == [False, False, False]
    occurrence = found(engine, link)
    assert (occurrence.status, occurrence.superseded, folder(engine)) == ("asleep", True, "inbox")
