"""Pauses of operators: what is held back keeps its promise and uses no attempt, its person cannot overcome it, and what
was set aside comes back once the pause ends."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import audit, mailbox_store
from snoozer.db.audit import Entry
from snoozer.operators import chunks, pauses
from snoozer.operators.chunks import cancel
from snoozer.operators.pauses import Scope
from snoozer.queue import queue
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes.acts import Pause, Resume
from tests import acting
from tests.db.operations import OPERATOR, an_operation, results, the_operation
from tests.db.pipelines import deliver
from tests.db.transitions import claim
from tests.factories import (
    ANN,
    HOUR,
    a_kept_message,
    a_snooze,
    now,
    the_events,
    the_row,
    the_send,
    wait_until_a_session_waits,
)

BOB = "bob@other.example"


def paused(engine: Engine, kind: Any, value: str = "", *, span: timedelta | None = None) -> int:
    with engine.begin() as connection:
        id = pauses.pause(connection, Scope(kind=kind, value=value), actor=OPERATOR, reason="a test", span=span)
    assert id is not None
    return id


def resumed(engine: Engine, id: int) -> int:
    """Returns the operation, which is done."""
    with engine.begin() as connection:
        operation = pauses.resume(connection, id=id, actor=OPERATOR, reason="over")
    assert operation is not None
    chunks.work(engine)
    return operation


SCOPES = [
    ("person", ANN),
    ("domain", "snoozer.example"),
    ("class", "0"),
    ("invalid", ANN),
    ("channel", "mail"),
    ("all", ""),
]


@pytest.mark.parametrize(("kind", "value"), SCOPES)
def test_what_is_paused_is_set_aside_and_comes_back_by_its_own_time(engine: Engine, kind: str, value: str) -> None:
    """Also where the pause of all was entered after the claim had looked for it."""
    id = a_snooze(engine, user_email="Ann@Snoozer.Example")
    other = a_snooze(engine, user_email=BOB)
    before = the_row(engine, id)
    pause = paused(engine, kind, value)
    sent = [held.id for held in deliver(engine)]
    assert sent == ([other] if kind in {"person", "domain", "invalid"} else [])
    row = the_row(engine, id)
    assert (row.inactive, row.outcome, row.paused_by, row.claim_token) == (True, None, pause, None)
    assert (row.attempts, row.remind_at, row.scheduled_for) == (0, before.remind_at, before.remind_at)
    assert the_send(engine, id) is None
    assert the_events(engine, id) == ["held back"]
    operation = resumed(engine, pause)
    assert results(engine, operation)[id] == ("done", None)
    assert id in [held.id for held in deliver(engine)]
    assert the_events(engine, id) == ["held back", "goes on"]


@pytest.mark.parametrize(("kind", "value"), [("all", ""), ("channel", "mail")])
def test_while_all_is_paused_nothing_is_claimed(engine: Engine, kind: str, value: str) -> None:
    a_snooze(engine)
    a_snooze(engine, crash_count=2)
    pause = paused(engine, kind, value)
    with engine.begin() as connection:
        assert queue.priorities(connection, limit=5) == []
        assert queue.poison_rows(connection, known_schema=1) == []
    resumed(engine, pause)
    with engine.begin() as connection:
        assert len(queue.priorities(connection, limit=5)) == 1
        assert len(queue.poison_rows(connection, known_schema=1)) == 1


@pytest.mark.parametrize(
    ("kind", "value"), [("person", BOB), ("domain", "other.example"), ("class", "5"), ("channel", "push")]
)
def test_what_is_not_meant_is_sent(engine: Engine, kind: str, value: str) -> None:
    id = a_snooze(engine)
    paused(engine, kind, value)
    assert [held.id for held in deliver(engine)] == [id]


def test_a_pause_that_ends_waits_for_what_is_being_set_aside(engine: Engine) -> None:
    """So what it has set aside is all there is, and nothing stays behind."""
    a_snooze(engine)
    pause = paused(engine, "person", ANN)
    [held] = claim(engine)
    with ThreadPoolExecutor(1) as threads:
        with engine.begin() as worker:
            held_pairs = [(held.id, held.claim_token)]
            assert queue.set_aside(worker, held=held_pairs, pause_ids=[pause]) == {held.id}
            ending = threads.submit(resumed, engine, pause)
            wait_until_a_session_waits(engine)
        operation = ending.result()
    assert results(engine, operation) == {held.id: ("done", None)}
    [again] = claim(engine)
    with engine.begin() as worker:
        pairs = [(again.id, again.claim_token)]
        assert queue.set_aside(worker, held=pairs, pause_ids=[pause]) == set(), "it is over"


def test_a_pause_that_is_entered_twice_is_one(engine: Engine) -> None:
    paused(engine, "person", ANN)
    with engine.begin() as connection:
        again = pauses.pause(connection, Scope(kind="person", value=ANN), actor=OPERATOR, reason="again")
    assert again is None


def test_a_pause_until_a_time_ends_by_itself(engine: Engine) -> None:
    id = a_snooze(engine)
    pause = paused(engine, "person", ANN, span=timedelta(hours=1))
    assert deliver(engine) == []
    assert pauses.end_expired(engine) == []
    with engine.begin() as connection:
        connection.execute(text("UPDATE pauses SET until = now() - INTERVAL '1 second'"))
    [operation] = pauses.end_expired(engine)
    chunks.work(engine)
    assert results(engine, operation) == {id: ("done", None)}
    assert the_operation(engine, operation).actor == "clock"
    assert pauses.end_expired(engine) == []
    assert the_row(engine, id).paused_by is None
    assert pause == 1


def test_pauses_that_end_by_themselves_wait_for_an_operator_and_hinder_none(engine: Engine) -> None:
    """All at once they held the audit log's lock, which who resumes another one needs."""
    first, second = paused(engine, "person", ANN), paused(engine, "person", BOB)
    with engine.begin() as connection:
        connection.execute(text("UPDATE pauses SET until = now() - INTERVAL '1 second'"))
    with ThreadPoolExecutor(1) as threads:
        with engine.begin() as operator:
            operator.execute(text("UPDATE pauses SET ended_at = now(), ended_by = 'x' WHERE id = :id"), {"id": second})
            ending = threads.submit(pauses.end_expired, engine)
            wait_until_a_session_waits(engine)
            audit.append(operator, actor=OPERATOR, act="resume", entries=[Entry(target=f"pause:{second}")])
        [operation] = ending.result()
    assert the_operation(engine, operation).parameters == {"pause": first}


def test_what_a_pause_that_is_over_has_left_set_aside_is_brought_in(engine: Engine) -> None:
    others = [a_snooze(engine, user_email=BOB), a_snooze(engine, user_email=f"c{BOB}")]
    lasting = [paused(engine, "person", BOB), paused(engine, "person", f"c{BOB}")]
    left = aside(engine)
    pause = the_row(engine, left).paused_by
    assert pauses.bring_in_left(engine) == []
    with engine.begin() as connection:
        ended = text("UPDATE pauses SET ended_at = now(), ended_by = :by WHERE id = :id")
        connection.execute(ended, {"by": OPERATOR, "id": pause})
    [operation] = pauses.bring_in_left(engine)
    assert pauses.bring_in_left(engine) == [], "an operation brings it in"
    chunks.work(engine)
    assert results(engine, operation) == {left: ("done", None)}
    assert [the_row(engine, id).paused_by for id in others] == lasting


def test_a_pause_that_has_set_nothing_aside_is_over_at_once(engine: Engine) -> None:
    operation = resumed(engine, paused(engine, "person", ANN))
    assert (the_operation(engine, operation).members, the_operation(engine, operation).finished_at is None) == (
        0,
        False,
    )


def aside(engine: Engine, **columns: Any) -> int:
    """A snooze that a pause of its person has set aside."""
    id = a_snooze(engine, **columns)
    paused(engine, "person", ANN)
    assert deliver(engine) == []
    return id


def test_its_person_cancels_it_and_the_pause_brings_nothing_back(engine: Engine) -> None:
    id = aside(engine)
    with engine.begin() as connection:
        assert acting.cancel(connection, id)
    assert (the_row(engine, id).outcome, the_row(engine, id).paused_by) == ("cancelled", None)
    assert results(engine, resumed(engine, 1)) == {}
    assert claim(engine) == []


def test_its_person_cannot_overcome_it_but_pauses_it_too(engine: Engine) -> None:
    id = aside(engine)
    with engine.begin() as connection:
        assert acting.done(connection, id, Pause())
    assert (the_row(engine, id).inactive, the_row(engine, id).paused_by) == (True, None)
    resumed(engine, 1)
    assert the_row(engine, id).inactive, "its person has paused it"
    paused(engine, "person", ANN)
    with engine.begin() as connection:
        assert acting.done(connection, id, Resume())
    assert deliver(engine) == []
    assert the_row(engine, id).paused_by == 2


def test_its_person_edits_it_and_it_is_set_aside_again(engine: Engine) -> None:
    id = aside(engine)
    with engine.begin() as connection:
        time = ReminderTime(remind_at=now() - timedelta(minutes=5))
        assert acting.reschedule(connection, id, time)
    assert (the_row(engine, id).inactive, the_row(engine, id).paused_by) == (False, None)
    assert deliver(engine) == []
    assert the_row(engine, id).paused_by == 1


def test_its_message_is_snoozed_again_and_that_one_counts(engine: Engine) -> None:
    id = aside(engine, message_id="<twice@mail.example>")
    newer = a_snooze(engine, message_id="<twice@mail.example>", remind_at=now() + HOUR)
    operation = resumed(engine, 1)
    assert results(engine, operation)[id] == (
        "unchanged",
        "its message was snoozed again: it stays paused, for its owner to resume",
    )
    assert (the_row(engine, id).inactive, the_row(engine, id).paused_by) == (True, None)
    assert not the_row(engine, newer).inactive


def test_an_operation_that_brings_back_is_not_cancelled(engine: Engine) -> None:
    """What is left would wait for a pause that is over."""
    id = aside(engine)
    with engine.begin() as connection:
        operation = pauses.resume(connection, id=1, actor=OPERATOR, reason="over")
        assert operation is not None
        assert cancel(connection, id=operation, actor=OPERATOR) is None
    chunks.work(engine)
    assert results(engine, operation) == {id: ("done", None)}


def test_messages_return_once_the_pause_of_returns_ends(engine: Engine) -> None:
    kept = a_kept_message(engine)
    with engine.begin() as connection:
        message_id = connection.execute(
            text("SELECT message_id FROM messages WHERE id = :id"), {"id": kept}
        ).scalar_one()
    id = a_snooze(engine, message_id=message_id)
    pause = paused(engine, "channel", "mailbox")

    def returned() -> list[int]:
        with engine.begin() as connection:
            return mailbox_store.return_due(connection, batch_size=9)

    assert returned() == []
    assert [held.id for held in claim(engine)] == [id], "its reminder is not meant"
    resumed(engine, pause)
    assert returned() == [id]


def test_an_address_is_marked_by_its_cases_and_is_not_sent_to(engine: Engine) -> None:
    retired = {"inactive": True, "outcome": "retired", "finished_at": now()}
    cases = [a_snooze(engine, **retired), a_snooze(engine, **retired), a_snooze(engine, user_email=BOB, **retired)]
    operation = an_operation(engine, act="mark_invalid", ids=cases[:2])
    chunks.work(engine)
    assert [results(engine, operation)[id] for id in cases[:2]] == [("done", None)] * 2
    again = an_operation(engine, act="mark_invalid", ids=cases)
    chunks.work(engine)
    assert results(engine, again) == {
        cases[0]: ("unchanged", "its address is marked already"),
        cases[1]: ("unchanged", "its address is marked already"),
        cases[2]: ("done", None),
    }
    back = an_operation(engine, act="reactivate", ids=cases)
    chunks.work(engine)
    assert the_operation(engine, back).done == 3
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    assert deliver(engine) == []
    assert [the_row(engine, id).paused_by is None for id in cases] == [False] * 3


def test_the_audit_log_holds_no_address_of_a_pause(engine: Engine) -> None:
    aside(engine)
    resumed(engine, 1)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT t::text FROM audit_log AS t")).scalars().all()
    assert len(rows) == 3
    assert not [row for row in rows if "ann@" in row.lower()]
