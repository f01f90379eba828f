"""What a person does to a snooze on its page: once, whatever a worker does meanwhile, undone only while it is so."""

import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.settling import finish
from snoozer.snoozes import zone_change
from snoozer.snoozes.acts import Act, Annotate, End, Move, Pause, Result, Resume, Skip, Snooze, Wake
from snoozer.timephrase.recurrence import Recurrence
from tests import acting
from tests.db.series import (
    DAY,
    MESSAGE,
    a_daily,
    a_kept_snooze,
    a_time,
    assert_sound,
    daily,
    do,
    in_a_mailbox,
    kept,
    not_undone,
    promise,
    refused,
    soon,
    there,
    undo,
)
from tests.db.transitions import a_held_mail, authorise, claim, record
from tests.emptying import empty
from tests.factories import ANN, HOUR, People, a_snooze, now, the_events, the_row


def outcome(done: Result) -> str | None:
    return None if done.terms is None else done.terms.outcome


def recurrence(done: Result) -> dict[str, Any] | None:
    return None if done.terms is None else done.terms.recurrence


def test_skipping_twice_on_one_page_skips_one_occurrence(engine: Engine) -> None:
    id = a_daily(engine)
    skipped = do(engine, Skip(promise=soon()), id)
    assert (promise(skipped), the_row(engine, id).remind_at) == (soon(2), soon(2))
    assert refused(engine, Skip(promise=soon()), id) == "changed"
    assert promise(undo(engine, id, skipped)) == soon()
    assert the_row(engine, id).remind_at == soon()
    assert not_undone(engine, id, skipped.event) == "nothing_to_undo"
    assert the_events(engine, id) == ["skipped", "undone"]


def test_the_last_occurrence_is_not_skipped(engine: Engine) -> None:
    id = a_daily(engine, limits={"times": 1})
    assert refused(engine, Skip(promise=soon()), id) == "last"


ACTS: dict[str, Act] = {
    "once": Move(time=a_time(soon(3))),
    "every": Move(time=a_time(soon(3)), every=True),
    "end": End(times=2),
    "pause": Pause(),
}


@pytest.mark.parametrize("what", ACTS.values(), ids=ACTS)
def test_what_is_held_does_not_leave_and_an_act_during_the_send_concerns_the_next_occurrence(
    what: Act, engine: Engine
) -> None:
    columns = {"message_id": MESSAGE, "recurrence": daily(), "time_kind": "wall"}
    held, send = a_held_mail(engine, **columns)
    done = do(engine, what, held.id)
    assert (the_row(engine, held.id).claim_token, done.may_arrive) == (None, False)
    assert not authorise(engine, send)
    assert done.event
    for is_recorded in (False, True):
        empty(engine)
        held, send = a_held_mail(engine, **columns)
        assert authorise(engine, send)
        if is_recorded:
            record(engine, send)
        done = do(engine, what, held.id)
        assert done.may_arrive
        if not is_recorded:
            record(engine, send)
        with engine.begin() as connection:
            finish(connection, [held])
        row = the_row(engine, held.id)
        assert row.remind_at == (soon(3) if isinstance(what, Move) else soon())
        assert (row.inactive, row.claim_token) == (isinstance(what, Pause), None)
        assert (row.recurrence or {}).get("times") == (2 if isinstance(what, End) else None)
        assert claim(engine) == []
        assert_sound(engine)


def test_a_paused_series_goes_on_with_its_next_time_and_no_burst(engine: Engine) -> None:
    id = a_kept_snooze(engine, recurrence=daily(), remind_at=soon(), time_kind="wall")
    paused = do(engine, Pause(), id)
    row = the_row(engine, id)
    assert (row.inactive, row.outcome, row.remind_at, kept(engine).returns_at) == (True, None, soon(), None)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = remind_at - INTERVAL '5 days'"))
    assert claim(engine) == []
    assert not_undone(engine, id, paused.event) == "changed"
    assert promise(do(engine, Resume(), id)) == soon()
    row = the_row(engine, id)
    assert (row.inactive, row.remind_at, kept(engine).returns_at) == (False, soon(), soon())
    assert claim(engine) == []
    assert kept(engine).folder == "snoozed"
    assert refused(engine, Resume(), id) == "not_paused"
    assert_sound(engine)


def test_a_paused_snooze_whose_time_passed_comes_back_when_it_is_resumed(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() - DAY, inactive=True)
    assert do(engine, Resume(), id).by_mail
    assert [held.id for held in claim(engine)] == [id]
    empty(engine)
    id = a_kept_snooze(engine, remind_at=now() - DAY, inactive=True)
    change = do(engine, Resume(), id)
    assert (change.by_mail, outcome(change)) == (False, "cancelled")
    assert (kept(engine).folder, kept(engine).unread) == ("inbox", True)


def test_a_paused_snooze_stays_so_while_its_message_is_snoozed_anew(engine: Engine) -> None:
    id = a_daily(engine, inactive=True)
    a_snooze(engine, message_id=MESSAGE, remind_at=now() + HOUR)
    assert refused(engine, Resume(), id) == "snoozed"
    assert refused(engine, Move(time=a_time(soon(3))), id) == "snoozed"
    assert refused(engine, Wake(), id) == "snoozed"


def test_a_new_time_for_a_paused_series_resumes_it_and_ends_nothing(engine: Engine) -> None:
    id = a_daily(engine, inactive=True, promise=soon(-3))
    at = now() + HOUR
    do(engine, Move(time=a_time(at)), id)
    row = the_row(engine, id)
    assert (row.inactive, row.remind_at) == (False, at)
    assert row.recurrence is not None


def test_a_note_or_the_same_time_resumes_nothing(engine: Engine) -> None:
    id = a_daily(engine, inactive=True)
    do(engine, Annotate(note=" Call "), id)
    do(engine, Snooze(time=a_time(soon(), note="Call", recurrence=daily())), id)
    row = the_row(engine, id)
    assert (row.inactive, row.note, row.remind_at) == (True, "Call", soon())


def test_only_this_time_keeps_the_hour_of_all_later_ones(engine: Engine) -> None:
    """Also where this one is asked for as so much time from now, and comes before the hour that it replaces."""
    id = a_daily(engine)
    moved = do(engine, Move(time=a_time(now() - HOUR, time_kind="elapsed", note="n")), id)
    [held] = claim(engine)
    with engine.begin() as connection:
        finish(connection, [held])
    row = the_row(engine, id)
    assert (row.remind_at, row.time_kind, row.note) == (soon(2), "wall", "n")
    assert not_undone(engine, id, moved.event) == "changed"


def test_only_this_time_of_the_last_one_ends_the_series_with_it(engine: Engine) -> None:
    id = a_daily(engine, limits={"until": soon().date()})
    moved = do(engine, Move(time=a_time(soon(3))), id)
    assert (recurrence(moved), the_row(engine, id).recurrence) == (None, None)
    assert recurrence(undo(engine, id, moved)) == daily(until=soon().date())


def test_every_time_moves_the_series(engine: Engine) -> None:
    id = a_daily(engine)
    at = soon(3) + 2 * HOUR
    moved = do(engine, Move(time=a_time(at + timedelta(seconds=17)), every=True), id)
    row = the_row(engine, id)
    assert row.remind_at == at
    assert time.fromisoformat(row.recurrence["at"]) == at.time()
    undo(engine, id, moved)
    assert (the_row(engine, id).recurrence, the_row(engine, id).remind_at) == (daily(), soon())


def test_a_moved_occurrence_follows_its_person_to_another_zone_and_the_series_too(engine: Engine) -> None:
    id = a_daily(engine)
    at = soon(2) + 3 * HOUR
    do(engine, Move(time=a_time(at)), id)
    with engine.begin() as connection:
        change = zone_change.preview(connection, user_email=ANN, old="UTC", new="Asia/Kolkata", now=now())
        assert zone_change.find_outdated(connection, now=now()) == ([], [], None)
        zone_change.apply(connection, change, old="UTC", route="web")
    row = the_row(engine, id)
    assert (row.zone, row.remind_at) == ("Asia/Kolkata", at - timedelta(hours=5, minutes=30))


def test_an_end_is_kept_by_the_worker(engine: Engine) -> None:
    id = a_daily(engine, promise=now() - timedelta(minutes=1), recurrence=None)
    due = the_row(engine, id).remind_at
    each_day = Recurrence(unit="day", interval=1, start=due.date(), at=due.time()).as_json()
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET recurrence = :it"), {"it": json.dumps(each_day)})
    do(engine, End(times=2), id)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert finish(connection, [held])
    assert the_row(engine, id).remind_at == due + DAY
    ended = do(engine, End(times=1), id)
    assert recurrence(ended) is not None
    assert refused(engine, Skip(promise=due + DAY), id) == "last"
    assert refused(engine, End(until=date(2026, 1, 1)), id) == "past"


def test_a_message_comes_back_now_on_top_and_without_a_reminder(engine: Engine) -> None:
    id = a_kept_snooze(engine)
    before = the_row(engine, id).remind_at
    back = do(engine, Wake(), id)
    assert (back.by_mail, outcome(back)) == (False, "cancelled")
    assert (kept(engine).folder, kept(engine).unread, kept(engine).returned) == ("inbox", True, True)
    assert claim(engine) == []
    undo(engine, id, back)
    row = the_row(engine, id)
    assert (row.remind_at, row.outcome, row.inactive) == (before, None, False)
    assert (kept(engine).folder, kept(engine).returns_at) == ("snoozed", before)
    assert_sound(engine)


def test_a_message_that_was_done_since_is_not_put_to_sleep_by_an_undo(engine: Engine) -> None:
    id = a_kept_snooze(engine)
    back = do(engine, Wake(), id)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'done'"))
    assert not_undone(engine, id, back.event) == "changed"
    assert kept(engine).folder == "done"


def test_a_series_that_comes_back_now_goes_on_after_the_time_it_stands_for(engine: Engine) -> None:
    id = a_kept_snooze(engine, recurrence=daily(), remind_at=soon(), time_kind="wall")
    back = do(engine, Wake(), id)
    assert (promise(back), outcome(back)) == (soon(2), None)
    assert (kept(engine).folder, kept(engine).returns_at) == ("inbox", soon(2))
    assert claim(engine) == []
    undo(engine, id, back)
    assert (the_row(engine, id).remind_at, the_row(engine, id).recurrence) == (soon(), daily())
    assert (kept(engine).folder, kept(engine).returns_at) == ("snoozed", soon())


def test_a_message_of_a_connected_mailbox_returns_without_a_reminder(engine: Engine, people: People) -> None:
    id = in_a_mailbox(engine, people)
    back = do(engine, Wake(), id)
    assert (back.by_mail, outcome(back)) == (False, "cancelled")
    assert there(engine) == ("snoozed", the_row(engine, id).remind_at), "it is due"
    undo(engine, id, back)
    assert there(engine) == ("snoozed", soon()), "before the mail server moved it"
    back = do(engine, Wake(), id)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE messages SET place = 'home', wanted = 'home', folder = 'INBOX', returns_at = NULL")
        )
    undo(engine, id, back)
    assert there(engine) == ("snoozed", soon())
    back = do(engine, Wake(), id)
    for elsewhere in (
        "place = 'aside', aside = 'Archive', folder = 'Archive'",
        "place = 'missing', missing_since = now()",
    ):
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE messages SET {elsewhere}"))  # noqa: S608
        assert not_undone(engine, id, back.event) == "changed", "its owner moved it since"


def test_a_series_of_a_connected_mailbox_returns_now_and_is_promised_anew(engine: Engine, people: People) -> None:
    id = in_a_mailbox(engine, people, recurrence=daily(), time_kind="wall")
    back = do(engine, Wake(), id)
    assert (promise(back), outcome(back)) == (soon(2), None)
    assert there(engine).returns_at <= now()
    assert claim(engine) == []


def test_without_a_mailbox_the_reminder_comes_now_and_is_undone_until_it_is_out(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + DAY)
    before = the_row(engine, id).remind_at
    back = do(engine, Wake(), id)
    assert back.by_mail
    [held] = claim(engine)
    undo(engine, id, back)
    assert the_row(engine, id).remind_at == before
    with engine.begin() as connection:
        assert not finish(connection, [held])
    back = do(engine, Wake(), id)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert finish(connection, [held])
    assert not_undone(engine, id, back.event) == "changed"


def test_an_undone_time_is_at_any_hour_again(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=soon(), at_any_hour=True)
    moved = do(engine, Move(time=a_time(soon(3))), id)
    assert not the_row(engine, id).at_any_hour
    undo(engine, id, moved)
    assert the_row(engine, id).at_any_hour


def test_an_undo_leaves_what_a_program_changed_since(engine: Engine) -> None:
    id = a_daily(engine)
    skipped = do(engine, Skip(promise=soon()), id)
    with engine.begin() as connection:
        assert acting.reschedule(connection, id, a_time(soon(4)))
    assert not_undone(engine, id, skipped.event) == "changed"
    other = a_snooze(engine, remind_at=now() + HOUR)
    assert not_undone(engine, other, skipped.event) == "nothing_to_undo"
    assert not_undone(engine, other, 10**9) == "nothing_to_undo"


def test_a_series_that_cannot_be_read_is_refused_and_not_lost(engine: Engine) -> None:
    for columns in ({"recurrence": {"unit": "fortnight"}}, {"recurrence": daily(), "zone": "Mars/Olympus"}):
        id = a_snooze(engine, remind_at=soon(), **columns)
        assert refused(engine, Skip(promise=soon()), id) == "unreadable"
        assert refused(engine, End(times=3), id) == "unreadable"
    assert datetime.now(UTC) < soon()
