"""Operators decide about reminders that may have been sent, put snoozes off, and take claims back; what was sent is
never sent again, and a claim that was taken back authorises no dot."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.operators import chunks
from snoozer.queue import ledger
from tests.db.operations import OPERATOR, an_operation, results, the_operation
from tests.db.transitions import a_held_mail, authorise, claim, record, sendable
from tests.factories import HOUR, a_snooze, asked_for, now, the_events, the_row, the_send
from tests.next_try import SECOND, set_next_try
from tests.web.cases import an_uncertain_case


def operate(engine: Engine, act: str, *ids: int, **parameters: Any) -> dict[int, tuple[str | None, str | None]]:
    """The act on these rows, and what became of each."""
    id = an_operation(engine, act=act, ids=ids, **parameters)
    chunks.work(engine)
    assert the_operation(engine, id).finished_at is not None
    return results(engine, id)


def an_uncertain_one_that_waits(engine: Engine, **columns: object) -> int:
    """Its worker was lost after the dot, and it waits out its hold."""
    held, send = a_held_mail(engine, **columns)
    assert authorise(engine, send)
    released = operate(engine, "release", held.id, of_the_living=True)
    assert released == {held.id: ("done", None)}
    assert the_send(engine, held.id).state == "uncertain"
    return held.id


def repeating(engine: Engine) -> int:
    id = asked_for(engine, "every day at 9am", remind_at=now() - HOUR)
    return an_uncertain_case_of(engine, id)


def an_uncertain_case_of(engine: Engine, id: int) -> int:
    [held] = claim(engine)
    assert held.id == id
    [entry] = sendable(engine, held)
    assert authorise(engine, entry)
    operate(engine, "release", id, of_the_living=True)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET inactive = TRUE, outcome = 'retired', finished_at = now() WHERE id = :id"),
            {"id": id},
        )
    return id


def test_what_was_sent_is_settled_and_finished(engine: Engine) -> None:
    case, waiting = an_uncertain_case(engine), an_uncertain_one_that_waits(engine)
    plain = a_snooze(engine, remind_at=now() + HOUR)
    assert operate(engine, "resolve_sent", case, waiting, plain) == {
        case: ("done", None),
        waiting: ("done", None),
        plain: ("unchanged", "it is not uncertain: it was not sent"),
    }
    for id in (case, waiting):
        send = the_send(engine, id)
        assert (send.state, send.sent_at, send.resolution) == ("sent", send.dot_authorised_at, "settled")
        assert (the_row(engine, id).outcome, the_events(engine, id)[-1]) == ("sent", "settled as sent")
    assert claim(engine) == []


def test_what_repeats_and_was_sent_goes_on_by_its_next_claim(engine: Engine) -> None:
    id = repeating(engine)
    promise = the_row(engine, id).scheduled_for
    assert operate(engine, "resolve_sent", id) == {id: ("done", None)}
    row = the_row(engine, id)
    assert (row.outcome, row.inactive, row.scheduled_for) == (None, False, promise)
    [held] = claim(engine)
    assert sendable(engine, held) == []


def test_a_case_whose_answer_came_late_is_finished_by_settling_it(engine: Engine) -> None:
    id = an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'sent', sent_at = now()"))
    assert operate(engine, "resolve_sent", id) == {id: ("done", None)}
    assert the_row(engine, id).outcome == "sent"


@pytest.mark.parametrize("make", [an_uncertain_case, an_uncertain_one_that_waits])
def test_what_is_sent_again_has_the_same_bytes(engine: Engine, make: object) -> None:
    id = make(engine, subject="before")  # type: ignore[operator]
    before = the_send(engine, id)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET subject = 'after' WHERE id = :id"), {"id": id})
    assert operate(engine, "resolve_resend", id) == {id: ("done", None)}
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert (entry.bytes_sha256, entry.subject) == (before.bytes_sha256, "before")
    assert entry.reminder_message_id == before.reminder_message_id
    assert the_send(engine, id).resends == 1
    assert operate(engine, "resolve_resend", id)[id][0] == "unchanged"


@pytest.mark.parametrize("act", ["resolve_resend", "resolve_drop", "reactivate", "delay"])
def test_what_was_sent_is_never_sent_again(engine: Engine, act: str) -> None:
    """The answer came after the operator had looked, and before the chunk."""
    id = an_uncertain_case(engine)
    operation = an_operation(engine, act=act, ids=[id], delay_seconds=60)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'sent', sent_at = now()"))
    before = the_row(engine, id)
    chunks.work(engine)
    assert results(engine, operation)[id][0] == "unchanged"
    assert the_row(engine, id) == before
    assert the_send(engine, id).state == "sent"


@pytest.mark.parametrize("resolution", ["settled", "resend", "dropped"])
def test_the_ledger_itself_leaves_what_was_sent(engine: Engine, resolution: ledger.Resolution) -> None:
    """Whatever was read before."""
    id = an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'sent', sent_at = now()"))
        promises = {id: the_row(engine, id).scheduled_for}
        assert ledger.resolve(connection, promises=promises, resolution=resolution, actor=OPERATOR) == []


def test_what_is_uncertain_and_held_is_not_settled(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'uncertain', uncertain_at = now()"))
    found = operate(engine, "resolve_sent", held.id)
    assert found == {held.id: ("unchanged", "a worker holds it at this moment")}
    assert the_row(engine, held.id).outcome is None


def test_what_is_dropped_is_closed_and_what_repeats_goes_on(engine: Engine) -> None:
    series = repeating(engine)
    single = an_uncertain_case(engine)
    assert operate(engine, "resolve_drop", single, series) == {single: ("done", None), series: ("done", None)}
    assert the_row(engine, single).outcome == "cancelled"
    row = the_row(engine, series)
    assert (row.outcome, row.inactive, row.scheduled_for) == (None, False, None)
    assert now() < row.remind_at <= now() + 25 * HOUR
    for id in (single, series):
        assert (the_send(engine, id).state, the_send(engine, id).resolution) == ("failed", "dropped")
    assert claim(engine) == []


def test_a_claim_is_taken_back_from_a_worker_that_is_not_alive(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert operate(engine, "release", held.id) == {held.id: ("done", None)}
    row = the_row(engine, held.id)
    assert (row.claim_token, row.attempts, row.crash_count, row.scheduled_for) == (None, 0, 0, held.scheduled_for)
    assert not authorise(engine, send), "a claim that was taken back authorised a dot"
    assert operate(engine, "release", held.id) == {held.id: ("unchanged", "no worker holds it any more")}
    assert [again.id for again in claim(engine)] == [held.id]


@pytest.mark.parametrize("chunk_size", [1, 2])
def test_of_two_uncertain_cases_of_a_message_only_the_newest_is_sent_again(engine: Engine, chunk_size: int) -> None:
    """In chunks of their own the older one went first, and the newer one was left."""
    older = an_uncertain_case(engine, message_id="<twin@mail.example>")
    newer = an_uncertain_case(engine, message_id="<twin@mail.example>", remind_at=now() - HOUR)
    id = an_operation(engine, act="resolve_resend", ids=[older, newer])
    chunks.work(engine, chunk_size=chunk_size)
    assert results(engine, id) == {
        older: ("unchanged", "a newer case of its message is in this operation"),
        newer: ("done", None),
    }
    assert (the_send(engine, older).state, the_send(engine, newer).state) == ("uncertain", "failed")


def test_a_claim_past_its_dot_becomes_uncertain_and_a_late_answer_still_counts(engine: Engine) -> None:
    id = an_uncertain_one_that_waits(engine)
    assert the_row(engine, id).last_error.startswith("It may have been sent")
    [again] = claim(engine, worker="w2")
    assert sendable(engine, again, worker="w2") == [], "it is on hold"
    send = the_send(engine, id)
    assert record(engine, send).late
    assert the_send(engine, id).state == "sent"


@pytest.mark.parametrize(
    ("parameters", "least", "most"),
    [
        ({"delay_seconds": 7_200}, 2 * HOUR, 2 * HOUR + timedelta(minutes=1)),
        ({"delay_until": (now() + 30 * HOUR).isoformat()}, 29 * HOUR, 31 * HOUR),
    ],
)
def test_what_is_due_is_put_off_and_keeps_its_promise(
    engine: Engine, parameters: dict[str, object], least: timedelta, most: timedelta
) -> None:
    case = an_uncertain_case(engine)
    set_next_try(engine, -60 * SECOND)
    due = a_snooze(engine)
    promise = the_row(engine, due).remind_at
    held = a_snooze(engine, claimed_at=now())
    sent = a_snooze(engine, inactive=True, outcome="sent", finished_at=now())
    paused = a_snooze(engine, inactive=True)
    found = operate(engine, "delay", due, case, held, sent, paused, **parameters)
    assert found == {
        due: ("done", None),
        case: ("done", None),
        held: ("unchanged", "a worker holds it at this moment"),
        sent: ("unchanged", "already finished: it was sent"),
        paused: ("unchanged", "it is paused"),
    }
    for id in (due, case):
        row = the_row(engine, id)
        assert least - timedelta(minutes=1) < row.remind_at - now() < most
        assert (row.attempts, row.outcome) == (0, None)
    assert the_row(engine, due).scheduled_for == promise


def test_a_span_is_added_to_the_time_of_what_is_asleep(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=datetime(2090, 1, 1, 9).astimezone())
    before = the_row(engine, id).remind_at
    operate(engine, "delay", id, delay_seconds=3_600)
    assert the_row(engine, id).remind_at == before + HOUR


@pytest.mark.parametrize("act", ["delay", "reactivate", "dismiss", "resolve_resend", "resolve_drop", "raise_attempts"])
def test_what_becomes_an_uncertain_case_after_the_preview_is_left(engine: Engine, act: str) -> None:
    """It waited when the operator looked, and there was no decision since."""
    before = now() - HOUR
    id = an_uncertain_case(engine)
    found = operate(engine, act, id, until=before.isoformat(), delay_seconds=60, more_attempts=1)
    assert found == {id: ("unchanged", "it became a case after the preview")}
    assert (the_row(engine, id).outcome, the_send(engine, id).state) == ("retired", "uncertain")


@pytest.mark.parametrize("act", ["resolve_sent", "resolve_resend", "resolve_drop"])
def test_what_is_uncertain_anew_since_the_preview_waits_for_a_new_decision(engine: Engine, act: str) -> None:
    """Two operators looked at the same one; the first let it be sent again, and that was uncertain again."""
    id = an_uncertain_one_that_waits(engine)
    looked = now()
    assert operate(engine, "resolve_resend", id, until=looked.isoformat()) == {id: ("done", None)}
    [held] = claim(engine)
    [entry] = sendable(engine, held)
    assert authorise(engine, entry)
    operate(engine, "release", id, of_the_living=True)
    found = operate(engine, act, id, until=looked.isoformat())
    assert found == {id: ("unchanged", "its reminder became uncertain after the preview")}
    assert (the_send(engine, id).state, the_send(engine, id).resends) == ("uncertain", 1)


def test_attempts_are_raised_of_what_is_alive_and_of_cases(engine: Engine) -> None:
    alive, most = a_snooze(engine), a_snooze(engine, max_attempts=1_000)
    case = a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), attempts=5)
    over = a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now())
    assert operate(engine, "raise_attempts", alive, most, case, over, more_attempts=3) == {
        alive: ("done", None),
        most: ("unchanged", "it may be tried 1,000 times already"),
        case: ("done", None),
        over: ("unchanged", "already cancelled or dismissed"),
    }
    assert [the_row(engine, id).max_attempts for id in (alive, most, case, over)] == [8, 1_000, 8, 5]
    assert the_row(engine, case).outcome == "retired"


def test_a_row_whose_entry_is_being_written_is_left_for_a_later_chunk(engine: Engine) -> None:
    """As by the recording of a late answer, which needs no lock on the snooze."""
    id = an_uncertain_case(engine)
    operation = an_operation(engine, act="resolve_resend", ids=[id])
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM reminder_sends FOR UPDATE"))
        chunks.work(engine)
        assert results(engine, operation)[id] == (None, None)
        other.execute(text("UPDATE reminder_sends SET state = 'sent', sent_at = now()"))
    chunks.work(engine)
    assert results(engine, operation)[id] == ("unchanged", "it is known that it was sent")
