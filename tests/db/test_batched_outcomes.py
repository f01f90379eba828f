"""Accepted mails are recorded many in one commit, and a recurrence that makes no sense ends the snooze."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.outcome_recorder import AcceptedSend, complete_batch, finalize, record_facts
from snoozer.domain.reminder import Claim, DeliveryOutcome, Send
from tests.db.transitions import a_fact, a_reserved_send, claim, lapse, mark, record, recovered, reserve
from tests.factories import a_snooze, the_events, the_row, the_send

WEEKLY = {
    "unit": "week",
    "interval": 1,
    "start": "2026-01-05",
    "at": "08:00:00",
    "until": None,
    "weekdays": [0],
    "rest": [5, 6],
}


def in_flight(engine: Engine, count: int) -> list[AcceptedSend]:
    for _ in range(count):
        a_snooze(engine)
    taken = []
    for held in claim(engine):
        [entry] = reserve(engine, held)
        mark(engine, entry.send)
        taken.append(AcceptedSend(claim=held, fact=a_fact(entry.send)))
    return taken


def finalized(engine: Engine, held: Claim) -> bool:
    with engine.begin() as connection:
        return bool(finalize(connection, [held]))


def test_many_are_completed_in_one_commit_and_a_lost_claim_among_them_keeps_its_fact(engine: Engine) -> None:
    taken = in_flight(engine, 4)
    lost = taken[2].claim.id
    lapse(engine, [lost])
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET claim_token = gen_random_uuid() WHERE id = :id"), {"id": lost}
        )
    outcomes = complete_batch(engine, taken, actor="worker:w")
    assert outcomes == [DeliveryOutcome.SENT, DeliveryOutcome.SENT, DeliveryOutcome.LOST, DeliveryOutcome.SENT]
    assert {the_send(engine, one.claim.id).state for one in taken} == {"sent"}
    assert [the_row(engine, one.claim.id).outcome for one in taken] == ["sent", "sent", None, "sent"]
    assert the_events(engine, lost) == []


@pytest.mark.parametrize(
    "recurrence",
    [
        {},
        WEEKLY | {"weekdays": []},
        WEEKLY | {"interval": 0},
        WEEKLY | {"interval": "x"},
        WEEKLY | {"start": "?"},
        WEEKLY | {"unit": "hour"},
        WEEKLY | {"unit": "month", "nth": 1, "weekdays": []},
    ],
    ids=str,
)
def test_a_recurrence_that_makes_no_sense_ends_with_this_occurrence(engine: Engine, recurrence: object) -> None:
    id = a_snooze(engine, recurrence=recurrence)
    [held] = claim(engine)
    assert finalized(engine, held)
    assert the_row(engine, id).outcome == "sent"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "+99:00", ""])
def test_a_recurrence_in_no_known_zone_ends_with_this_occurrence(engine: Engine, zone: str) -> None:
    id = a_snooze(engine, recurrence=WEEKLY, zone=zone)
    [held] = claim(engine)
    assert finalized(engine, held)
    assert the_row(engine, id).outcome == ("sent" if zone else None)


def test_a_recurrence_that_makes_sense_schedules_the_next_occurrence(engine: Engine) -> None:
    id = a_snooze(engine, recurrence=WEEKLY | {"weekend_rule": "none", "week_start": 0})
    [held] = claim(engine)
    assert finalized(engine, held)
    assert the_row(engine, id).outcome is None


def events_after_recording(engine: Engine, send: Send) -> list[str]:
    """The kinds of the snooze's events once the server's reply is recorded."""
    with engine.begin() as connection:
        record_facts(connection, [a_fact(send)], actor="worker:w")
    return the_events(engine, send.snooze_id)


def test_a_late_reply_appends_one_event(engine: Engine) -> None:
    held, send = a_reserved_send(engine)
    mark(engine, send)
    recovered(engine, held)
    assert events_after_recording(engine, send) == ["late"]
    assert events_after_recording(engine, send) == ["late"]


def test_a_second_copy_appends_an_event(engine: Engine) -> None:
    held, first = a_reserved_send(engine)
    mark(engine, first)
    [entry] = reserve(engine, recovered(engine, held), hold=timedelta(0))
    mark(engine, entry.send)
    record(engine, entry.send)
    assert events_after_recording(engine, first) == ["late"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT detail FROM snooze_events")).scalar_one() == {"second_copy": True}
